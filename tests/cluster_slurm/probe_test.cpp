// osora probe on a bed whose links are shaped: what is slow is named, and nothing else.
#include "protocol/json.hpp"
#include "tests/cluster/user.hpp"
#include "topology/probe_result.hpp"

#include <fmt/format.h>

#include <chrono>

namespace osora::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Probe : public UserTest {
protected:
    static void SetUpTestSuite() {
        open({.nodes = 16,
              .leaf_size = 4,
              .rate = "160mbit",
              .trunk_rate = "640mbit",
              .sshd = false});
    }

    topology::ProbeResult probe(int code) {
        auto const ended = osora({"probe", "--backend", "slurm", "--nodes", "16", "--json"});
        EXPECT_EQ(ended.code, code) << ended.out.substr(0, 2000) << ended.err;
        auto const result = protocol::decode<topology::ProbeResult>(ended.out);
        EXPECT_TRUE(result.has_value()) << ended.out.substr(0, 2000);
        return result.has_value() ? *result : topology::ProbeResult{};
    }
};

TEST_F(Probe, SaysThatAllIsWell) {
    auto const result = probe(0);
    EXPECT_THAT(result.findings, IsEmpty());
    EXPECT_THAT(result.nodes, SizeIs(16));
    EXPECT_EQ(result.leaves[5], "leaf1");
    EXPECT_NEAR(result.median_gbit_s, 0.160, 0.032);
    EXPECT_THAT(osora({"history"}).out, HasSubstr("probe-0001"));
}

TEST_F(Probe, NamesANodeWhoseLinkHasAThird) {
    bed().control({"shape", "n11", "53mbit"});
    auto const result = probe(1);
    ASSERT_THAT(result.findings, SizeIs(1)) << protocol::encode(result.findings);
    EXPECT_EQ(result.findings[0].kind, "slow_node");
    EXPECT_THAT(result.findings[0].nodes, ElementsAre("n11"));
    EXPECT_NEAR(result.findings[0].ratio, 0.33, 0.08);
}

TEST_F(Probe, NamesALeafWhoseUplinkHasAThird) {
    bed().control({"shape", "leaf2", "213mbit"});
    auto const result = probe(1);
    ASSERT_THAT(result.findings, SizeIs(1)) << protocol::encode(result.findings);
    EXPECT_EQ(result.findings[0].where, "uplink of leaf2");
    EXPECT_LT(result.findings[0].ratio, 0.6);
}

}  // namespace
}  // namespace osora::cluster
