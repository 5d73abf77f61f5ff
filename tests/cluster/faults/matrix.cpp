#include "tests/cluster/faults/matrix.hpp"

#include <algorithm>
#include <csignal>

namespace osora::cluster {
namespace {

using namespace protocol;
using Strings = std::vector<std::string>;

Strings const kAll{"local", "ssh", "slurm"};
Strings const kNetworked{"ssh", "slurm"};
Strings const kSlurm{"slurm"};
constexpr int kRank = 3;  // on the second of three nodes

auto signal_rank(int signal) {
    return [signal](Bed&, FaultyRun& run) { run.signal_rank(kRank, signal); };
}

/// This rank is the first failure of the run, and its cause.
auto rank_failed(int exit_code, int signal) {
    return [=](FaultyRun const& run) {
        auto const failures = run.events<RankFailed>();
        bool const named = std::any_of(failures.begin(), failures.end(), [&](auto const& each) {
            return each.attempt == 0 && each.rank == kRank && each.exit_code == exit_code &&
                   each.signal == signal;
        });
        EXPECT_TRUE(named) << "rank 3 is not named\n" << run.logs();
    };
}

void node_lost(FaultyRun const& run) {
    auto const lost = run.events<NodeLost>();
    ASSERT_FALSE(lost.empty()) << run.logs();
    EXPECT_EQ(lost.front().node, 1) << lost.front().why;
}

/// A node goes silent: that is detected soon, and long before kPatience_s is over.
FaultSpec silent() {
    FaultSpec spec;
    spec.lost_after_s = 10;
    return spec;
}

FaultSpec with_spare() {
    FaultSpec spec = silent();
    spec.spares = 1;
    return spec;
}

FaultSpec one_restart() {
    FaultSpec spec = silent();
    spec.max_restarts = 1;
    return spec;
}

FaultSpec with_env(std::string const& name, std::string const& value) {
    FaultSpec spec;
    spec.env[name] = value;
    return spec;
}

/// A command of the bed takes something from the machine of the run's second node.
auto control_machine(std::string const& command, std::string const& word) {
    return [=](Bed& bed, FaultyRun& run) { bed.control({command, run.machine_of(1), word}); };
}

void cut_for_two_seconds(Bed& bed, FaultyRun& run) {
    std::string const machine = run.machine_of(1);
    bed.control({"link", machine, "down"});
    run.release();
    eventually([] { return false; }, 2);  // the length is the fault
    bed.control({"link", machine, "up"});
}

/// From a machine outside the run, when the controller can be reached from one.
void intrude(Bed&, FaultyRun& run) {
    std::string const machine = run.backend() == "local" ? "n0" : "n3";
    auto const ended =
        run.on(machine, {OSORA_SOURCE_DIR "/tests/cluster/faults/intruder.py", run.run_dir()});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    EXPECT_THAT(ended.out, testing::HasSubstr("wrong_token: refused wrong token\n"));
    for (char const* attempt : {"garbage", "oversized", "early"}) {
        EXPECT_THAT(ended.out, testing::HasSubstr(std::string(attempt) + ": dropped\n"));
    }
}

auto harm_daemon(std::string const& name, std::string const& how) {
    return [=](Bed& bed, FaultyRun&) { bed.control({"daemon", name, how}); };
}

/// After it has saved the job: a forgotten job's number goes to the next job, which a node that
/// still knows the first one refuses.
void kill_slurmctld(Bed& bed, FaultyRun& run) {
    auto const job = run.run_dir().filename().string();
    EXPECT_TRUE(eventually([&] {
        auto const saved = tests::content_of(bed.folder() / "state/job_state");
        return saved.find(job) != std::string::npos;
    }));
    bed.control({"daemon", "slurmctld", "kill"});
}

void kill_slurmd(Bed& bed, FaultyRun& run) {
    bed.control({"daemon", "slurmd@" + run.machine_of(1), "kill"});
}

/// The agent of a node is lost, replaced, and then continues as if nothing had happened.
auto freeze_agent(int node) {
    return [node](Bed&, FaultyRun& run) {
        auto const agent = run.events<AgentJoined>();
        run.signal_agent(node, SIGSTOP);
        EXPECT_TRUE(eventually([&] { return run.events<AgentJoined>().size() > agent.size(); }))
            << "no other agent came\n"
            << run.logs();
        // The first one may have been killed by now: then there is nothing to continue.
        for (auto const& each : agent) {
            if (each.node != node) continue;
            (void)run.on(each.host, {"kill", "-CONT", std::to_string(each.pid)});
        }
    };
}

/// Another user who knows every path can neither read nor end the run.
void try_as_another_user(Bed& bed, FaultyRun& run) {
    std::string const machine = run.machine_of(0);
    std::string const folder = run.run_dir();
    auto const read = bed.run("bob@" + machine, {"cat", folder + "/controller.json"});
    EXPECT_NE(read.code, 0);
    std::string const connect =
        "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1] + '/control.sock')";
    EXPECT_NE(bed.run("bob@" + machine, {"python3", "-c", connect, folder}).code, 0);
    auto const state = run.run_dir().parent_path().parent_path().string();
    auto const cancel = bed.run("bob@" + machine, {"env", "OSORA_STATE_DIR=" + state,
                                                   OSORA_BIN_DIR "/osora", "cancel", "1"});
    EXPECT_NE(cancel.code, 0) << cancel.out;
}

/// An ECC error of rank 3 in the first attempt, which a spare host can avoid.
FaultSpec bad_gpu() {
    FaultSpec spec = with_spare();
    spec.env["OSORA_MOCK_FAIL"] = "3:30:17@0";
    spec.env["OSORA_MOCK_SAYS"] = "CUDA error: uncorrectable ECC error encountered";
    return spec;
}

/// The second node has moved to the spare host for one restart, and `osora nodes` knows why.
void left_its_host(FaultyRun const& run) {
    rank_failed(17, 0)(run);
    std::vector<std::string> hosts;
    for (auto const& joined : run.events<AgentJoined>()) {
        if (joined.node == 1) hosts.push_back(joined.host);
    }
    ASSERT_EQ(hosts.size(), 2u) << run.logs();
    EXPECT_EQ(hosts[0], "n1");
    EXPECT_EQ(hosts[1], "n3");
    node_lost(run);
    auto const memory = run.run_dir().parent_path().parent_path() / "node_memory.json";
    EXPECT_THAT(run.on("n0", {"cat", memory.string()}).out,
                testing::HasSubstr("GPU fault: uncorrectable ECC error encountered"));
}

std::vector<FaultRow> rank_rows() {
    FaultSpec stopped;
    stopped.step_timeout_s = 5;
    auto const hung = [](FaultyRun const& run) {
        auto const hangs = run.events<HangDetected>();
        // The rank that lags, not its peers, who wait for it. Heartbeats show the silence.
        EXPECT_TRUE(std::any_of(hangs.begin(), hangs.end(), [](HangDetected const& each) {
            return each.attempt == 0 && each.rank == kRank && each.silent_s >= 4;
        })) << run.logs();
    };
    return {
        {"rank_sigkill",
         kAll,
         true,
         {},
         signal_rank(SIGKILL),
         Verdict::ok,
         2,
         rank_failed(0, SIGKILL)},
        {"rank_sigsegv",
         kAll,
         false,
         {},
         signal_rank(SIGSEGV),
         Verdict::ok,
         2,
         rank_failed(0, SIGSEGV)},
        {"rank_sigstop", kAll, false, stopped, signal_rank(SIGSTOP), Verdict::ok, 2, hung},
        {"rank_exits_7",
         kAll,
         false,
         with_env("OSORA_MOCK_FAIL", "3:30:7@0"),
         {},
         Verdict::app_bug,
         1,
         rank_failed(7, 0)},
        {"rank_exits_0_early",
         kAll,
         false,
         with_env("OSORA_MOCK_FAIL", "3:30:0@0"),
         {},
         Verdict::app_bug,
         1,
         rank_failed(0, 0)},
        {"rank_loses_its_peer",
         kAll,
         false,
         with_env("OSORA_MOCK_FAIL", "3:30:10@0"),
         {},
         Verdict::ok,
         2,
         rank_failed(10, 0)},
        {"bad_gpu", kSlurm, true, bad_gpu(), {}, Verdict::ok, 2, left_its_host},
        {"bad_gpu", {"ssh"}, false, bad_gpu(), {}, Verdict::ok, 2, left_its_host},
        {"out_of_gpu_memory",
         kAll,
         false,
         with_env("OSORA_MOCK_OOM", "3:30"),
         {},
         Verdict::oom,
         1,
         rank_failed(12, 0)},
    };
}

std::vector<FaultRow> machine_rows() {
    auto const agent_killed = [](Bed&, FaultyRun& run) { run.signal_agent(1, SIGKILL); };
    auto const local_agent_killed = [](Bed&, FaultyRun& run) { run.signal_agent(0, SIGKILL); };
    auto const some_node_lost = [](FaultyRun const& run) {
        EXPECT_FALSE(run.events<NodeLost>().empty()) << run.logs();
    };
    return {
        {"agent_killed", {"local"}, false, {}, local_agent_killed, Verdict::ok, 2, some_node_lost},
        {"agent_killed", kNetworked, false, {}, agent_killed, Verdict::ok, 2, node_lost},
        {"power_off", kSlurm, true, with_spare(), control_machine("power", "off"), Verdict::ok, 2,
         node_lost},
        {"power_off",
         {"ssh"},
         false,
         with_spare(),
         control_machine("power", "off"),
         Verdict::ok,
         2,
         node_lost},
        {"power_off_without_spare",
         {"ssh"},
         false,
         one_restart(),
         control_machine("power", "off"),
         Verdict::node_fault,
         1,
         node_lost},
        {"node_crash", kNetworked, false, with_spare(), control_machine("power", "crash"),
         Verdict::ok, 2, node_lost},
        {"cable_cut_2_s", kNetworked, false, {}, cut_for_two_seconds, Verdict::ok, 1, no_node_lost},
        {"cable_cut", kNetworked, false, with_spare(), control_machine("link", "down"), Verdict::ok,
         2, node_lost},
        {"agent_frozen",
         {"local"},
         false,
         silent(),
         freeze_agent(0),
         Verdict::ok,
         2,
         some_node_lost},
        {"agent_frozen", kNetworked, false, silent(), freeze_agent(1), Verdict::ok, 2, node_lost},
    };
}

std::vector<FaultRow> service_rows() {
    return {
        {"slurmctld_frozen",
         kSlurm,
         false,
         {},
         harm_daemon("slurmctld", "freeze"),
         Verdict::ok,
         1,
         no_node_lost},
        {"slurmd_killed", kSlurm, false, {}, kill_slurmd, Verdict::ok, 1, no_node_lost},
        {"other_user", kAll, false, {}, try_as_another_user, Verdict::ok, 1, no_node_lost},
        {"intruders", kAll, false, {}, intrude, Verdict::ok, 1, no_node_lost},
        {"slurmctld_killed", kSlurm, false, {}, kill_slurmctld, Verdict::ok, 1, no_node_lost},
        {"munged_killed",
         kSlurm,
         false,
         {},
         harm_daemon("munged", "kill"),
         Verdict::ok,
         1,
         no_node_lost},
    };
}

}  // namespace

void no_node_lost(FaultyRun const& run) {
    EXPECT_TRUE(run.events<NodeLost>().empty()) << run.events<NodeLost>().front().why;
}

std::vector<FaultRow> fault_rows() {
    auto rows = rank_rows();
    for (auto const& part : {machine_rows(), service_rows(), controller_rows(), disk_rows()}) {
        rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
}

}  // namespace osora::cluster
