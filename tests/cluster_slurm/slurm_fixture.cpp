#include "tests/cluster_slurm/slurm_fixture.hpp"

#include <fmt/format.h>

#include <fstream>

namespace osora::cluster {

void SlurmTest::TearDown() {
    if (!IsSkipped() && !HasFatalFailure()) {
        (void)bed().run("ctl", {"scancel", "--user=root", "--full"});
        auto const queue_empty = [] { return bed().run("ctl", {"squeue", "-h"}).out.empty(); };
        EXPECT_TRUE(eventually(queue_empty)) << bed().run("ctl", {"squeue"}).out;
    }
    BedTest::TearDown();
}

void SlurmTest::write_run_file(RunFile const& run) const {
    std::string const held =
        run.hold_at < 0
            ? ""
            : fmt::format("[worker]\nenv = {{ OSORA_MOCK_HOLD = \"{}\" }}\n", run.hold_at);
    std::ofstream(folder_ / "run.toml") << fmt::format(
        "[run]\nname = \"demo\"\n"
        "[resources]\nbackend = \"slurm\"\nnodes = {}\ngpus_per_node = {}\n"
        "time_limit = \"00:10:00\"\n{}"
        "[data]\nmanifest = \"clips.csv\"\nhost_memory_gib = 1\n"
        "[[bucket]]\nresolution = \"32\"\nnum_frames = 4\n"
        "[batch]\nglobal_batch_size = {}\n"
        "[train]\nsteps = {}\n[probe]\nbefore_start = \"never\"\n"
        "[checkpoint]\nevery = 10\n[faults]\nlost_after = {}\n{}{}",
        run.nodes, run.ranks, run.extra, run.nodes * run.ranks, run.steps, run.lost_after_s, held,
        run.more);
}

}  // namespace osora::cluster
