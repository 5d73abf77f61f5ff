// Full disks: measurements get lost, decisions and the run do not.
#include "tests/cluster/faults/matrix.hpp"

#include <csignal>

namespace osora::cluster {
namespace {

using namespace protocol;

/// All of the run's files go there: journal, logs, checkpoints, the history.
void fill_disk(Bed& bed, FaultyRun&) {
    bed.control({"disk", "full"});
}

void fill_disk_and_kill_rank(Bed& bed, FaultyRun& run) {
    fill_disk(bed, run);
    run.signal_rank(3, SIGKILL);
}

void lost_metrics_and_checkpoints(FaultyRun const& run) {
    no_node_lost(run);
    EXPECT_TRUE(run.events<RankFailed>().empty()) << run.logs();
    std::string seen;
    for (auto const& each : run.events<RunNotice>()) seen += each.kind + ": " + each.detail + "\n";
    EXPECT_THAT(seen, testing::HasSubstr("metrics_lost: "));
    EXPECT_THAT(seen, testing::HasSubstr("checkpoint_failed: "));
    EXPECT_THAT(seen, testing::HasSubstr("No space left on device"));
}

/// Only the logs of workers that start from now on; the death of one rank starts them.
void fill_logs(Bed& bed, FaultyRun& run) {
    auto const logs = bed.small_disk() / ("logs-" + run.backend());
    auto const moved =
        run.on("ctl", {"sh", "-c", "mkdir $0 && cd $1 && mv logs old && ln -s $0 logs",
                       logs.string(), run.run_dir().string()});
    ASSERT_EQ(moved.code, 0) << moved.err;
    bed.control({"disk", "full"});
    run.signal_rank(3, SIGKILL);
}

void only_logs_lost(FaultyRun const& run) {
    no_node_lost(run);
    for (auto const& each : run.events<RankFailed>()) EXPECT_EQ(each.attempt, 0) << each.message;
    EXPECT_EQ(run.events<NodeFinished>().size(), 3u - (run.backend() == "local" ? 2 : 0));
}

FaultSpec talkative() {
    FaultSpec spec;
    spec.env["OSORA_MOCK_PRINT"] = "1";
    return spec;
}

FaultSpec on_small_disk() {
    FaultSpec spec = talkative();
    spec.small_disk = true;
    spec.steps = 1200;  // their measurements exceed the rest of the journal's last page
    return spec;
}

}  // namespace

std::vector<FaultRow> disk_rows() {
    std::vector<std::string> const all{"local", "ssh", "slurm"};
    return {
        {.name = "run_folder_full",
         .backends = {"ssh"},
         .gate = true,
         .spec = on_small_disk(),
         .inject = fill_disk,
         .check = lost_metrics_and_checkpoints},
        {.name = "run_folder_full",
         .backends = {"local", "slurm"},
         .spec = on_small_disk(),
         .inject = fill_disk,
         .check = lost_metrics_and_checkpoints},
        {.name = "rank_sigkill_on_full_disk",
         .backends = all,
         .spec = on_small_disk(),
         .inject = fill_disk_and_kill_rank,
         .launches = 2,
         .check = no_node_lost},
        {.name = "log_folder_full",
         .backends = all,
         .spec = talkative(),
         .inject = fill_logs,
         .launches = 2,
         .check = only_logs_lost},
    };
}

}  // namespace osora::cluster
