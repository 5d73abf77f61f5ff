// Expected names are those that `scontrol show hostnames` of Slurm 22.05.8 printed.
#include "base/host_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace osora {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> hosts(std::string_view list) {
    auto const expanded = expand_host_list(list);
    EXPECT_TRUE(expanded.has_value()) << expanded.error().message;
    return expanded.has_value() ? *expanded : std::vector<std::string>();
}

TEST(HostList, NamesRangesAndWidths) {
    EXPECT_THAT(hosts(""), IsEmpty());
    EXPECT_THAT(hosts("n1"), ElementsAre("n1"));
    EXPECT_THAT(hosts("n[0-3,7],gpu-a"), ElementsAre("n0", "n1", "n2", "n3", "n7", "gpu-a"));
    EXPECT_THAT(hosts("n[008-011]"), ElementsAre("n008", "n009", "n010", "n011"));
    EXPECT_THAT(hosts("n[1-2]-ib,m"), ElementsAre("n1-ib", "n2-ib", "m"));
    EXPECT_THAT(hosts("r[0-1]n[0-1]"), ElementsAre("r0n0", "r0n1", "r1n0", "r1n1"));
    EXPECT_THAT(hosts("n[0-65535]"), SizeIs(65536));
}

TEST(HostList, RefusesWhatIsNoList) {
    for (char const* list : {"n[0-", "n0]", "n[3-1]", "n[a-b]", "n[]", ",n1", "n1,,n2", "n[1--2]",
                             "n[0-65536]", "n[0-300]m[0-300]", "n[99999999999999999999]"}) {
        EXPECT_TRUE(expand_host_list(list).has_error()) << list;
    }
}

TEST(HostList, JoinsWithCommas) {
    EXPECT_EQ(join_hosts({"n0", "n3"}), "n0,n3");
    EXPECT_EQ(join_hosts({}), "");
}

TEST(HostList, FoldsWhatItExpands) {
    EXPECT_EQ(fold_hosts({}), "");
    EXPECT_EQ(fold_hosts({"n1"}), "n1");
    EXPECT_EQ(fold_hosts({"n10", "n8", "n9", "n2", "gpu-a", "n9"}), "gpu-a,n[2,8-10]");
    EXPECT_EQ(fold_hosts({"n08", "n09", "n10"}), "n[08-10]");
    EXPECT_EQ(fold_hosts({"n8", "n09", "n"}), "n,n[8,09]");
    EXPECT_EQ(fold_hosts({"r1n1-ib", "r1n2-ib", "r2n1-ib"}), "r1n[1-2]-ib,r2n1-ib");
    EXPECT_EQ(fold_hosts({"10.0.71.104", "10.0.71.103", "n2", "n1"}),
              "10.0.71.103,10.0.71.104,n[1-2]");
    EXPECT_EQ(fold_hosts({"n99999999999999999999"}), "n99999999999999999999");
    for (char const* list : {"a[000-120],b[1-9,11]c,d", "x1,x01,x001", "n[0-4000]"}) {
        auto names = hosts(list);
        auto back = hosts(fold_hosts(names));
        std::ranges::sort(names);
        std::ranges::sort(back);
        EXPECT_EQ(back, names) << list;
    }
}

}  // namespace
}  // namespace osora
