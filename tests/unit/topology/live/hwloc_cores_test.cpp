// Machines that hwloc makes from a string, through the reader into a binding.
#include "topology/cpu_list.hpp"
#include "topology/live/hwloc_cores_internal.hpp"
#include "topology/live/read_cores.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::topology {
namespace {

using testing::ElementsAre;

std::vector<Core> cores_in(char const* description, char const* usable) {
    Topology const topology = new_topology();
    if (hwloc_topology_set_synthetic(topology.get(), description) != 0 ||
        hwloc_topology_load(topology.get()) != 0) {
        ADD_FAILURE() << description;
        return {};
    }
    return cores_of(topology.get(), *parse_cpu_list(usable));
}

std::vector<std::string> bound(std::vector<Core> const& cores, BindingRequest const& request) {
    std::vector<std::string> lists;
    for (auto const& each : bind_ranks(cores, request).cpus) lists.push_back(format_cpu_list(each));
    return lists;
}

TEST(HwlocCores, TwoSocketsAndEightGpus) {
    auto const cores = cores_in("pack:2 [numa] core:32 pu:1", "0-63");
    ASSERT_EQ(cores.size(), 64u);
    EXPECT_EQ(cores[31].numa, 0);
    EXPECT_EQ(cores[32].numa, 1);
    EXPECT_EQ(cores[32].package, 1);
    BindingRequest request{.ranks = 8, .cpus_per_rank = 0, .near = {}};
    for (int gpu = 0; gpu < 8; ++gpu) {
        request.near.push_back(*parse_cpu_list(gpu < 4 ? "0-31" : "32-63"));
    }
    EXPECT_THAT(bound(cores, request),
                ElementsAre("0-7", "8-15", "16-23", "24-31", "32-39", "40-47", "48-55", "56-63"));
}

/// As most machines number them: the second threads behind all first ones.
constexpr char const* kSmt =
    "pack:2 [numa] core:4 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)";

TEST(HwlocCores, SiblingsStayTogether) {
    auto const cores = cores_in(kSmt, "0-15");
    ASSERT_EQ(cores.size(), 8u);
    EXPECT_THAT(cores[0].cpus, ElementsAre(0, 8));
    EXPECT_THAT(bound(cores, {.ranks = 4, .cpus_per_rank = 0, .near = {}}),
                ElementsAre("0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15"));
}

TEST(HwlocCores, HonoursTheMaskOfTheProcess) {
    // Of the first core only one thread, the second not at all.
    auto const cores = cores_in("pack:1 [numa] core:4 pu:2", "1,4-7");
    EXPECT_THAT(bound(cores, {.ranks = 3, .cpus_per_rank = 0, .near = {}}),
                ElementsAre("1", "4-5", "6-7"));
    EXPECT_TRUE(bound(cores, {.ranks = 4, .cpus_per_rank = 0, .near = {}}).empty());
}

TEST(HwlocCores, OneCore) {
    auto const cores = cores_in("pu:1", "0");
    EXPECT_THAT(bound(cores, {.ranks = 1, .cpus_per_rank = 0, .near = {}}), ElementsAre("0"));
    EXPECT_TRUE(bound(cores, {.ranks = 2, .cpus_per_rank = 0, .near = {}}).empty());
}

TEST(HwlocCores, SubNumaClusters) {
    auto const cores = cores_in("pack:2 group:2 [numa] core:4 pu:1", "0-15");
    EXPECT_EQ(cores[4].numa, 1);
    EXPECT_EQ(cores[4].package, 0);
    EXPECT_THAT(bound(cores, {.ranks = 4, .cpus_per_rank = 0, .near = {}}),
                ElementsAre("0-3", "4-7", "8-11", "12-15"));
}

TEST(HwlocCores, ThisMachine) {
    auto const usable = usable_cpus(0);
    ASSERT_FALSE(usable.empty());
    std::vector<int> seen;
    for (Core const& core : read_cores(usable)) {
        seen.insert(seen.end(), core.cpus.begin(), core.cpus.end());
    }
    std::ranges::sort(seen);
    EXPECT_EQ(seen, usable);
}

}  // namespace
}  // namespace osora::topology
