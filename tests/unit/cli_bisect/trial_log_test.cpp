// What a search has measured survives, and is found by the same question only.
#include "cli/trial_log.hpp"

#include "base/files.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>

namespace osora::cli {
namespace {

class TrialLogTest : public testing::Test {
protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "osora-bisect-XXXXXX";
        ASSERT_NE(::mkdtemp(folder.data()), nullptr);
        state_ = folder;
    }
    void TearDown() override { std::filesystem::remove_all(state_); }
    Result<TrialLog> open(LogMode mode, int steps = 20) {
        db::Investigation what;
        what.question = {
            .good = "a", .bad = "b", .rung = "rehearsal", .steps = steps, .atoms = {"x", "y"}};
        return TrialLog::open(state_ / "bisects", what, mode);
    }
    std::filesystem::path state_;
};

TEST_F(TrialLogTest, IsFoundAgainByTheSameQuestion) {
    {
        auto log = open(LogMode::resume);
        ASSERT_TRUE(log.has_value()) << log.error().message;
        EXPECT_TRUE(log->trials().empty());
        ASSERT_TRUE(log->add({.flipped = "00",
                              .value_s = 1.5,
                              .cost_gpu_s = 3,
                              .run = "r-1",
                              .figures = {{"samples_per_step", 8.0}, {"wait_s", std::nan("")}}}));
        ASSERT_TRUE(log->add({.flipped = "11", .status = "cannot_start", .failure = "no"}));
    }
    auto const again = open(LogMode::resume);
    ASSERT_EQ(again->trials().size(), 2u);
    EXPECT_EQ(again->trials()[0].value_s, 1.5);
    EXPECT_EQ(again->trials()[0].run, "r-1");
    EXPECT_EQ(again->trials()[0].figures.at("samples_per_step"), 8.0);
    EXPECT_TRUE(std::isnan(again->trials()[0].figures.at("wait_s")));
    EXPECT_EQ(again->trials()[1].status, "cannot_start");
    EXPECT_EQ(again->trials()[1].failure, "no");
    EXPECT_TRUE(std::isnan(again->trials()[1].value_s));
    EXPECT_TRUE(open(LogMode::resume, 25)->trials().empty());
}

TEST_F(TrialLogTest, AnewForgetsAndTwoAtOnceAreRefused) {
    auto log = open(LogMode::resume);
    ASSERT_TRUE(log->add({.flipped = "00"}));
    auto const second = open(LogMode::resume);
    ASSERT_TRUE(second.has_error());
    EXPECT_EQ(second.error().code, Errc::busy);
    log = Error{Errc::io, "closed"};
    EXPECT_TRUE(open(LogMode::anew)->trials().empty());
}

TEST_F(TrialLogTest, CallsWithLogsOfTheirOwnDoNotMeet) {
    auto one = open(LogMode::own), other = open(LogMode::own);
    ASSERT_TRUE(one.has_value() && other.has_value());
    EXPECT_NE(one->id(), other->id());
}

TEST_F(TrialLogTest, AnEndIsGoneWithTheNextTrial) {
    auto const text = [&](TrialLog const& log) {
        return read_file(state_ / "bisects" / (log.id() + ".json"), 1 << 20).value();
    };
    auto log = open(LogMode::resume);
    ASSERT_TRUE(log->end({.verdict = "proved"}));
    EXPECT_NE(text(*log).find("\"verdict\":\"proved\""), std::string::npos);
    ASSERT_TRUE(log->add({.flipped = "00"}));
    EXPECT_EQ(text(*log).find("proved"), std::string::npos);
}

TEST_F(TrialLogTest, ADamagedFileIsSaidAndKept) {
    std::string id;
    {
        auto log = open(LogMode::resume);
        id = log->id();
        ASSERT_TRUE(log->add({.flipped = "00"}));
    }
    auto const file = state_ / "bisects" / (id + ".json");
    std::filesystem::resize_file(file, 20);
    auto const log = open(LogMode::resume);
    ASSERT_TRUE(log.has_error());
    EXPECT_EQ(log.error().code, Errc::corrupt);
    EXPECT_NE(log.error().message.find(id), std::string::npos);
    EXPECT_EQ(std::filesystem::file_size(file), 20u);
}

}  // namespace
}  // namespace osora::cli
