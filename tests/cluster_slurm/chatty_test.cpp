// Programs that print without end, on every node of a Slurm job: the run continues and succeeds.
#include "tests/cluster_slurm/slurm_fixture.hpp"
#include "tests/kit/size.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>

namespace osora::cluster {
namespace {

class SlurmChatty : public SlurmTest {};

TEST_F(SlurmChatty, TwentyMegabytesASecondOfStepLinesFromEachRank) {
    int const seconds = tests::test_size("OSORA_CHATTY_SECONDS", 30);
    std::ofstream(folder_ / "chatty.py") << "import os, time\n"
                                            "end = time.monotonic() + "
                                         << seconds
                                         << "\nstep, due = 0, time.monotonic()\n"
                                            "while time.monotonic() < end:\n"
                                            "    text = b''.join(b'step %d loss 2.0 lr 1e-4\\n' % "
                                            "i for i in range(step, step + 40000))\n"
                                            "    step += 40000\n"
                                            "    while text: text = text[os.write(1, text):]\n"
                                            "    due += 0.05\n"
                                            "    time.sleep(max(0, due - time.monotonic()))\n";
    std::ofstream(folder_ / "run.toml")
        << "[run]\nname = \"demo\"\njob = \"exec\"\n[resources]\nbackend = \"slurm\"\nnodes = 2\n"
           "gpus_per_node = 4\ntime_limit = \"00:30:00\"\n"
           "[worker]\ncommand = [\"/usr/bin/python3\", \"chatty.py\"]\n"
           "[probe]\nbefore_start = \"never\"\n"
           "[faults]\nmax_restarts = 0\nlost_after = 10\nlease = 10\nlog_mib = 64\n";
    auto running = start({"submit", "run.toml"});
    auto const ended = running.wait(seconds + 4 * tests::kPatience_s);
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << logs();
    EXPECT_EQ(events<protocol::LaunchOrdered>().size(), 1u);
    EXPECT_EQ(events<protocol::NodeLost>().size(), 0u);
    std::map<std::string, int> kinds;
    for (auto const& each : events<protocol::RunNotice>()) ++kinds[each.kind];
    EXPECT_EQ(kinds["steps_left_out"], 2) << "once a node";
}

}  // namespace
}  // namespace osora::cluster
