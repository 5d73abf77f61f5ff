// Evidence from a run's folder: journal and logs as a controller leaves them.
#include "cli/cluster/doctor_run.hpp"
#include "protocol/journal/journal.hpp"
#include "tests/kit/recorded_tree.hpp"
#include "topology/doctor/rule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::tests {
namespace {

namespace doctor = topology::doctor;

std::string journal_of(std::vector<protocol::RunEvent> const& events) {
    std::string bytes(protocol::kJournalHeader);
    for (std::size_t i = 0; i < events.size(); ++i) {
        bytes += *protocol::encode_record({i, 1'000'000 + static_cast<std::int64_t>(i), events[i]});
    }
    return bytes;
}

protocol::RankStarted rank(int number, int node, std::map<std::string, std::string> facts) {
    return {.attempt = 0,
            .node = node,
            .rank = number,
            .pid = 1,
            .start_step = 0,
            .facts = std::move(facts),
            .cpus = "0"};
}

protocol::AgentJoined joined(int node, std::string host) {
    protocol::AgentJoined event;
    event.node = node;
    event.host = std::move(host);
    return event;
}

cli::RunFolder write_run(RecordedTree const& tree) {
    protocol::RunSubmitted submitted;
    submitted.run_uuid = "u";
    submitted.run_name = "a";
    submitted.number = 7;
    submitted.nodes = 2;
    submitted.ranks_per_node = 2;
    submitted.config = protocol::json::parse(
        R"({"nccl":{"NCCL_ALGO":"Ring"},"debug":{"collectives":"per_parameter"}})");
    protocol::NodeHealth health{.node = 1, .number = 0, .why = "GPU 0: Xid 79"};
    health.gpus.push_back({.gpu = 0, .xids = {79}});
    tree.write("run/journal", journal_of({submitted, joined(0, "n1"), joined(1, "n2"),
                                          protocol::LaunchOrdered{0, 4, "n1", 1},
                                          rank(0, 0, {{"torch", "2.5.1"}, {"NCCL_ALGO", "Ring"}}),
                                          rank(1, 0, {{"torch", "2.5.1"}, {"NCCL_PROTO", "LL128"}}),
                                          rank(2, 1, {{"torch", "2.4.0"}}),
                                          rank(3, 1, {{"torch", "2.4.0"}}), health}));
    tree.write("run/logs/0/2.log", "n2:1:2 [0] NCCL WARN Call to socket: Too many open files\n");
    return {7, "a-0007", {tree.root() / "run"}};
}

TEST(DoctorRun, JournalHealthAndLogs) {
    RecordedTree const tree;
    auto const folder = write_run(tree);
    doctor::Evidence evidence;
    auto const added = cli::add_run_evidence(folder, evidence);
    ASSERT_TRUE(added.has_value()) << added.error().message;
    ASSERT_EQ(evidence.nodes.size(), 2u);
    EXPECT_EQ(evidence.nodes[0].versions.at("libtorch"), "2.5.1");
    EXPECT_EQ(evidence.run->ranks, 4);
    std::map<std::string, std::string> said;
    for (auto const& each : doctor::diagnose(evidence).findings) {
        if (each.severity == doctor::Severity::fault) said[each.rule] = each.where;
    }
    // Ring is wanted by the run file; two ranks of each node are bound to one CPU.
    EXPECT_EQ(said["small-collectives"], "all");
    EXPECT_EQ(said["forced-choice"], "n1");
    EXPECT_EQ(said["open-files"], "n2");
    EXPECT_EQ(said["gpu-health"], "n2");
    EXPECT_EQ(said["rank-cpus"], "n1,n2");
    EXPECT_EQ(said["mixed-versions"], "all");
}

TEST(DoctorRun, NcclIsTheOneThatTheRanksHaveLoaded) {
    RecordedTree const tree;
    protocol::RunSubmitted submitted;
    submitted.nodes = submitted.ranks_per_node = 1;
    tree.write(
        "run/journal",
        journal_of(
            {submitted, joined(0, "n1"), protocol::LaunchOrdered{0, 1, "n1", 1},
             rank(0, 0, {{"device", "cuda:0, NCCL 2.28.9"}, {"NCCL_VERSION", "2.28.3-1"}})}));
    doctor::Evidence evidence;
    auto const added = cli::add_run_evidence({7, "a-0007", {tree.root() / "run"}}, evidence);
    ASSERT_TRUE(added.has_value()) << added.error().message;
    ASSERT_EQ(evidence.nodes.size(), 1u);
    EXPECT_EQ(evidence.nodes[0].versions.at("nccl"), "2.28.9");
    EXPECT_TRUE(evidence.nodes[0].settings.empty());
}

TEST(DoctorRun, WithoutAJournal) {
    RecordedTree const tree;
    doctor::Evidence evidence;
    auto const added = cli::add_run_evidence({7, "a-0007", {tree.root()}}, evidence);
    ASSERT_TRUE(added.has_error());
    EXPECT_EQ(added.error().code, Errc::not_found);
}

TEST(DoctorRun, DamagedJournal) {
    RecordedTree const tree;
    tree.write("run/journal", "not a journal at all, and long enough to be seen as one");
    doctor::Evidence evidence;
    EXPECT_TRUE(cli::add_run_evidence({7, "a", {tree.root() / "run"}}, evidence).has_error());
}

}  // namespace
}  // namespace osora::tests
