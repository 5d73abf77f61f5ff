// osora submit over ssh, on nodes with an sshd each: what arrives there, and what is refused.
#include "tests/cluster/user.hpp"

#include <fmt/format.h>

#include <chrono>
#include <fstream>

namespace osora::cluster {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr int kNoEnd = 100'000;   // steps
constexpr int kUndisturbed = 40;  // steps of a run that ends by itself

class SshRun : public UserTest {
protected:
    static void SetUpTestSuite() { open({.nodes = 3, .slurm = false}); }

    /// run.toml: two ranks a node, 10 ms a step, no second try.
    void write_run_file(std::string const& hosts, int nodes, std::string const& more = "",
                        int steps = kUndisturbed) const {
        std::ofstream(folder_ / "run.toml") << fmt::format(
            "[run]\nname = \"demo\"\n[resources]\nbackend = \"ssh\"\nnodes = {}\n"
            "gpus_per_node = 2\n[ssh]\n{}\n[data]\nmanifest = \"clips.csv\"\nhost_memory_gib = 1\n"
            "[[bucket]]\nresolution = \"32\"\nnum_frames = 4\n[batch]\nglobal_batch_size = {}\n"
            "[probe]\nbefore_start = \"never\"\n[train]\nsteps = {}\n[checkpoint]\nevery = "
            "10\n[faults]\nmax_restarts = 0\nlost_after = {}\n{}",
            nodes, hosts, nodes * 2, steps, tests::kPatience_s, more);
    }
    Ended submit(std::vector<std::string> before = {}) const {
        std::vector<std::string> words{"env", "-C", folder_.string()};
        words.insert(words.end(), before.begin(), before.end());
        words.insert(words.end(), {OSORA_BIN_DIR "/osora", "submit", "run.toml"});
        return bed().run("ctl", words, 2 * tests::kPatience_s);
    }
    /// Agents carry no variables of the run: search for them on each node.
    [[nodiscard]] bool nothing_left() const {
        return eventually([this] {
            bool any = !run().processes().empty();
            for (auto const* node : {"n0", "n1", "n2"}) {
                any = any || bed().run(node, {"pgrep", "osorad"}).code == 0;
            }
            return !any;
        });
    }
    /// A run on three hosts, until no process of it remains on any of them.
    void cancel_once_it_trains() {
        auto running = start({"submit", "run.toml"});
        auto const trains = [this] {
            return events<protocol::RankStarted>().size() == 6 && run().steps_done() > 0;
        };
        EXPECT_TRUE(eventually(trains)) << running.out() << logs();
        auto const begin = std::chrono::steady_clock::now();
        auto const cancelled = osora({"cancel", "1"});
        EXPECT_EQ(running.wait(2 * tests::kPatience_s).code, 130)
            << cancelled.out << cancelled.err << logs();
        EXPECT_TRUE(nothing_left());
        std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
        RecordProperty("cancel_ms", static_cast<int>(took.count() * 1000));
    }
    /// The run failed before any worker was started, with the reason `why`.
    void expect_refusal(Ended const& ended, testing::Matcher<std::string> const& why) const {
        EXPECT_EQ(ended.code, 1) << ended.out << ended.err << logs();
        auto const ends = events<protocol::RunEnded>();
        ASSERT_THAT(ends, SizeIs(1)) << logs();
        auto const lost = events<protocol::NodeLost>();
        ASSERT_FALSE(lost.empty()) << logs();
        EXPECT_THAT(lost.front().why, why);
        EXPECT_THAT(events<protocol::LaunchOrdered>(), SizeIs(0));
        EXPECT_TRUE(nothing_left());
    }
};

TEST_F(SshRun, TrainsOnThreeHosts) {
    std::ofstream(folder_ / "hosts") << "# mine\nn0 slots=2\n\nroot@n1\nn2 port=22 # last\n";
    write_run_file("hostfile = \"hosts\"", 3);
    auto const ended = submit();
    ASSERT_EQ(ended.code, 0) << ended.out << ended.err << logs();
    auto const joined = events<protocol::AgentJoined>();
    ASSERT_THAT(joined, SizeIs(3));
    for (auto const& each : joined) EXPECT_EQ(each.host, fmt::format("n{}", each.node));
    EXPECT_THAT(events<protocol::NodeLost>(), SizeIs(0));
    EXPECT_TRUE(nothing_left());
    EXPECT_THAT(content_of(run_dir() / "agent-2.log"), HasSubstr("agent exits"));
    EXPECT_THAT(content_of(run_dir() / "controller.log"), Not(HasSubstr("refused")));
}

TEST_F(SshRun, CancelLeavesNothing) {
    write_run_file("hosts = [\"n0\", \"n1\", \"n2\"]", 3,
                   "[worker]\nenv = { OSORA_MOCK_STEP_S = \"0.5\", OSORA_MOCK_IGNORE_TERM = \"1\", "
                   "OSORA_MOCK_IGNORE_STOP = \"1\", OSORA_MOCK_LEAVE_CHILD = \"1\" }\n",
                   kNoEnd);
    // The ranks ignore the request, SIGTERM too, and would continue for hours.
    cancel_once_it_trains();
    EXPECT_THAT(events<protocol::NodeFinished>(), SizeIs(0)) << "none ended by itself";
}

TEST_F(SshRun, ACancelledRunIsGoneAfterItsStep) {
    write_run_file("hosts = [\"n0\", \"n1\", \"n2\"]", 3,
                   "[worker]\nenv = { OSORA_MOCK_STEP_S = \"0.3\" }\n", kNoEnd);
    cancel_once_it_trains();
    EXPECT_THAT(events<protocol::CheckpointCompleted>(), Not(SizeIs(0)));
    auto const finished = events<protocol::NodeFinished>();
    ASSERT_THAT(finished, SizeIs(3)) << "none had to be killed";
    for (auto const& each : finished) EXPECT_TRUE(each.stopped);
}

TEST_F(SshRun, CanBeCancelledWhileItsLinksAreProbed) {
    write_run_file("hosts = [\"n0\", \"n1\", \"n2\"]", 3);
    auto const begun =
        osora({"submit", "run.toml", "--detach", "--set", "probe.before_start=always"});
    ASSERT_EQ(begun.code, 0) << begun.out << begun.err;
    ASSERT_TRUE(eventually([this] { return fs::exists(run_dir() / "probe/journal"); }));
    EXPECT_FALSE(fs::exists(run_dir() / "control.sock"));
    EXPECT_EQ(osora({"cancel", "1"}).code, 0);
    auto const ended = [this] { return !events<protocol::RunEnded>().empty(); };
    ASSERT_TRUE(eventually(ended)) << logs();
    EXPECT_EQ(events<protocol::RunEnded>()[0].verdict, protocol::Verdict::cancelled);
    EXPECT_THAT(events<protocol::RankStarted>(), SizeIs(0));
    EXPECT_TRUE(nothing_left());
}

TEST_F(SshRun, AnUnknownHostKeyIsRefusedWithItsFingerprint) {
    auto const home = folder_ / "home";
    fs::create_directories(home);
    fs::copy(bed().folder() / "home/root/.ssh", home / ".ssh");
    fs::remove(home / ".ssh/known_hosts");
    write_run_file("hosts = [\"n0\"]", 1);
    auto const shown =
        bed().run("ctl", {"ssh-keygen", "-lf", (bed().folder() / "ssh/host_key.pub").string()});
    std::string const fingerprint = shown.out.substr(shown.out.find("SHA256:"), 50);
    auto const refused = submit({"HOME=" + home.string()});
    expect_refusal(refused, AllOf(HasSubstr("n0: its host key is unknown"), HasSubstr(fingerprint),
                                  HasSubstr("accept it with: ssh n0")));

    fs::remove_all(folder_ / "state");
    auto const other = bed().folder() / "ssh/id.pub";  // any other key
    std::string const key = content_of(other);
    std::ofstream(home / ".ssh/known_hosts") << "n0 " << key.substr(0, key.find(' ', 20)) << "\n";
    auto const posing = submit({"HOME=" + home.string()});
    expect_refusal(posing,
                   AllOf(HasSubstr("n0: its host key has changed"), HasSubstr("ssh-keygen -R n0")));
}

TEST_F(SshRun, KeysOfTheRunFileLetIn) {
    fs::create_directories(folder_ / "home/.ssh");
    fs::copy(bed().folder() / "ssh/id", folder_ / "key");
    fs::copy(bed().folder() / "ssh/known_hosts", folder_ / "known");
    std::string const home = "HOME=" + (folder_ / "home").string();
    write_run_file("hosts = [\"n0\"]\nknown_hosts = \"known\"", 1);
    expect_refusal(submit({home}), HasSubstr("no key of the ssh agent or of ~/.ssh was accepted"));
    fs::remove_all(folder_ / "state");
    write_run_file("hosts = [\"n0\"]\nidentity = \"key\"", 1);
    expect_refusal(submit({home}), HasSubstr("its host key is unknown"));
    fs::remove_all(folder_ / "state");
    write_run_file("hosts = [\"n0\"]\nidentity = \"key\"\nknown_hosts = \"known\"", 1);
    auto const ended = submit({home});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << logs();
}

TEST_F(SshRun, AnExcludedHostIsNotUsed) {
    write_run_file("hosts = [\"n0\", \"n1\", \"n2\"]", 2, "exclude_nodes = [\"n0\"]\n");
    auto const ended = submit();
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << logs();
    std::vector<std::string> hosts;
    for (auto const& each : events<protocol::AgentJoined>()) hosts.push_back(each.host);
    EXPECT_THAT(hosts, testing::UnorderedElementsAre("n1", "n2"));
}

TEST_F(SshRun, AUserThatIsNotLetInIsRefused) {
    write_run_file("hosts = [\"mallory@n0\"]", 1);
    expect_refusal(submit(),
                   AllOf(HasSubstr("n0: log in: user mallory: no key"),
                         HasSubstr("it takes: publickey"), HasSubstr("ssh mallory@n0 true")));
    // A user that may log in and has no shell.
    fs::remove_all(folder_ / "state");
    write_run_file("hosts = [\"n0 user=nobody\"]", 1);
    expect_refusal(submit(), HasSubstr("n0: osorad exited with 1: "));
}

TEST_F(SshRun, AHostThatDoesNotAnswerIsNamed) {
    write_run_file("hosts = [\"n0 port=23\"]", 1);
    expect_refusal(submit(), AllOf(HasSubstr("n0: connect: "), HasSubstr("port 23"),
                                   HasSubstr("Connection refused")));
    fs::remove_all(folder_ / "state");
    write_run_file("hosts = [\"no-such-host\"]", 1);
    expect_refusal(submit(), HasSubstr("no-such-host: connect: no address"));
}

TEST_F(SshRun, ARunDirectoryThatTheHostDoesNotSeeIsRefused) {
    write_run_file("hosts = [\"n0\"]", 1);
    // Each node has its own /run.
    auto const refused = submit({"OSORA_STATE_DIR=/run/state"});
    EXPECT_EQ(refused.code, 1) << refused.out << refused.err;
    EXPECT_THAT(refused.out + refused.err, AllOf(HasSubstr("n0: /run/state/runs/demo-0001"),
                                                 HasSubstr("no such folder here")));
}

TEST_F(SshRun, AControllerOutOfReachIsReported) {
    write_run_file("hosts = [\"n0\"]", 1);
    auto const wall = bed().shell("n0",
                                  "nft add table inet wall && nft add chain inet wall out "
                                  "'{ type filter hook output priority 0; }' && nft add "
                                  "rule inet wall out tcp dport 1024-65535 tcp flags syn "
                                  "/ fin,syn,rst,ack reject");
    if (wall.code != 0) GTEST_SKIP() << "no packet filter here: " << wall.err;
    auto const refused = submit();
    (void)bed().shell("n0", "nft delete table inet wall");
    expect_refusal(refused, HasSubstr("n0: cannot reach the controller from here: port "));
}

TEST_F(SshRun, WhereThereIsNoOsoradACopyIsMade) {
    write_run_file("hosts = [\"n0\", \"n1\"]", 2);
    // Each node has its own /dev/shm.
    ASSERT_EQ(bed().run("ctl", {"cp", OSORA_BIN_DIR "/osorad", "/dev/shm/osorad"}).code, 0);
    ASSERT_EQ(bed().run("ctl", {"cp", OSORA_BIN_DIR "/osora", "/dev/shm/osora"}).code, 0);
    auto const ended =
        bed().run("ctl", {"env", "-C", folder_.string(), "/dev/shm/osora", "submit", "run.toml"},
                  2 * tests::kPatience_s);
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << logs();
    EXPECT_THAT(events<protocol::AgentJoined>(), SizeIs(2));
    EXPECT_TRUE(nothing_left());
}

}  // namespace
}  // namespace osora::cluster
