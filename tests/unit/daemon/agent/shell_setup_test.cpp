// The setup of a worker, the store port, and what an agent reads about its node.
#include "base/files/files.hpp"
#include "daemon/agent/agent_start.hpp"
#include "daemon/agent/file_spill.hpp"
#include "daemon/agent/store_port.hpp"
#include "daemon/agent/worker_setup.hpp"
#include "daemon/node/node_facts.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace osora::daemon {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

plan::WorkerJob job_with(std::map<std::string, std::string> env = {}) {
    plan::WorkerJob job;
    job.run_uuid = "u";
    job.run_dir = "/runs/a b";
    job.base_dir = "/base";
    job.config.worker.env = std::move(env);
    job.plan.chosen.threads_per_rank = 4;
    job.plan.nccl_env.push_back({"NCCL_IB_TC", "106", "", ""});
    job.plan.nccl_env.push_back({"NCCL_DEBUG", "WARN", "", ""});
    return job;
}

WorkerPlace place_of_rank_5() {
    WorkerPlace place;
    place.launch = {.attempt = 2,
                    .world_size = 8,
                    .first_rank = 4,
                    .local_world_size = 4,
                    .store_host = "10.0.0.1",
                    .store_port = 4242};
    place.local_rank = 1;
    place.agent_fd = 3;
    return place;
}

Result<WorkerSetup> set_up(plan::WorkerJob const& job, Environment inherited) {
    return set_up_worker(job, place_of_rank_5(), "/bin/osora-worker", std::move(inherited));
}

TEST(WorkerSetup, VariablesAreTorchrunsAndOurs) {
    auto const setup = set_up(job_with(), {"HOME=/root", "RANK=77", "OSORA_STORE_FD=9"});
    ASSERT_TRUE(setup.has_value());
    EXPECT_THAT(setup->environment,
                testing::IsSupersetOf({"HOME=/root", "NCCL_IB_TC=106", "NCCL_DEBUG=WARN",
                                       "OMP_NUM_THREADS=4", "RANK=5", "LOCAL_RANK=1",
                                       "WORLD_SIZE=8", "LOCAL_WORLD_SIZE=4", "MASTER_ADDR=10.0.0.1",
                                       "MASTER_PORT=4242", "OSORA_ATTEMPT=2", "OSORA_RUN_UUID=u",
                                       "OSORA_RUN_DIR=/runs/a b", "OSORA_AGENT_FD=3"}));
    EXPECT_THAT(setup->environment, Not(Contains(StartsWith("OSORA_STORE_FD="))));
    EXPECT_THAT(setup->arguments, ElementsAre("--job", "/runs/a b/job.json"));
    EXPECT_EQ(setup->program, "/bin/osora-worker");
    EXPECT_EQ(setup->working_directory, "/base");
}

TEST(WorkerSetup, TheFlightRecorderIsKeptInTheRunUnlessTheUserSaysWhere) {
    auto const setup = set_up(job_with(), {});
    EXPECT_THAT(setup->environment,
                Contains("TORCH_NCCL_DEBUG_INFO_TEMP_FILE=/runs/a b/stacks/2/flight-"));
    EXPECT_THAT(setup->environment,
                Contains("TORCH_NCCL_DEBUG_INFO_PIPE_FILE=/runs/a b/stacks/2/flight-request-"));
    auto const own = set_up(job_with({{"TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "/mine"}}), {});
    EXPECT_THAT(own->environment, Contains("TORCH_NCCL_DEBUG_INFO_TEMP_FILE=/mine"));
}

TEST(WorkerSetup, TheUsersValuesWin) {
    auto const by_env = set_up(job_with({{"NCCL_DEBUG", "INFO"}, {"OMP_NUM_THREADS", "2"}}), {});
    EXPECT_THAT(by_env->environment, Contains("NCCL_DEBUG=INFO"));
    EXPECT_THAT(by_env->environment, Contains("OMP_NUM_THREADS=2"));
    auto const inherited = set_up(job_with(), {"OMP_NUM_THREADS=3"});
    EXPECT_THAT(inherited->environment, Contains("OMP_NUM_THREADS=3"));
    EXPECT_THAT(inherited->environment, Not(Contains("OMP_NUM_THREADS=4")));
}

TEST(WorkerSetup, ANodeGetsItsOwnSettings) {
    auto job = job_with();
    job.plan.nccl_env.push_back({"GLOO_SOCKET_IFNAME", "eth0", "probe", "", "P", {"n0", "n1"}});
    job.plan.nccl_env.push_back({"GLOO_SOCKET_IFNAME", "eno1", "probe", "", "P", {"n2"}});
    auto const on = [&](std::string host) {
        auto place = place_of_rank_5();
        place.host = std::move(host);
        return set_up_worker(job, place, "/bin/osora-worker", {"GLOO_SOCKET_IFNAME=lo"})
            ->environment;
    };
    EXPECT_THAT(on("n1"), Contains("GLOO_SOCKET_IFNAME=eth0"));
    EXPECT_THAT(on("n2"), Contains("GLOO_SOCKET_IFNAME=eno1"));
    EXPECT_THAT(on("n2.cluster.example"), Contains("GLOO_SOCKET_IFNAME=eno1"));
    EXPECT_THAT(on("n22"), Contains("GLOO_SOCKET_IFNAME=lo")) << "inherited";
}

TEST(WorkerSetup, WhoAWorkerIsCannotBeOverridden) {
    auto const setup = set_up(job_with({{"RANK", "0"}, {"OSORA_AGENT_FD", "0"}}), {});
    EXPECT_THAT(setup->environment, Contains("RANK=5"));
    EXPECT_THAT(setup->environment, Contains("OSORA_AGENT_FD=3"));
}

TEST(WorkerSetup, ExecProgramsAreFoundAsAShellWould) {
    plan::WorkerJob job = job_with();
    job.config.run.job = "exec";
    job.config.worker.command = {"sh", "-c", "a b"};
    auto const found = set_up(job, {"PATH=/nowhere:/bin"});
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->program, "/bin/sh");
    EXPECT_THAT(found->arguments, ElementsAre("-c", "a b"));

    job.config.worker.command = {"./train.sh"};
    EXPECT_EQ(set_up(job, {})->program, "/base/./train.sh");

    job.config.worker.command = {"no-such-thing"};
    auto const missing = set_up(job, {"PATH=/bin"});
    ASSERT_TRUE(missing.has_error());
    EXPECT_EQ(missing.error().code, Errc::not_found);
    EXPECT_THAT(missing.error().message, HasSubstr("'no-such-thing' is not in PATH (/bin)"));

    job.config.worker.command = {};
    EXPECT_TRUE(set_up(job, {}).has_error());
}

TEST(StorePort, TwoPortsAreDifferentAndListen) {
    auto const a = bind_store_port("127.0.0.1");
    auto const b = bind_store_port("127.0.0.1");
    ASSERT_TRUE(a.has_value() && b.has_value());
    EXPECT_NE(a->port, b->port);
    int listening = 0;
    socklen_t length = sizeof listening;
    ::getsockopt(a->socket.get(), SOL_SOCKET, SO_ACCEPTCONN, &listening, &length);
    EXPECT_EQ(listening, 1);
}

TEST(StorePort, AnAddressThatIsNotOursIsNamed) {
    auto const store = bind_store_port("192.0.2.1");  // RFC 5737: nobody's
    ASSERT_TRUE(store.has_error());
    EXPECT_THAT(store.error().message, HasSubstr("192.0.2.1"));
    EXPECT_EQ(bind_store_port("localhost").error().code, Errc::invalid_input);
}

/// In a network namespace with two free ports: returns 0 when a third bind fails, with the reason.
int ask_for_three_ports() {
    if (::unshare(CLONE_NEWNET) != 0) return 77;
    std::ofstream("/proc/sys/net/ipv4/ip_local_port_range") << "50000 50001";
    int const control = ::socket(AF_INET, SOCK_DGRAM, 0);
    ifreq request{};
    std::string("lo").copy(request.ifr_name, IFNAMSIZ);
    request.ifr_flags = IFF_UP;
    if (::ioctl(control, SIOCSIFFLAGS, &request) != 0) return 77;
    auto const a = bind_store_port("127.0.0.1");
    auto const b = bind_store_port("127.0.0.1");
    auto const c = bind_store_port("127.0.0.1");
    if (a.has_error() || b.has_error() || c.has_value()) return 1;
    bool const reported =
        c.error().code == Errc::busy && c.error().message.find("no free port") != std::string::npos;
    return reported ? 0 : 2;
}

TEST(StorePort, NoFreePortIsSaid) {
    pid_t const child = ::fork();
    if (child == 0) ::_exit(ask_for_three_ports());
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "needs root: a network namespace is made";
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

class Facts : public testing::Test {
protected:
    void SetUp() override {
        root_ = testing::TempDir() + "osora-facts-XXXXXX";
        ASSERT_NE(::mkdtemp(root_.data()), nullptr);
    }
    void TearDown() override { std::filesystem::remove_all(root_); }
    void write(std::string const& name, std::string const& text) const {
        auto const path = std::filesystem::path(root_) / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }
    std::string root_;
};

TEST_F(Facts, AreReadBelowTheRoot) {
    write("proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC 7763\nmodel name\t: other\n");
    write("proc/meminfo", "MemTotal:       131072000 kB\nMemFree: 1 kB\n");
    write("etc/os-release", "NAME=\"x\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n");
    auto const facts = node_facts(root_);
    EXPECT_EQ(facts.at("cpu"), "AMD EPYC 7763");
    EXPECT_EQ(facts.at("memory_gib"), "125.0");
    EXPECT_EQ(facts.at("os"), "Debian GNU/Linux 12");
    EXPECT_GE(std::stoi(facts.at("cpus")), 1);
}

TEST_F(Facts, WhatIsNotThereIsLeftOut) {
    auto const facts = node_facts(root_);
    EXPECT_EQ(facts.count("cpu"), 0u);
    EXPECT_EQ(oom_kills(root_), std::nullopt);
}

TEST_F(Facts, OutOfMemoryKillsAreThoseOfTheOwnGroup) {
    write("proc/self/cgroup", "0::/user.slice/run-7.scope\n");
    write("sys/fs/cgroup/user.slice/run-7.scope/memory.events",
          "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n");
    EXPECT_EQ(oom_kills(root_), 2);
    write("proc/self/cgroup", "0::/\n");
    write("sys/fs/cgroup/memory.events", "oom_kill 5\n");
    EXPECT_EQ(oom_kills(root_), 5);
}

TEST(AgentPlace, EnvironmentAndMarksAreThoseOfTheWorkers) {
    AgentStart start;
    start.run_uuid = "u";
    start.node = 3;
    start.environment = {{"PATH=/opt/bin"}, {"ODD=a=b,\xff\n"}, {"EMPTY="}};
    Environment environment{"PATH=/bin", "HOME=/root"};
    ASSERT_TRUE(resolve_node(start, environment).has_value());
    EXPECT_THAT(environment,
                testing::UnorderedElementsAre("PATH=/opt/bin", "HOME=/root", "ODD=a=b,\xff\n",
                                              "EMPTY=", "OSORA_RUN_UUID=u", "OSORA_NODE=3"));
    start.environment = {{"=nameless"}};
    EXPECT_TRUE(resolve_node(start, environment).has_error());
}

TEST(AgentPlace, ANodeNumberOfMinusOneIsSlurms) {
    for (std::string const bad : {"", "x", "-1", "1x", "99999999999"}) {
        AgentStart start;
        start.node = -1;
        Environment environment{"SLURM_NODEID=" + bad};
        auto const placed = resolve_node(start, environment);
        ASSERT_TRUE(placed.has_error()) << bad;
        EXPECT_THAT(placed.error().message, HasSubstr("SLURM_NODEID is '" + bad + "'"));
    }
    AgentStart start;
    start.node = -1;
    Environment environment{"SLURM_NODEID=7"};
    ASSERT_TRUE(resolve_node(start, environment).has_value());
    EXPECT_EQ(start.node, 7);
    EXPECT_THAT(environment, Contains("OSORA_NODE=7"));
}

TEST(FileSpill, GivesBackWhatItTookUpToItsLimit) {
    FileSpill spill(testing::TempDir(), 1000);
    EXPECT_FALSE(spill.pop().value().has_value());
    std::string const odd("a\0b", 3);
    ASSERT_TRUE(spill.push(odd).has_value());
    ASSERT_TRUE(spill.push("").has_value());
    ASSERT_TRUE(spill.push(std::string(900, 'x')).has_value());
    EXPECT_EQ(spill.push(std::string(100, 'y')).error().code, Errc::out_of_space);
    EXPECT_EQ(spill.pop().value(), odd);
    EXPECT_EQ(spill.pop().value(), "");
    EXPECT_EQ(spill.pop().value(), std::string(900, 'x'));
    EXPECT_FALSE(spill.pop().value().has_value());
    EXPECT_TRUE(spill.push(std::string(900, 'z')).has_value()) << "what was taken makes room";
    EXPECT_EQ(spill.pop().value(), std::string(900, 'z'));
    EXPECT_TRUE(FileSpill("/nonexistent").push("x").has_error());
}

}  // namespace
}  // namespace osora::daemon
