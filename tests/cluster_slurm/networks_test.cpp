// Nodes with two cards of which one is slow: the probe measures both, and ranks meet on the faster
// one, also where a node inherits the slow one.
#include "tests/cluster/user.hpp"

#include <fmt/format.h>

#include <fstream>

namespace osora::cluster {
namespace {

using testing::HasSubstr;

class Networks : public UserTest {
protected:
    static void SetUpTestSuite() {
        open({.nodes = 3, .rate = "100mbit", .second_rate = "400mbit", .sshd = false});
    }
};

TEST_F(Networks, RanksMeetOnTheFasterCard) {
    std::ofstream(folder_ / "run.toml")
        << "[run]\nname = \"demo\"\njob = \"exec\"\n[resources]\nbackend = \"slurm\"\nnodes = 3\n"
           "[worker]\ncommand = [\"sh\", \"-c\", \"echo takes $GLOO_SOCKET_IFNAME\"]\n";
    set_variable(bed().environment(), "GLOO_SOCKET_IFNAME", "eth0");  // inherited, and slow
    auto const ended = osora({"submit", "run.toml"});
    remove_variable(bed().environment(), "GLOO_SOCKET_IFNAME");
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("eth1 (10.78.0.0/16)"));
    EXPECT_THAT(content_of(run_dir("demo-0001") / "logs/0/2.log"), HasSubstr("takes eth1"));
    // What the user sets stays.
    auto const own = osora({"submit", "run.toml", "--set", "worker.env.GLOO_SOCKET_IFNAME=eth0"});
    EXPECT_EQ(own.code, 0) << own.out << own.err;
    EXPECT_THAT(content_of(run_dir("demo-0002") / "logs/0/2.log"), HasSubstr("takes eth0"));
}

TEST_F(Networks, AdviceAndDoctorSayTheSame) {
    auto const probe = osora({"probe", "--backend", "slurm", "--nodes", "3", "--json"});
    EXPECT_EQ(probe.code, 0) << probe.err;
    std::ofstream(folder_ / "probe.json") << probe.out;
    auto const advice = osora({"nccl", "advise", "--backend", "gloo", "--probe", "probe.json"});
    EXPECT_EQ(advice.code, 0) << advice.err;
    EXPECT_THAT(advice.out, HasSubstr("GLOO_SOCKET_IFNAME=eth1"));
    auto const doctor = osora({"doctor", "--probe", "probe.json"});
    EXPECT_EQ(doctor.code, 1) << doctor.out << doctor.err;
    EXPECT_THAT(doctor.out, HasSubstr("Traffic goes over eth0, the slower interface"));
}

}  // namespace
}  // namespace osora::cluster
