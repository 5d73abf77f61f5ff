// The good paths: a run through the queue, and one inside an allocation.
#include "tests/cluster_slurm/slurm_fixture.hpp"

#include <fstream>
#include <set>

namespace osora::cluster {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class SlurmSubmit : public SlurmTest {};

TEST_F(SlurmSubmit, FourNodesThroughTheQueue) {
    write_run_file({.nodes = 4, .ranks = 8});
    auto const dry = osora({"submit", "run.toml", "--dry-run"});
    EXPECT_EQ(dry.code, 0) << dry.err;
    EXPECT_THAT(dry.out, HasSubstr("ranks    0-31: 4 nodes x 8"));
    EXPECT_THAT(dry.out, HasSubstr("cost     at most 5.3 GPU-h"));
    EXPECT_THAT(dry.out, HasSubstr("start    estimated "));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "state" / "runs"));

    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << logs();
    EXPECT_THAT(ended.out, HasSubstr("slurm: 4 nodes x 8 = 32 ranks"));
    EXPECT_THAT(ended.out, HasSubstr("slurm    job "));
    EXPECT_THAT(ended.out, HasSubstr("\nlaunch   32 ranks in "));
    EXPECT_THAT(ended.out, HasSubstr("\ndone     40 steps in "));
    // The submitted script is the one that --dry-run showed.
    auto const script = content_of(run_dir() / "job.sh");
    EXPECT_THAT(script, HasSubstr("#SBATCH --nodes=4\n"));
    EXPECT_THAT(dry.out, HasSubstr("given to sbatch:\n\n" + script + "\n"));

    auto const joined = events<protocol::AgentJoined>();
    ASSERT_THAT(joined, SizeIs(4));
    std::set<std::string> hosts;
    for (auto const& each : joined) hosts.insert(each.host);
    EXPECT_THAT(hosts, SizeIs(4));
    EXPECT_THAT(events<protocol::RankStarted>(), SizeIs(32));
    EXPECT_TRUE(nothing_left());
    auto const environment_is_gone = [this] {
        return !std::filesystem::exists(run_dir() / "environment");
    };
    EXPECT_TRUE(tests::eventually(environment_is_gone)) << "the submitter's variables remain";
}

TEST_F(SlurmSubmit, InsideAnAllocationNothingIsQueued) {
    write_run_file({.nodes = 4, .ranks = 2});
    auto const ended = bed().run("ctl",
                                 {"env", "-C", folder_.string(), "salloc", "--quiet", "--nodes=4",
                                  "--exclusive", OSORA_BIN_DIR "/osora", "submit", "run.toml"},
                                 2 * tests::kPatience_s);
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << logs();
    EXPECT_THAT(ended.out, HasSubstr("\nlaunch   8 ranks in "));
    EXPECT_FALSE(std::filesystem::exists(run_dir() / "job.sh"));
    EXPECT_TRUE(nothing_left());
    auto const small =
        bed().run("ctl", {"env", "-C", folder_.string(), "salloc", "--quiet", "--nodes=2",
                          "--exclusive", OSORA_BIN_DIR "/osora", "submit", "run.toml"});
    EXPECT_NE(small.code, 0);
    EXPECT_THAT(small.out + small.err, HasSubstr("the run needs 4"));
}

TEST_F(SlurmSubmit, AUsersOwnBatchScriptNeedsOneLine) {
    write_run_file({.nodes = 2, .ranks = 2});
    std::ofstream(folder_ / "mine.sh") << "#!/bin/bash\n" OSORA_BIN_DIR "/osora submit run.toml\n";
    auto const ended =
        bed().run("ctl",
                  {"sbatch", "--wait", "--nodes=2", "--exclusive", "--output=mine.log",
                   "--chdir=" + folder_.string(), (folder_ / "mine.sh").string()},
                  2 * tests::kPatience_s);
    EXPECT_EQ(ended.code, 0) << ended.err << content_of(folder_ / "mine.log");
    EXPECT_THAT(content_of(folder_ / "mine.log"), HasSubstr("\ndone     40 steps in "));
}

}  // namespace
}  // namespace osora::cluster
