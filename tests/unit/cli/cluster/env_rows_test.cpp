// What ranks report against what was ordered for their node.
#include "cli/cluster/env_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::cli {
namespace {

protocol::RankStarted rank(int node, int number, std::map<std::string, std::string> facts) {
    protocol::RankStarted started;
    started.node = node;
    started.rank = number;
    started.facts = std::move(facts);
    return started;
}

std::vector<std::string> lines(std::vector<EnvRow> const& rows) {
    std::vector<std::string> list;
    for (auto const& each : rows) {
        list.push_back(fmt::format("{}={} {} [{}] {}{}", each.name, each.value, each.origin,
                                   each.ranks, fmt::join(each.nodes, ","),
                                   each.ordered.empty() ? "" : " ordered " + each.ordered));
    }
    return list;
}

TEST(EnvRows, ValuesOfNodesAndWhatWasNotDoneAsOrdered) {
    plan::WorkerJob job;
    job.plan.nccl_env = {{"GLOO_SOCKET_IFNAME", "eth0", "probe", "", "P", {"n0"}},
                         {"GLOO_SOCKET_IFNAME", "eno1", "probe", "", "P", {"n1"}},
                         {"NCCL_DEBUG", "WARN", "default", "", "P"}};
    job.config.worker.env = {{"NCCL_IB_TC", "106"}, {"PATH", "/bin"}};
    auto const rows = effective_rows(
        job, {{0, "n0"}, {1, "n1.cluster"}},
        {{0, rank(0, 0,
                  {{"GLOO_SOCKET_IFNAME", "eth0"},
                   {"NCCL_DEBUG", "WARN"},
                   {"NCCL_IB_TC", "106"},
                   {"NCCL_ALGO", "Tree"},
                   {"device", "cpu"}})},
         {1, rank(0, 1,
                  {{"GLOO_SOCKET_IFNAME", "eth0"}, {"NCCL_DEBUG", "WARN"}, {"NCCL_IB_TC", "106"}})},
         {2, rank(1, 2, {{"GLOO_SOCKET_IFNAME", "lo"}, {"NCCL_DEBUG", "WARN"}})},
         {3, rank(1, 3, {{"worker", "mock"}})}});
    EXPECT_THAT(lines(rows),
                testing::ElementsAre("GLOO_SOCKET_IFNAME=lo inherited on the node [2] n1.cluster "
                                     "ordered eno1",
                                     "NCCL_IB_TC= not set [2] n1.cluster ordered 106",
                                     "GLOO_SOCKET_IFNAME=eth0 probe [0-1] n0",
                                     "NCCL_ALGO=Tree inherited on the node [0] n0",
                                     "NCCL_DEBUG=WARN default [0-2] ",
                                     "NCCL_IB_TC=106 run file: [worker] env [0-1] n0"));
}

TEST(EnvRows, NoRankReportedAnything) {
    plan::WorkerJob job;
    job.plan.nccl_env = {{"NCCL_DEBUG", "WARN", "default", "", "P"}};
    EXPECT_TRUE(effective_rows(job, {}, {{0, rank(0, 0, {{"device", "cpu"}})}}).empty());
    EXPECT_TRUE(effective_rows(job, {}, {}).empty());
}

TEST(EnvRows, Ranks) {
    EXPECT_EQ(folded_ranks({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
    EXPECT_EQ(folded_ranks({}), "");
}

TEST(EnvRows, OsoraSetsTheFlightRecorderUnlessItIsSet) {
    std::vector<EnvRow> rows{{"TORCH_FR_BUFFER_SIZE", "9", "S", "run file", "", {}}};
    add_flight_recorder(rows);
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_EQ(rows[0].value, "9");
    EXPECT_EQ(rows[3].origin, "osora");
}

}  // namespace
}  // namespace osora::cli
