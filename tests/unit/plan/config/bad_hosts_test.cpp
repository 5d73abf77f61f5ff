#include "plan/config/candidate_hosts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::plan {
namespace {

using testing::ElementsAre;

RunConfig over_ssh(std::vector<std::string> hosts) {
    RunConfig config;
    config.resources.backend = "ssh";
    config.ssh.hosts = std::move(hosts);
    return config;
}

TEST(BadHosts, ComeLastAsTheyWereWritten) {
    auto config = over_ssh({"me@n1:2222 slots=4", "n2", "N3", "n4"});
    EXPECT_EQ(use_bad_hosts_last(config, {"n3", "n1", "n9"}),
              "ssh.hosts: n1, N3 failed runs lately (see osora nodes) and are used last");
    EXPECT_THAT(config.ssh.hosts, ElementsAre("n2", "n4", "me@n1:2222 slots=4", "N3"));
    EXPECT_EQ(use_bad_hosts_last(config, {"n3"}), "") << "it is the last one";
}

TEST(BadHosts, AreRecognisedWithAndWithoutTheirDomain) {
    auto config = over_ssh({"n1", "n2.cluster", "n3", "n10"});
    config.resources.nodes = 3;
    EXPECT_EQ(use_bad_hosts_last(config, {"n1.cluster"}),
              "ssh.hosts: n1 failed runs lately (see osora nodes) and is used last");
    EXPECT_THAT(config.ssh.hosts, ElementsAre("n2.cluster", "n3", "n10", "n1"));
    config.faults.exclude_nodes = {"N1.cluster", "n2", "n3.elsewhere"};
    EXPECT_THAT(candidate_hosts(config, {}), ElementsAre("n10"));
    config.resources.backend = "slurm";
    EXPECT_THAT(candidate_hosts(config, {"SLURM_JOB_NODELIST=n[1-3,10-11]"}),
                ElementsAre("n10", "n11"));
}

TEST(BadHosts, ChangeNothingElsewhere) {
    auto config = over_ssh({"n1", "n2"});
    EXPECT_EQ(use_bad_hosts_last(config, {}), "");
    EXPECT_EQ(use_bad_hosts_last(config, {"n1", "n2"}), "") << "there are no others";
    config.resources.backend = "slurm";
    EXPECT_EQ(use_bad_hosts_last(config, {"n1"}), "");
    EXPECT_THAT(config.ssh.hosts, ElementsAre("n1", "n2"));
}

}  // namespace
}  // namespace osora::plan
