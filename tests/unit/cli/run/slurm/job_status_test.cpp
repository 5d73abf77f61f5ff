#include "cli/run/slurm/job_status.hpp"

#include "cli/text/wall_time.hpp"
#include "tests/kit/temp_folder.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace osora::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kNow_s = 1'795'000'000;

RunningJob job_silent_for(std::int64_t seconds) {
    return {.run = 7, .job_id = 101, .last_record_s = kNow_s - seconds, .now_s = kNow_s};
}

TEST(RunningJobText, ARunThatRecordsIsFollowed) {
    EXPECT_EQ(silent_job_text(job_silent_for(20)), "");
    EXPECT_EQ(running_job_text(job_silent_for(20)),
              "run 7 is active in job 101; osora watch 7 follows it");
    auto starting = job_silent_for(0);
    starting.last_record_s = 0;
    EXPECT_EQ(running_job_text(starting), "run 7 is active in job 101; osora watch 7 follows it");
}

TEST(RunningJobText, ARunWithoutControllerIsNotCalledActive) {
    auto job = job_silent_for(20);
    job.controller_gone = true;
    auto const since = "since " + clock_time(kNow_s - 20);
    EXPECT_EQ(running_job_text(job),
              "run 7: job 101 runs, but its controller is gone, and nothing was recorded " + since +
                  "; osora watch 7 shows whether the job starts another; scancel 101 ends the "
                  "job, then osora resume 7 continues");
}

TEST(RunningJobText, LongSilenceIsSaid) {
    auto job = job_silent_for(2000);
    job.cluster = "gpu2";
    auto const text = running_job_text(job);
    EXPECT_THAT(text, Not(HasSubstr("active")));
    EXPECT_THAT(text, HasSubstr("but nothing was recorded since " + clock_time(kNow_s - 2000) +
                                ": its controller may be gone; osora watch 7"));
    EXPECT_THAT(text, HasSubstr("scancel -M gpu2 101 ends the job"));
}

TEST(StartingJobText, NamesTheJobOfARunThatIsOver) {
    RunningJob job{.run = 7, .job_id = 102};
    job.cluster = "north";
    EXPECT_EQ(starting_job_text(job),
              "run 7 goes on in job 102, which runs and has no controller yet; osora watch 7 "
              "follows it, scancel -M north 102 ends the job");
}

TEST(AwaitsNextJob, OnlyOfARunThatAJobMayContinue) {
    tests::TempFolder const folder;
    RunFolder run;
    run.paths.dir = folder.path();
    auto const now = std::filesystem::file_time_type::clock::now();
    auto const write = [now](std::filesystem::path const& file, int ago_s) {
        std::ofstream(file) << "{}";
        std::filesystem::last_write_time(file, now - std::chrono::seconds(ago_s));
    };
    write(run.paths.journal(), 20);
    write(run.paths.slurm_job(), 10);
    protocol::RunView view;
    EXPECT_FALSE(awaits_next_job(run, view)) << "it is not over";
    view.status.state = protocol::RunState::done;
    view.status.verdict = protocol::Verdict::cancelled;
    EXPECT_TRUE(awaits_next_job(run, view));
    view.status.verdict = protocol::Verdict::ok;
    EXPECT_FALSE(awaits_next_job(run, view)) << "its record was written late, or copied";
    view.status.verdict = protocol::Verdict::cancelled;
    run.imported = true;
    EXPECT_FALSE(awaits_next_job(run, view)) << "an import writes the journal first";
    run.imported = false;
    write(run.paths.journal(), 5);
    EXPECT_FALSE(awaits_next_job(run, view)) << "a controller of that job has begun";
}

TEST(StillStoppingText, AfterNowComesTheJobItself) {
    RunningJob job{.run = 7, .job_id = 101};
    EXPECT_EQ(still_stopping_text(job, 90, /*now=*/false),
              "run 7 is still stopping; osora cancel 7 --now");
    EXPECT_EQ(still_stopping_text(job, 90, /*now=*/true),
              "run 7 did not stop within 90.0 s: its controller may be gone; scancel 101 ends its "
              "job 101");
    job.job_id = 0;
    EXPECT_EQ(still_stopping_text(job, 90, /*now=*/true),
              "run 7 did not stop within 90.0 s; osora status 7 shows what it does");
}

}  // namespace
}  // namespace osora::cli
