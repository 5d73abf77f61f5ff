// Runs with figures that can be worked out by hand, as journals: two buckets, a step time for each,
// shares of it for the phases, and what may go wrong.
#pragma once

#include "db/analysis/report/run_report.hpp"
#include "db/analysis/report/series_report.hpp"
#include "db/store/queries.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace osora::cli::test {

struct DemoRun {
    int number = 41;
    std::string series = "demo";
    std::string arch = "stdit3-tiny";
    std::string job = "train";
    int nodes = 1, ranks_per_node = 1;
    int threads = 1, loaders = 1, cpus = 4;
    double gflop_per_pixel = 0;  // of a frame's; 0: the plan does not say
    std::string device = "cpu";
    int steps = 120;
    std::vector<int> global_batch{16, 4};  // of the image bucket, of the video bucket
    double image_s = 0.3, video_s = 0.5;   // every third step is an image step
    double predicted_s = 0.42, error = 0.25;
    double comm_share = 0, wait_share = 0, data_share = 0.02;
    double slowest = 0;  // work of the slowest rank over the mean; 0: ranks do not report it
    double loss_first = 0.9, loss_last = 0.3;  // falls in a straight line
    int killed_at = -1;  // the last rank is killed there, after a checkpoint at checkpoint_at
    int checkpoint_at = 100;
    bool asked = false;  // a user asked for the relaunch, nothing was killed
    int skipped_clips = 0;
    std::vector<std::pair<int, double>> evaluations = {};  // step, loss; reported at the end
    bool ended = true;
    protocol::RunEnded end{protocol::Verdict::ok, 0, ""};
};

[[nodiscard]] db::test::Records records_of(DemoRun const& run);

/// A history in memory with these runs. Folders are gone afterwards; controllers are dead.
[[nodiscard]] std::unique_ptr<db::Store> history_of(std::vector<DemoRun> const& runs);

/// The report of one of them.
[[nodiscard]] db::analysis::RunReport report_of(DemoRun const& run);
[[nodiscard]] db::analysis::SeriesReport series_of(std::vector<DemoRun> const& runs,
                                                   std::string const& name = "demo");

/// Killed at step 110, with waits and skipped clips.
[[nodiscard]] DemoRun relaunched();

/// `count` times `factor`, then `more`.
[[nodiscard]] std::vector<double> repeated(int count, double factor, std::vector<double> more = {});

/// No line is wider than a terminal of 80 columns.
void expect_narrow(std::string const& text);

}  // namespace osora::cli::test
