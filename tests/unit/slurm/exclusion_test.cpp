#include "slurm/exclusion.hpp"

#include <gmock/gmock.h>

namespace osora::slurm {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

TEST(Exclusion, ReadsTheNodesThatSinfoLists) {
    auto const nodes = parse_nodes("CLUSTER: north\nn[08-10],gpu-a\n\nfat1  \n");
    ASSERT_TRUE(nodes.has_value()) << nodes.error().message;
    EXPECT_THAT(*nodes, ElementsAre("n08", "n09", "n10", "gpu-a", "fat1"));
    EXPECT_TRUE(parse_nodes("").has_error());
    EXPECT_TRUE(parse_nodes("n[1-\n").has_error()) << "then some names would be missing";
}

TEST(Exclusion, AsksForAllNodesOfTheCluster) {
    EXPECT_THAT(sinfo_arguments(), ElementsAre("--noheader", "--all", "--format=%N"));
    EXPECT_THAT(sinfo_arguments("north"), Contains("--clusters=north"));
}

TEST(Exclusion, HasTheNamesThatSlurmKnows) {
    std::vector<std::string> const known{"n1", "n2", "n3", "N4.lab", "n1"};
    auto const found = exclusion_of({"N2.cluster", "n4", "n[1-2]", "n2"}, known);
    EXPECT_THAT(found.nodes, ElementsAre("n2", "N4.lab", "n1"));
    EXPECT_THAT(found.unknown, IsEmpty());
}

TEST(Exclusion, LeavesOutNamesThatAreNoNode) {
    auto const found = exclusion_of({"n9", "10.0.0.7", "n[1-", "n1.lab"}, {"n1", "n10"});
    EXPECT_THAT(found.nodes, ElementsAre("n1"));
    EXPECT_THAT(found.unknown, ElementsAre("n9", "10.0.0.7", "n[1-"));
    EXPECT_THAT(exclusion_of({"n1.lab"}, {"n1.office"}).nodes, Not(Contains("n1.office")));
}

}  // namespace
}  // namespace osora::slurm
