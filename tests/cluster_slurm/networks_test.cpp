// Nodes with two cards of which one is slow: the probe measures both, and ranks meet on the faster
// one, even where a node inherits the slow one. The gate takes Networks; in NetworkRates measured
// rates decide: soak tier. Without a clock: shell_pre_launch_probe, unit_plan_nccl, unit_doctor.
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
    void write_run_file() const {
        std::ofstream(folder_ / "run.toml")
            << "[run]\nname = \"demo\"\njob = \"exec\"\n[resources]\nbackend = \"slurm\"\n"
               "nodes = 3\n"
               "[worker]\ncommand = [\"sh\", \"-c\", \"echo takes $GLOO_SOCKET_IFNAME\"]\n";
    }
};

TEST_F(Networks, WhatTheUserSetsStays) {
    write_run_file();
    for (std::string const card : {"eth0", "eth1"}) {
        auto const ended =
            osora({"submit", "run.toml", "--set", "worker.env.GLOO_SOCKET_IFNAME=" + card});
        EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
        auto const name = card == "eth0" ? "demo-0001" : "demo-0002";
        EXPECT_THAT(content_of(run_dir(name) / "logs/0/2.log"), HasSubstr("takes " + card));
    }
}

class NetworkRates : public Networks {};

TEST_F(NetworkRates, RanksMeetOnTheFasterCard) {
    write_run_file();
    set_variable(bed().environment(), "GLOO_SOCKET_IFNAME", "eth0");  // inherited, and slow
    auto const ended = osora({"submit", "run.toml"});
    remove_variable(bed().environment(), "GLOO_SOCKET_IFNAME");
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("eth1 (10.78.0.0/16)"));
    EXPECT_THAT(content_of(run_dir("demo-0001") / "logs/0/2.log"), HasSubstr("takes eth1"));
}

TEST_F(NetworkRates, AdviceAndDoctorSayTheSame) {
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
