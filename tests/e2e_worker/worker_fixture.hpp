// Runs real osora-worker processes on clips made by the ffmpeg CLI, without an agent: metrics come
// as JSON lines on stdout. Every process that a test starts is killed with it.
#pragma once

#include "plan/worker_job.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace osora::tests {

struct WorkerRun {
    int exit_code = -1;  // -signal when killed
    std::vector<boost::json::object> messages;
    std::chrono::steady_clock::time_point ended;  // of its output

    /// Messages of one type, in order.
    [[nodiscard]] std::vector<boost::json::object> of(std::string_view type) const;
    /// `key` of every "step" message.
    [[nodiscard]] std::vector<double> steps(std::string_view key) const;
};

class WorkerTest : public testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;

    /// Clip `name` of 12 frames, `size` like "64x64", different content for each `seed`.
    void make_clip(std::string const& name, std::string const& size, int seed);
    /// clips.csv of `count` such clips, "clip 0.mp4" and so on; `size_of` gives each its size.
    void make_clips(int count, std::function<std::string(int)> const& size_of);
    /// clips.csv with these paths; all other columns are left to the loader.
    void write_manifest(std::vector<std::string> const& paths);
    /// A job for `ranks` ranks on clips.csv: an image and two video buckets.
    [[nodiscard]] plan::WorkerJob job(int ranks, int steps) const;
    /// Runs one process per rank to its end; `stop_when` (asked after each line of rank 0) kills
    /// all of them.
    [[nodiscard]] std::vector<WorkerRun> run(
        plan::WorkerJob const& job, int ranks,
        std::function<bool(boost::json::object const&)> stop_when = {});

    std::filesystem::path folder_;
    std::vector<int> pids_;  // of the ranks that run
    int stopped_rank_ = -1;  // is killed when all others have ended
    /// A separate job for each rank; none: all have that of run().
    std::function<plan::WorkerJob(int rank)> job_of_rank_;
};

}  // namespace osora::tests
