#include "topology/core_binding.hpp"

#include "topology/cpu_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace osora::topology {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// `per_node[i]` cores of NUMA node i, one hardware thread each.
std::vector<Core> machine(std::vector<int> const& per_node) {
    std::vector<Core> cores;
    for (std::size_t numa = 0; numa < per_node.size(); ++numa) {
        for (int i = 0; i < per_node[numa]; ++i) {
            int const cpu = static_cast<int>(cores.size());
            cores.push_back({{cpu}, static_cast<int>(numa), static_cast<int>(numa)});
        }
    }
    return cores;
}

std::vector<std::string> lists(CoreBinding const& binding) {
    std::vector<std::string> lists;
    for (auto const& each : binding.cpus) lists.push_back(format_cpu_list(each));
    return lists;
}

std::vector<std::string> bound(std::vector<Core> const& cores, int ranks, int cpus_per_rank = 0) {
    return lists(bind_ranks(cores, {.ranks = ranks, .cpus_per_rank = cpus_per_rank, .near = {}}));
}

TEST(CpuList, ReadsAndWritesWhatLinuxDoes) {
    EXPECT_THAT(*parse_cpu_list(" 0-2,8\n"), ElementsAre(0, 1, 2, 8));
    EXPECT_THAT(*parse_cpu_list("\n"), IsEmpty());
    EXPECT_EQ(format_cpu_list({9, 0, 1, 2, 8, 8, 11}), "0-2,8-9,11");
    EXPECT_EQ(format_cpu_list({}), "");
    for (char const* bad : {"x", "3-1", "0-", "-1", "0-99999999", "1,,2", "1,"}) {
        EXPECT_EQ(parse_cpu_list(bad), std::nullopt) << bad;
    }
}

TEST(CoreBinding, SharesTheCoresEvenly) {
    EXPECT_THAT(bound(machine({2}), 2), ElementsAre("0", "1"));
    EXPECT_THAT(bound(machine({2}), 1), ElementsAre("0-1"));
    EXPECT_THAT(bound(machine({1}), 1), ElementsAre("0"));
    EXPECT_THAT(bound(machine({5}), 3), ElementsAre("0", "1-2", "3-4"));
    EXPECT_THAT(bound(machine({4, 4}), 1), ElementsAre("0-7"));
}

TEST(CoreBinding, KeepsRanksInsideOneNumaNode) {
    EXPECT_THAT(bound(machine({4, 4}), 2), ElementsAre("0-3", "4-7"));
    EXPECT_THAT(bound(machine({4, 4}), 4), ElementsAre("0-1", "2-3", "4-5", "6-7"));
    // A share is two or three cores: the last one stays free.
    EXPECT_THAT(bound(machine({4, 4}), 3), ElementsAre("0-1", "2-3", "4-6"));
}

TEST(CoreBinding, TakesFromOtherNodesWhatItsOwnLacks) {
    EXPECT_THAT(bound(machine({1, 7}), 4), ElementsAre("0,7", "1-2", "3-4", "5-6"));
    EXPECT_THAT(bound(machine({3, 3}), 2), ElementsAre("0-2", "3-5"));
}

TEST(CoreBinding, FewerCoresThanRanksBindsNothingAndSaysSo) {
    auto const binding = bind_ranks(machine({2}), {.ranks = 4, .cpus_per_rank = 0, .near = {}});
    EXPECT_THAT(binding.cpus, IsEmpty());
    EXPECT_EQ(binding.reason, "4 ranks, 2 cores");
    EXPECT_EQ(bind_ranks({}, {.ranks = 1, .cpus_per_rank = 0, .near = {}}).reason,
              "the cores are not known");
}

TEST(CoreBinding, ARankIsNotHeldBelowTheCpusItWasPromised) {
    EXPECT_THAT(bound(machine({4}), 2, 2), ElementsAre("0-1", "2-3"));
    EXPECT_THAT(bound(machine({4}), 2, 1), ElementsAre("0-1", "2-3"));
    auto const binding = bind_ranks(machine({4}), {.ranks = 2, .cpus_per_rank = 3, .near = {}});
    EXPECT_THAT(binding.cpus, IsEmpty());
    EXPECT_EQ(binding.reason, "3 CPUs for each of 2 ranks, 4 CPUs");
}

TEST(CoreBinding, GoesToTheSocketOfTheGpu) {
    auto const first = *parse_cpu_list("0-7"), second = *parse_cpu_list("8-15");
    BindingRequest request{.ranks = 4, .cpus_per_rank = 0, .near = {second, second, first, first}};
    EXPECT_THAT(lists(bind_ranks(machine({8, 8}), request)),
                ElementsAre("8-11", "12-15", "0-3", "4-7"));
    // Both next to one socket: each gets half of it, and its even share from the other.
    request = {.ranks = 2, .cpus_per_rank = 0, .near = {second, second}};
    EXPECT_THAT(lists(bind_ranks(machine({8, 8}), request)), ElementsAre("0-3,8-11", "4-7,12-15"));
    request.cpus_per_rank = 4;
    EXPECT_THAT(lists(bind_ranks(machine({8, 8}), request)), ElementsAre("8-11", "12-15"));
    request.cpus_per_rank = 5;
    EXPECT_THAT(lists(bind_ranks(machine({8, 8}), request)), ElementsAre("0,8-11", "1,12-15"));
}

TEST(CoreBinding, SpreadsOverTheNumaNodesNextToAGpu) {
    auto const socket = *parse_cpu_list("0-7");  // two NUMA nodes of one socket
    BindingRequest const request{.ranks = 2, .cpus_per_rank = 4, .near = {socket, socket}};
    EXPECT_THAT(lists(bind_ranks(machine({4, 4, 4, 4}), request)), ElementsAre("0-3", "4-7"));
}

TEST(CoreBinding, AGpuThatIsNearEverythingSaysNothing) {
    auto const all = *parse_cpu_list("0-7");
    BindingRequest const request{.ranks = 4, .cpus_per_rank = 0, .near = {all, all, all, all}};
    EXPECT_THAT(lists(bind_ranks(machine({4, 4}), request)),
                ElementsAre("0-1", "2-3", "4-5", "6-7"));
}

/// Whatever the machine: no CPU twice, no CPU that does not exist, no rank below the even share.
TEST(CoreBinding, HoldsItsPromisesOnAnyMachine) {
    for (unsigned seed = 0; seed < 2000; ++seed) {
        std::mt19937 random(seed);
        auto const below = [&](int n) {
            return static_cast<int>(random() % static_cast<unsigned>(n));
        };
        std::vector<int> per_node(static_cast<std::size_t>(1 + below(5)));
        for (int& each : per_node) each = below(9);
        auto cores = machine(per_node);
        for (Core& core : cores) {
            if (below(2) == 1) core.cpus.push_back(core.cpus[0] + 1000);
        }
        BindingRequest request;
        request.ranks = 1 + below(12);
        if (below(3) == 0) request.cpus_per_rank = below(4);
        for (int rank = below(2) * request.ranks; rank > 0; --rank) {
            std::vector<int> near;
            for (int i = below(40); i > 0; --i) near.push_back(below(50));
            request.near.push_back(near);
        }
        auto const binding = bind_ranks(cores, request);
        ASSERT_NE(binding.cpus.empty(), binding.reason.empty()) << "seed " << seed;
        if (binding.cpus.empty()) continue;
        ASSERT_EQ(binding.cpus.size(), static_cast<std::size_t>(request.ranks));
        std::set<int> taken;
        std::size_t const share = cores.size() / binding.cpus.size();
        for (auto const& cpus : binding.cpus) {
            auto whole = [&](Core const& core) {
                return std::ranges::count_if(
                    core.cpus, [&](int cpu) { return std::ranges::find(cpus, cpu) != cpus.end(); });
            };
            std::size_t mine = 0;
            for (Core const& core : cores) {
                auto const of_it = whole(core);
                ASSERT_TRUE(of_it == 0 || of_it == static_cast<long>(core.cpus.size()))
                    << "seed " << seed << ": siblings were parted";
                mine += of_it > 0 ? 1 : 0;
            }
            bool const capped = request.cpus_per_rank > 0 && !request.near.empty();
            ASSERT_GE(mine, capped ? 1 : share) << "seed " << seed;
            ASSERT_LE(mine, share + 1) << "seed " << seed;
            for (int const cpu : cpus) ASSERT_TRUE(taken.insert(cpu).second) << "seed " << seed;
        }
    }
}

}  // namespace
}  // namespace osora::topology
