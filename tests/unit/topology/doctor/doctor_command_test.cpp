// The program: exit codes, JSON, and what it says of input that is wrong.
#include "base/process/capture.hpp"
#include "tests/kit/recorded_tree.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include <chrono>
#include <cstdint>

namespace osora::tests {
namespace {

using testing::HasSubstr;

class DoctorCommand : public ::testing::Test {
protected:
    Captured run(std::vector<std::string> words) {
        SpawnOptions options;
        options.program = std::string(OSORA_BIN_DIR) + "/osora";
        options.arguments = {"doctor"};
        std::ranges::move(words, std::back_inserter(options.arguments));
        options.environment = {"PATH=/usr/bin:/bin", "HOME=" + state_.root().string(),
                               "OSORA_STATE_DIR=" + state_.root().string()};
        auto result = run_captured(options, std::chrono::seconds(60));
        EXPECT_TRUE(result.has_value()) << result.error().message;
        return result.has_value() ? *result : Captured{};
    }
    RecordedTree state_;
};

TEST_F(DoctorCommand, HealthyIsZero) {
    auto const tree = RecordedTree::named("hgx_h100");
    auto const result = run({"--root", tree.root().string()});
    EXPECT_EQ(result.status.exit_code, 0) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("no findings"));
}

TEST_F(DoctorCommand, WarningsAloneAreZeroFaultsOne) {
    auto const tree = RecordedTree::named("hgx_h100");
    tree.write("etc/nccl.conf", "NCCL_ALGO=Tree\n");
    EXPECT_EQ(run({"--root", tree.root().string()}).status.exit_code, 0);
    tree.write("proc/self/limits", "Max locked memory  65536 65536 bytes\n");
    auto const result = run({"--root", tree.root().string(), "--json"});
    EXPECT_EQ(result.status.exit_code, 1) << result.out << result.err;
    auto const object = boost::json::parse(result.out).as_object();
    EXPECT_EQ(object.at("schema"), "osora.doctor/1");
    EXPECT_EQ(object.at("nodes"), 1);
    auto const& findings = object.at("findings").as_array();
    ASSERT_EQ(findings.size(), 2u);
    EXPECT_EQ(findings[0].at("severity"), "fault");
    EXPECT_EQ(findings[0].at("rule"), "memlock");
    EXPECT_EQ(findings[0].at("nodes").as_array().size(), 1u);
    for (char const* key : {"where", "title", "seen", "effect", "fix", "threads"}) {
        EXPECT_TRUE(findings[0].as_object().contains(key)) << key;
    }
    EXPECT_GT(object.at("rules_checked").as_int64(), 0);
    EXPECT_TRUE(object.at("skipped").as_array()[0].as_object().contains("reason"));
}

TEST_F(DoctorCommand, WrongInput) {
    EXPECT_EQ(run({"--root", "/no/such/folder"}).status.exit_code, 2);
    EXPECT_EQ(run({"--wrong"}).status.exit_code, 2);
    EXPECT_EQ(run({"--run", "77"}).status.exit_code, 2);
    EXPECT_EQ(run({"--probe", "/no/such/file.json"}).status.exit_code, 2);
    EXPECT_EQ(run({"--root", state_.root().string()}).status.exit_code, 3);
    auto const tree = RecordedTree::named("cpu_server");
    tree.write("probe.json", "{\"nodes\": [\"a\", ");
    auto const cut = run({"--root", tree.root().string()});
    EXPECT_EQ(cut.status.exit_code, 2) << cut.err;
    EXPECT_THAT(cut.err, HasSubstr("probe.json"));
}

TEST_F(DoctorCommand, TakesTheProbeOfToday) {
    auto const keep = [this](std::string const& file, std::string const& node, int hours) {
        auto const now_us = std::chrono::duration_cast<std::chrono::microseconds>(
                                std::chrono::system_clock::now().time_since_epoch())
                                .count();
        constexpr std::int64_t kHour_us = 3'600'000'000;
        state_.write("probes/" + file,
                     fmt::format(R"({{"wall_us": {}, "nodes": ["{}", "other"], "findings": [
                                     {{"kind": "slow_node", "nodes": ["{}"], "ratio": 0.3}}]}})",
                                 now_us - hours * kHour_us, node, node));
    };
    keep("a.json", "yesterday", 25);
    EXPECT_THAT(run({}).out, testing::Not(HasSubstr("yesterday")));
    keep("b.json", "today", 23);
    state_.write("probes/c.json", "{\"nodes\": [\"cut\", ");
    auto const result = run({});
    EXPECT_THAT(result.out, HasSubstr("today")) << result.err;
    EXPECT_THAT(result.out, testing::Not(HasSubstr("yesterday")));
}

TEST_F(DoctorCommand, ThisMachine) {
    auto const result = run({});
    EXPECT_LE(result.status.exit_code, 1) << result.err;
    EXPECT_THAT(result.out, HasSubstr("checked on 1 node"));
}

}  // namespace
}  // namespace osora::tests
