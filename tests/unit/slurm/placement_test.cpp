#include "slurm/placement.hpp"

#include <gtest/gtest.h>

namespace osora::slurm {
namespace {

PlacementOptions four_and_a_spare() {
    return {.hosts = {"n0", "n1", "n2", "n3", "n4"}, .nodes = 4, .excluded = {}, .last = {}};
}

void place_all(Placement& placement) {
    for (int node = 0; node < 4; ++node) EXPECT_TRUE(placement.place(node).has_value());
}

TEST(Placement, NodesStayWhereTheyAreUntilTheirHostIsBad) {
    Placement placement(four_and_a_spare());
    place_all(placement);
    EXPECT_TRUE(placement.is_in_order());
    EXPECT_EQ(placement.host_of(2), "n2");
    placement.fault("n2", 1);  // an agent died: once is no pattern
    EXPECT_EQ(placement.place(2).value(), "n2");
    placement.fault("n2", 1);
    EXPECT_EQ(placement.place(2).value(), "n4");
    EXPECT_FALSE(placement.is_in_order());
    EXPECT_EQ(placement.usable(), 4);
    placement.fault("n0", Placement::kBad);
    EXPECT_EQ(placement.place(0).error().message,
              "node 0: no usable host is left of 5 in the allocation; n0 has failed");
    EXPECT_EQ(placement.place(1).value(), "n1");
}

TEST(Placement, ADoubtfulHostIsLeftWhereAnotherIsFree) {
    Placement placement(four_and_a_spare());
    place_all(placement);
    placement.doubt("n1");
    EXPECT_EQ(placement.place(1).value(), "n4");
    placement.doubt("n2");
    EXPECT_EQ(placement.place(2).value(), "n2") << "n1 is no better";
    placement.fault("n2", Placement::kBad);
    EXPECT_EQ(placement.place(2).value(), "n1") << "better than none";
    EXPECT_EQ(placement.place(1).value(), "n4");
}

TEST(Placement, ExcludedHostsAreNotUsed) {
    auto options = four_and_a_spare();
    for (char const* name : {"n1", "n1.cluster.site"}) {
        options.excluded = {name, "elsewhere"};
        Placement placement(options);
        place_all(placement);
        EXPECT_EQ(placement.host_of(0), "n0");
        EXPECT_EQ(placement.host_of(1), "n2") << name;
        EXPECT_EQ(placement.host_of(3), "n4");
        EXPECT_TRUE(placement.is_in_order());
        EXPECT_EQ(placement.usable(), 4);
    }
}

TEST(Placement, ALaterIncarnationKnowsTheHosts) {
    auto options = four_and_a_spare();
    options.last = {"n0.cluster.site", "", "n4", "gone"};
    Placement placement(options);
    EXPECT_EQ(placement.host_of(0), "n0");
    EXPECT_EQ(placement.host_of(2), "n4");
    EXPECT_EQ(placement.place(1).value(), "n1");
    EXPECT_EQ(placement.place(3).value(), "n2");
}

}  // namespace
}  // namespace osora::slurm
