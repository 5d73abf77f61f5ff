// osora probe on a bed whose links are shaped. The gate takes Probe, where no rate decides;
// ProbeRates, where exactly the slow parts must be named, is for the soak tier. unit_probing shows
// without a clock what is named at which rates; shell_pre_launch_probe shows what a run makes of
// it.
#include "protocol/json.hpp"
#include "tests/cluster/user.hpp"
#include "topology/probe_result.hpp"

#include <fmt/format.h>

#include <fstream>

namespace osora::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Probe : public UserTest {
protected:
    void write_run_file() const {
        std::ofstream(folder_ / "run.toml") << "[run]\nname = \"demo\"\njob = \"exec\"\n"
                                               "[resources]\nbackend = \"slurm\"\nnodes = 4\n"
                                               "spares = 1\n[worker]\ncommand = [\"true\"]\n";
    }
    static void SetUpTestSuite() {
        open({.nodes = 16,
              .leaf_size = 4,
              .rate = "64mbit",
              .trunk_rate = "256mbit",
              .sshd = false});
    }
};

TEST_F(Probe, MeasuresEveryNodeAndKeepsTheAnswer) {
    auto const ended = osora({"probe", "--backend", "slurm", "--nodes", "16", "--json"});
    auto const result = protocol::decode<topology::ProbeResult>(ended.out);
    ASSERT_TRUE(result.has_value()) << ended.out.substr(0, 2000) << ended.err;
    EXPECT_EQ(ended.code, result->findings.empty() ? 0 : 1) << ended.err;
    EXPECT_THAT(result->nodes, SizeIs(16));
    EXPECT_EQ(result->leaves[5], "leaf1");
    for (auto const& score : result->scores) EXPECT_GT(score.samples, 0);
    EXPECT_GT(result->median_gbit_s, 0);
    EXPECT_THAT(osora({"history"}).out, HasSubstr("probe-0001"));
}

TEST_F(Probe, ComesBeforeARunAndIsRememberedForItsNodes) {
    write_run_file();
    auto const first = osora({"submit", "run.toml"});
    EXPECT_EQ(first.code, 0) << first.out << first.err;
    EXPECT_THAT(first.out, HasSubstr("\nprobe    5 nodes in "));
    auto const parts = run("demo-0001").events<protocol::ProbePart>();
    ASSERT_THAT(parts, SizeIs(1));
    EXPECT_THAT(parts[0].part.at("pairs").as_array(), testing::Not(SizeIs(0)));
    auto const second = osora({"submit", "run.toml"});
    EXPECT_EQ(second.code, 0) << second.out << second.err;
    EXPECT_THAT(second.out, HasSubstr("\nprobe    5 nodes, measured "));
    auto const never = osora({"submit", "run.toml", "--set", "probe.before_start=never"});
    EXPECT_THAT(never.out, testing::Not(HasSubstr("\nprobe ")));
}

class ProbeRates : public Probe {
protected:
    /// Every probe names a fault of the bed; an effect of its busy machine on one probe is not
    /// named by the next two. unit_probing shows how often one probe errs.
    topology::ProbeResult probe_until(std::size_t findings) {
        topology::ProbeResult result;
        for (int attempt = 0; attempt < 3; ++attempt) {
            auto const ended = osora({"probe", "--backend", "slurm", "--nodes", "16", "--json"});
            auto const read = protocol::decode<topology::ProbeResult>(ended.out);
            EXPECT_TRUE(read.has_value()) << ended.out.substr(0, 2000) << ended.err;
            if (!read.has_value()) break;
            result = *read;
            EXPECT_EQ(ended.code, result.findings.empty() ? 0 : 1) << ended.err;
            if (result.findings.size() <= findings) break;
        }
        return result;
    }
};

TEST_F(ProbeRates, SaysThatAllIsWell) {
    auto const result = probe_until(0);
    EXPECT_THAT(result.findings, IsEmpty());
    EXPECT_NEAR(result.median_gbit_s, 0.064, 0.013);
}

TEST_F(ProbeRates, NamesANodeWhoseLinkHasAThird) {
    bed().control({"shape", "n11", "21mbit"});
    auto const result = probe_until(1);
    ASSERT_THAT(result.findings, SizeIs(1)) << protocol::encode(result.findings);
    EXPECT_EQ(result.findings[0].kind, "slow_node");
    EXPECT_THAT(result.findings[0].nodes, ElementsAre("n11"));
    // A third of the rate; on a busy machine the pairs of a slow node lose more than others.
    EXPECT_THAT(result.findings[0].ratio, testing::AllOf(testing::Gt(0.2), testing::Lt(0.42)));
}

TEST_F(ProbeRates, NamesALeafWhoseUplinkHasAThird) {
    bed().control({"shape", "leaf2", "85mbit"});
    auto const result = probe_until(1);
    ASSERT_THAT(result.findings, SizeIs(1)) << protocol::encode(result.findings);
    EXPECT_EQ(result.findings[0].where, "uplink of leaf2");
    EXPECT_LT(result.findings[0].ratio, 0.6);
}

TEST_F(ProbeRates, ComesBeforeARunAndLeavesASlowNodeOut) {
    write_run_file();
    bed().control({"shape", "n1", "21mbit"});
    auto const first = osora({"submit", "run.toml"});
    EXPECT_EQ(first.code, 0) << first.out << first.err;
    EXPECT_THAT(first.out, HasSubstr("\nprobe    5 nodes in "));
    EXPECT_THAT(first.out, HasSubstr("left out: n1\n"));
    for (auto const& joined : run("demo-0001").events<protocol::AgentJoined>()) {
        EXPECT_NE(joined.host, "n1");
    }
    // The same nodes again: the saved measurement is used.
    auto const second = osora({"submit", "run.toml"});
    EXPECT_EQ(second.code, 0) << second.out << second.err;
    EXPECT_THAT(second.out, HasSubstr("\nprobe    5 nodes, measured "));
    EXPECT_THAT(second.out, HasSubstr("left out: n1\n"));
}

}  // namespace
}  // namespace osora::cluster
