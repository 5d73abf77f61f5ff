// Tests the bed itself: nodes are isolated, Slurm runs on them, faults do what they say.
#include "tests/cluster/bed.hpp"
#include "base/ids.hpp"

#include <set>
#include <sstream>

namespace osora::cluster {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::set<std::string> words_of(std::string const& text) {
    std::istringstream stream(text);
    std::set<std::string> words;
    for (std::string word; stream >> word;) words.insert(word);
    return words;
}

class BedNodes : public BedTest {
protected:
    /// On n0: connects to `node`'s sshd, prints what it receives, ends with the connection.
    static Running listen_to(std::string const& node) {
        return bed().start_on(
            "n0", {"/bin/bash", "-c", "exec 3<>/dev/tcp/" + node + "/22 && exec cat <&3"});
    }
    /// Whether n0 can connect to `node` within a second.
    static bool reachable(std::string const& node) {
        std::string const connect = "exec 3<>/dev/tcp/" + node + "/22";
        return bed().run("n0", {"timeout", "1", "/bin/bash", "-c", connect}).code == 0;
    }
};

TEST_F(BedNodes, AreSeparateMachines) {
    std::set<std::string> boots{boot_id() + "\n"};
    for (std::string const node : {"ctl", "n0", "n3"}) {
        EXPECT_EQ(bed().run(node, {"hostname"}).out, node + "\n");
        EXPECT_THAT(bed().run(node, {"cat", "/proc/1/comm"}).out, "bash\n");
        boots.insert(bed().run(node, {"cat", "/proc/sys/kernel/random/boot_id"}).out);
        // Each node has its own shared memory; other files are common.
        EXPECT_EQ(bed().run(node, {"mkdir", "/dev/shm/mine"}).code, 0);
        EXPECT_EQ(bed().run(node, {"test", "-e", bed().folder() / "slurm.conf"}).code, 0);
    }
    EXPECT_EQ(boots.size(), 4u);
    EXPECT_EQ(bed().run("alice@n0", {"/bin/bash", "-c", "id -un; echo $HOME"}).out,
              "alice\n" + (bed().folder() / "home/alice").string() + "\n");
    // No way out: only the bed's own network has a route.
    EXPECT_EQ(bed().shell("n0", "ip -4 route | grep -v ^10.77.0.0/16").out, "");
}

TEST_F(BedNodes, ArgumentsAndExitCodesPass) {
    auto const echo = bed().run("n1", {"printf", "%s|", "a b", "$HOME", "'\"\n"});
    EXPECT_EQ(echo.out, "a b|$HOME|'\"\n|");
    EXPECT_EQ(bed().shell("n1", "exit 7").code, 7);
    auto running = bed().start_on("n1", {"sleep", "1000"});
    running.signal(SIGINT);
    EXPECT_EQ(running.wait().code, 128 + SIGINT);
}

TEST_F(BedNodes, SlurmRunsOnAllOfThem) {
    auto const four = bed().run("ctl", {"srun", "-N4", "--ntasks-per-node=2", "hostname"});
    EXPECT_EQ(four.code, 0) << four.err;
    EXPECT_EQ(words_of(four.out), (std::set<std::string>{"n0", "n1", "n2", "n3"}));
    auto const gpus = bed().run(
        "alice@ctl", {"srun", "-N1", "--gpus-per-node=8", "printenv", "CUDA_VISIBLE_DEVICES"});
    EXPECT_EQ(gpus.out, "0,1,2,3,4,5,6,7\n") << gpus.err;
    // The topology says which nodes are near each other: two nodes of one switch.
    auto const near =
        bed().run("ctl", {"srun", "-N2", "--switches=1", "printenv", "SLURM_TOPOLOGY_ADDR"});
    EXPECT_THAT(near.out, testing::AnyOf(HasSubstr("leaf0"), HasSubstr("leaf1")));
}

TEST_F(BedNodes, SshWithTheUsersKey) {
    auto const ssh =
        bed().run("alice@ctl", {"ssh", "-o", "BatchMode=yes", "n2", "hostname; id -un"});
    EXPECT_EQ(ssh.out, "n2\nalice\n") << ssh.err;
}

TEST_F(BedNodes, PowerOffIsSilentAndCrashIsNot) {
    auto silent = listen_to("n1");
    auto loud = listen_to("n2");
    ASSERT_TRUE(silent.says("SSH-2.0") && loud.says("SSH-2.0"));
    std::string const boot = bed().run("n1", {"cat", "/proc/sys/kernel/random/boot_id"}).out;
    bed().control({"power", "n1", "off"});
    bed().control({"power", "n2", "crash"});
    EXPECT_EQ(loud.wait().code, 0);
    EXPECT_FALSE(silent.ended()) << "its peers must hear nothing";
    EXPECT_FALSE(reachable("n1"));

    bed().control({"power", "n1", "on"});
    EXPECT_TRUE(eventually([] { return reachable("n1"); }));
    EXPECT_NE(bed().run("n1", {"cat", "/proc/sys/kernel/random/boot_id"}).out, boot);
}

TEST_F(BedNodes, CableIsCutAndPluggedInAgain) {
    auto listener = listen_to("n3");
    ASSERT_TRUE(listener.says("SSH-2.0"));
    bed().control({"link", "n3", "down"});
    EXPECT_FALSE(reachable("n3"));
    EXPECT_FALSE(listener.ended());
    EXPECT_EQ(bed().run("n3", {"hostname"}).out, "n3\n") << "the node itself goes on";
    bed().control({"link", "n3", "up"});
    EXPECT_TRUE(eventually([] { return reachable("n3"); }));
    EXPECT_FALSE(listener.ended()) << "a connection survives a short cut";

    bed().control({"trunk", "leaf1", "down"});
    EXPECT_FALSE(reachable("n3"));
    EXPECT_TRUE(eventually([] { return reachable("n1"); }));
}

TEST_F(BedNodes, DaemonsStopAndStart) {
    auto const ping = [] { return bed().run("ctl", {"scontrol", "ping"}).out; };
    bed().control({"daemon", "slurmctld", "stop"});
    EXPECT_TRUE(eventually([&] { return ping().find("is DOWN") != std::string::npos; }));
    bed().control({"daemon", "slurmctld", "start"});
    EXPECT_TRUE(eventually([&] { return ping().find("is UP") != std::string::npos; }));
    bed().control({"daemon", "slurmctld", "kill"});
    EXPECT_TRUE(eventually([&] { return ping().find("is DOWN") != std::string::npos; }));

    auto const credential = [] {
        return bed().run("n2", {"munge", "-n", "-S", bed().folder() / "munge-run/socket"}).code;
    };
    EXPECT_EQ(credential(), 0);
    bed().control({"daemon", "munged", "stop"});
    EXPECT_TRUE(eventually([&] { return credential() != 0; }));
    ASSERT_TRUE(bed().heal());
    EXPECT_EQ(credential(), 0);
    EXPECT_EQ(bed().run("ctl", {"srun", "-N4", "true"}).code, 0);
}

TEST_F(BedNodes, LinksHaveTheRateTheyAreGiven) {
    bed().control({"shape", "n1", "100mbit"});
    // 24 MB take 2 s at 100 Mbit/s, and 20 ms without a limit.
    std::string const send =
        "start=$EPOCHREALTIME; head -c 24000000 /dev/zero | ssh -o BatchMode=yes n1 'cat "
        ">/dev/null'"
        "; awk -v a=$start -v b=$EPOCHREALTIME 'BEGIN { print 24 * 8 / (b - a) }'";
    double const mbit_s = std::stod(bed().shell("n0", send).out);
    RecordProperty("mbit_s", static_cast<int>(mbit_s));  // less when the machine is busy
    EXPECT_GT(mbit_s, 0);
    EXPECT_LT(mbit_s, 110);
}

}  // namespace
}  // namespace osora::cluster
