// osora's plug-in in a real Slurm: what tasks of plain srun see, and that none of its failures
// fails a job that did not ask for it.
#include "base/files/files.hpp"
#include "tests/cluster/bed.hpp"
#include "topology/nccl/srun_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <sstream>

namespace osora::cluster {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Variables = std::map<std::string, std::string>;

constexpr int kAlice = 7001;  // tests/cluster/bed.d/configuration.sh

class Spank : public BedTest {
protected:
    void SetUp() override {
        BedTest::SetUp();
        if (IsSkipped()) return;
        home_ = bed().folder() / "home/alice";
        // Readable by Slurm and alice, wherever this was built.
        fs::copy_file(OSORA_SPANK, bed().folder() / "osora_spank.so",
                      fs::copy_options::skip_existing);
        fs::create_directory(home_ / "profiles");
        for (std::string const node : {"n0", "n1", "n2", "n3"}) write_profile(node);
        load("optional");
    }

    /// plugstack.conf: each srun reads it again.
    void load(std::string const& how, std::string const& more = "") const {
        write(bed().folder() / "plugstack.conf",
              fmt::format("{} {}/osora_spank.so profile={}/profiles/%n {}\n", how,
                          bed().folder().string(), home_.string(), more));
    }
    static void write(fs::path const& path, std::string const& text) {
        auto const written = write_file_atomic(path, text);
        ASSERT_TRUE(written.has_value()) << written.error().message;
    }
    void write_as_alice(std::string const& name, std::string const& text) const {
        write(home_ / name, text);
        ASSERT_EQ(::chown((home_ / name).c_str(), kAlice, kAlice), 0);
    }
    void write_profile(std::string const& node) const {
        topology::NodeProfile profile;
        profile.boot_id = read_file(bed().folder() / "nodes" / node / "boot_id")->substr(0, 36);
        profile.env = {{"NCCL_SOCKET_IFNAME", "eth-" + node}, {"NCCL_IB_HCA", "=mlx5_0,mlx5_1"}};
        profile.cpus = {"0", "1"};
        write(home_ / "profiles" / node, *topology::encode_node_profile(profile));
    }

    /// srun as alice; `arguments` end with the program.
    static Ended srun(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "srun");
        return bed().run("alice@ctl", arguments);
    }
    static Ended srun_shell(std::vector<std::string> options, std::string const& program) {
        options.insert(options.end(), {"/bin/bash", "-c", program});
        return srun(std::move(options));
    }
    /// The variables of each task, by its SLURM_PROCID.
    static std::map<std::string, Variables> tasks_of(std::vector<std::string> const& options) {
        auto const ended = srun_shell(options,
                                      "exec env -0 | tr '\\n\\0' ' \\n' | "
                                      "sed \"s/^/$SLURM_PROCID /\"");
        EXPECT_EQ(ended.code, 0) << ended.err;
        std::map<std::string, Variables> tasks;
        std::istringstream lines(ended.out);
        for (std::string line; std::getline(lines, line);) {
            auto const space = line.find(' '), equals = line.find('=');
            if (equals == line.npos) continue;
            tasks[line.substr(0, space)][line.substr(space + 1, equals - space - 1)] =
                line.substr(equals + 1);
        }
        return tasks;
    }

    fs::path home_;
};

TEST_F(Spank, TasksGetTorchrunsVariables) {
    auto tasks = tasks_of({"-N4", "--ntasks-per-node=2"});
    ASSERT_EQ(tasks.size(), 8u);
    for (auto& [id, task] : tasks) {
        EXPECT_EQ(task["RANK"], id);
        EXPECT_EQ(task["LOCAL_RANK"], task["SLURM_LOCALID"]);
        EXPECT_EQ(task["WORLD_SIZE"], "8");
        EXPECT_EQ(task["LOCAL_WORLD_SIZE"], "2");
        EXPECT_EQ(task["MASTER_ADDR"], tasks["0"]["SLURMD_NODENAME"]);
        EXPECT_EQ(task["MASTER_PORT"], tasks["0"]["MASTER_PORT"]);
    }
    EXPECT_GE(std::stoi(tasks["0"]["MASTER_PORT"]), 20000);
    bed().environment().push_back("MASTER_PORT=4711");
    EXPECT_EQ(tasks_of({"-N1"})["0"]["MASTER_PORT"], "4711") << "the user's own";
    remove_variable(bed().environment(), "MASTER_PORT");
}

TEST_F(Spank, EachNodeHasItsOwnSettingsAndTheUsersWin) {
    std::string const mine = "=mlx5_7, \"mine\" $HOME";
    bed().environment().push_back("NCCL_IB_HCA=" + mine);
    auto tasks = tasks_of({"-N4", "-n4"});
    remove_variable(bed().environment(), "NCCL_IB_HCA");
    for (auto& [id, task] : tasks) {
        EXPECT_EQ(task["NCCL_SOCKET_IFNAME"], "eth-" + task["SLURMD_NODENAME"]);
        EXPECT_EQ(task["NCCL_IB_HCA"], mine);
    }
    EXPECT_EQ(tasks_of({"-N1"})["0"]["NCCL_IB_HCA"], "=mlx5_0,mlx5_1");
}

TEST_F(Spank, TasksAreBoundToTheCpusOfTheirLocalRank) {
    if (::sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "one CPU: nothing to choose";
    std::string const show = "echo $LOCAL_RANK $(taskset -pc $$ | sed 's/.*: //')";
    auto const bound = srun_shell({"-N1", "-n2"}, show).out;
    EXPECT_THAT(bound, AllOf(HasSubstr("0 0\n"), HasSubstr("1 1\n")));
    // The plug-in does not change Slurm's own binding.
    auto const theirs = srun_shell({"-N1", "-n2", "--cpu-bind=map_cpu:0,0"}, show).out;
    EXPECT_THAT(theirs, Not(HasSubstr("1 1\n")));
}

TEST_F(Spank, OffAndBatchStepsAreLeftAlone) {
    std::string const show = "echo RANK:$RANK NCCL:$NCCL_SOCKET_IFNAME";
    EXPECT_EQ(srun_shell({"-N1", "--osora-off"}, show).out, "RANK: NCCL:\n");
    bed().environment().push_back("OSORA_SRUN_OFF=1");
    EXPECT_EQ(srun_shell({"-N1"}, show).out, "RANK: NCCL:\n");
    remove_variable(bed().environment(), "OSORA_SRUN_OFF");

    write_as_alice("batch", "#!/bin/bash\n" + show + "\nsrun -N1 -n1 bash -c '" + show + "'\n");
    auto const batch = bed().run("alice@ctl", {"sbatch", "-N2", "-o", "batch.out", "batch"});
    EXPECT_EQ(batch.code, 0) << batch.err;
    std::string said;
    EXPECT_TRUE(eventually([&] {
        auto const file = read_file(home_ / "batch.out");
        said = file.has_value() ? *file : "";
        return said == "RANK: NCCL:\nRANK:0 NCCL:eth-n0\n";
    })) << said;
}

TEST_F(Spank, DryRunPrintsAndRunsNothing) {
    bed().environment().push_back("NCCL_IB_HCA=mine");
    auto const dry = srun_shell({"-N2", "--ntasks-per-node=2", "--osora-dry-run"}, "echo it ran");
    remove_variable(bed().environment(), "NCCL_IB_HCA");
    EXPECT_EQ(dry.code, 0) << dry.err;
    EXPECT_THAT(dry.out, Not(HasSubstr("it ran")));
    for (char const* line :
         {"rank 3: on n1 would run /bin/bash\n",
          "rank 3: RANK=3 LOCAL_RANK=1 WORLD_SIZE=4 LOCAL_WORLD_SIZE=2\n",
          "rank 2: MASTER_ADDR=n0 MASTER_PORT=2",
          "rank 2: NCCL_SOCKET_IFNAME=eth-n1 (node profile)\n",
          "rank 0: NCCL_IB_HCA keeps your value; the node profile says =mlx5_0,mlx5_1\n",
          "rank 0: bound to CPUs 0\n"}) {
        EXPECT_THAT(dry.out, HasSubstr(line));
    }
}

TEST_F(Spank, APlanIsFollowedOrNothingRuns) {
    write_as_alice("my.plan",
                   *topology::encode_srun_plan(
                       {{{"NCCL_ALGO", "Ring"}, {"NCCL_SOCKET_IFNAME", "plan0"}}, 4, 2}));
    auto tasks = tasks_of({"-N2", "--ntasks-per-node=2", "--chdir=/tmp", "--osora-plan=my.plan"});
    EXPECT_EQ(tasks["3"]["NCCL_ALGO"], "Ring");
    EXPECT_EQ(tasks["3"]["NCCL_SOCKET_IFNAME"], "plan0") << "before the node's";
    EXPECT_EQ(tasks["3"]["NCCL_IB_HCA"], "=mlx5_0,mlx5_1");

    auto const refused = [&](std::vector<std::string> const& options, char const* why) {
        auto const ended = srun_shell(options, "echo it ran");
        EXPECT_NE(ended.code, 0);
        EXPECT_EQ(ended.out, "");
        EXPECT_THAT(ended.err, HasSubstr(why));
    };
    refused({"-n2", "--osora-plan=my.plan"}, "is for 4 tasks; this step has 2");
    refused({"-N4", "-n4", "--osora-plan=my.plan"}, "is for 2 tasks a node; this node has 1");
    refused({"-n4", "--osora-plan=other.plan"}, "No such file");
    ASSERT_EQ(::chmod((home_ / "my.plan").c_str(), 0664), 0);
    refused({"-n4", "--osora-plan=my.plan"}, "writable by others");
    write_as_alice("bad.plan", "osora-plan 1\nenv LD_PRELOAD x.so\nend\n");
    refused({"-n4", "--osora-plan=bad.plan"}, "line 2: not a variable of NCCL");
}

TEST_F(Spank, OsoraPlanWritesOne) {
    write_as_alice("clips.csv", "path,num_frames,height,width\na.mp4,64,96,96\n");
    write_as_alice("run.toml",
                   "[run]\nname = \"demo\"\n[resources]\ngpus_per_node = 2\n"
                   "[data]\nmanifest = \"clips.csv\"\nhost_memory_gib = 1\n"
                   "[[bucket]]\nresolution = \"32\"\nnum_frames = 4\n"
                   "[batch]\nglobal_batch_size = 4\n[train]\nsteps = 10\n"
                   "[nccl]\nNCCL_IB_TC = \"106\"\n");
    auto const made = bed().run(
        "ctl", {OSORA_BIN_DIR "/osora", "plan", home_ / "run.toml", "--srun", home_ / "made.plan"});
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("srun -N1 --ntasks-per-node=2 --osora-plan="));
    auto tasks = tasks_of({"-N1", "--ntasks-per-node=2", "--osora-plan=made.plan"});
    EXPECT_EQ(tasks["1"]["NCCL_IB_TC"], "106");
    EXPECT_NE(srun({"-N1", "-n1", "--osora-plan=made.plan", "true"}).code, 0);
}

TEST_F(Spank, OsorasOwnStepsAreNoRanks) {
    write_as_alice("exec.toml",
                   "[run]\nname = \"exec\"\njob = \"exec\"\n"
                   "[resources]\nbackend = \"slurm\"\nnodes = 2\ngpus_per_node = 1\n"
                   "[probe]\nbefore_start = \"never\"\n"
                   "[worker]\ncommand = [\"/bin/bash\", \"-c\", "
                   "\"echo RANK:$RANK NCCL:$NCCL_SOCKET_IFNAME CPUS:$(taskset -pc $$)\"]\n");
    std::string const user = bed().user();
    if (user != "alice") GTEST_SKIP() << "what was built cannot be read by others than root";
    auto const allowed = bed().run("alice@n0", {"taskset", "-pc", "1"}).out;
    auto const run = bed().run("alice@ctl", {OSORA_BIN_DIR "/osora", "submit", "exec.toml"});
    EXPECT_EQ(run.code, 0) << run.out << run.err;
    auto const log = read_file(home_ / ".local/state/osora/runs/exec-0001/logs/0/1.log");
    ASSERT_TRUE(log.has_value()) << log.error().message;
    EXPECT_THAT(*log, HasSubstr("RANK:1 NCCL: CPUS:"));
    EXPECT_EQ(log->substr(log->rfind(": ")), allowed.substr(allowed.rfind(": ")));
}

TEST_F(Spank, AProfileThatCannotBeTrustedIsSkipped) {
    ASSERT_EQ(::chmod((home_ / "profiles/n0").c_str(), 0666), 0);
    write(home_ / "profiles/n1", "osora-node 1\nenv LD_PRELOAD x.so\nend\n");
    ASSERT_EQ(::chown((home_ / "profiles/n2").c_str(), 12345, 0), 0);
    auto const ended = srun_shell({"-N4"}, "echo $RANK $NCCL_SOCKET_IFNAME");
    EXPECT_EQ(ended.code, 0) << ended.err;
    for (char const* line : {"0\n", "1\n", "2\n", "3 eth-n3\n"}) {
        EXPECT_THAT(ended.out, HasSubstr(line));
    }
    for (char const* why : {"n0: writable by others", "n1: line 2: not a variable of NCCL",
                            "n2: neither yours nor root's"}) {
        EXPECT_THAT(ended.err, HasSubstr(why));
    }
}

TEST_F(Spank, AProfileThatIsRefusedGivesWayToTheNext) {
    fs::create_directory(home_ / "others");
    fs::copy_file(home_ / "profiles/n0", home_ / "others/n0");
    ASSERT_EQ(::chmod((home_ / "others/n0").c_str(), 0666), 0);
    write(bed().folder() / "plugstack.conf",
          fmt::format("optional {}/osora_spank.so profile={}/others/%n profile={}/profiles/%n\n",
                      bed().folder().string(), home_.string(), home_.string()));
    auto const ended = srun_shell({"-w", "n0"}, "echo $NCCL_SOCKET_IFNAME");
    EXPECT_EQ(ended.out, "eth-n0\n");
    EXPECT_THAT(ended.err, AllOf(HasSubstr("writable by others"), HasSubstr("the next is tried")));
}

TEST_F(Spank, AProfileIsForOneBoot) {
    bed().control({"power", "n1", "crash"});
    bed().control({"power", "n1", "on"});
    ASSERT_TRUE(eventually([] { return bed().all_idle(); }));
    auto const ended = srun_shell({"-w", "n[0-1]"}, "echo $SLURMD_NODENAME $NCCL_SOCKET_IFNAME");
    EXPECT_THAT(ended.out, AllOf(HasSubstr("n0 eth-n0\n"), HasSubstr("n1\n")));
    EXPECT_EQ(ended.err, "");
}

TEST_F(Spank, TheRankThatFailedIsNamed) {
    auto listener = bed().start_on(
        "n1", {"python3", "-c",
               "import socket\ns = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
               "s.bind('/run/exits')\nprint('ready', flush=True)\n"
               "for _ in range(2): print(s.recv(1000).decode(), end='', flush=True)\n"});
    ASSERT_TRUE(listener.says("ready"));
    load("optional", "notices=/run/exits");
    auto const ended = srun_shell({"-N2", "--ntasks-per-node=2", "-K1"},
                                  "[ $RANK = 2 ] && exit 7; exec sleep 1000");
    EXPECT_EQ(ended.code, 143) << "Slurm's exit code";
    EXPECT_THAT(ended.err, HasSubstr("osora: rank 2 on n1 exited with 7\n"));
    EXPECT_THAT(ended.err, Not(HasSubstr("osora: rank 0")));
    auto const notices = listener.wait().out;
    EXPECT_THAT(notices, testing::ContainsRegex("osora-exit 1 job=[0-9]+ step=0 node=n1 rank=2 "
                                                "local_rank=0 pid=[0-9]+ exit=7 signal=0\n"));
    EXPECT_THAT(notices, testing::ContainsRegex("rank=3 local_rank=1 pid=[0-9]+ exit=0 signal=15"));
}

TEST_F(Spank, AListenerThatDoesNotReadHoldsNothingUp) {
    auto listener = bed().start_on(
        "n0", {"python3", "-c",
               "import socket, time\ns = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
               "s.bind('/run/exits')\nprint('ready', flush=True)\ntime.sleep(1000)"});
    ASSERT_TRUE(listener.says("ready"));
    load("optional", "notices=/run/exits");
    for (int times = 0; times < 3; ++times) {
        EXPECT_EQ(srun({"-w", "n0", "-N1", "-n16", "true"}).code, 0);
    }
}

TEST_F(Spank, AFailureInAnyCallbackStopsNoJobWhenOptional) {
    for (std::string const where : {"init@local", "init@remote", "user_init", "task_init",
                                    "task_exit", "exit@local", "exit@remote"}) {
        load("optional", "fail=" + where);
        auto const ended = srun_shell({"-N2"}, "echo ran");
        EXPECT_EQ(ended.code, 0) << where << ": " << ended.err;
        EXPECT_EQ(ended.out, "ran\nran\n") << where;
        bool const seen = where != "exit@remote";  // then nobody listens any more
        EXPECT_EQ(ended.err.find("made to fail in") != std::string::npos, seen) << where;
    }
    load("optional", "fail=init@allocator");
    auto const batch = bed().run("alice@ctl", {"sbatch", "--wrap", "true"});
    EXPECT_EQ(batch.code, 0) << batch.err;
    EXPECT_THAT(batch.err, HasSubstr("made to fail in init"));
    EXPECT_TRUE(eventually([] { return bed().all_idle(); })) << "no node is drained";
}

TEST_F(Spank, WhenRequiredItFailsLoudlyBeforeATaskRuns) {
    for (std::string const where : {"init@local", "init@remote", "user_init", "task_init"}) {
        load("required", "fail=" + where);
        auto const ended = srun_shell({"-N2"}, "echo ran");
        EXPECT_NE(ended.code, 0) << where;
        EXPECT_EQ(ended.out, "") << where;
        EXPECT_THAT(ended.err, HasSubstr("osora: made to fail in")) << where;
    }
    for (std::string const where : {"task_exit", "exit"}) {
        load("required", "fail=" + where);
        EXPECT_EQ(srun_shell({"-N2"}, "echo ran").code, 0) << where;
    }
    load("required", "fail=user_init");
    EXPECT_EQ(srun_shell({"-N1", "--osora-off"}, "echo ran").out, "ran\n") << "the way out";
    load("required", "profil=/x");
    EXPECT_THAT(srun({"true"}).err,
                HasSubstr("known are profile=, notices=, fail=; not: profil=/x"));
    EXPECT_TRUE(eventually([] { return bed().all_idle(); })) << "no node is drained";
}

}  // namespace
}  // namespace osora::cluster
