// A clip on which FFmpeg crashes in a real osora-worker: what is left of the process, and what the
// next attempt makes of it.
#include "base/environment.hpp"
#include "base/files/files.hpp"
#include "tests/e2e_worker/worker_fixture.hpp"
#include "tests/kit/program.hpp"
#include "worker/data/crashed_clips.hpp"
#include "worker/data/manifest.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

namespace osora::tests {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class CrashedClip : public WorkerTest {
protected:
    void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        GTEST_SKIP() << "a sanitizer's library must be the first";
#endif
        WorkerTest::SetUp();
        make_clips(3, [](int) { return "64x64"; });
        make_clip("crash.mp4", "64x64", 7);
        rlimit const no_core{.rlim_cur = 0, .rlim_max = 0};
        setrlimit(RLIMIT_CORE, &no_core);
    }
    /// Two steps of one clip each, decoded by the thread that trains.
    [[nodiscard]] plan::WorkerJob one_clip_a_step() const {
        auto made = job(1, 2);
        made.config.bucket = {
            {.resolution = "32", .num_frames = 8, .keep_prob = 1, .micro_batch_size = {}}};
        auto& layout = made.plan.chosen;
        layout.num_workers = 0;
        layout.buckets.resize(1);
        layout.buckets[0].micro_batch_size = 1;
        layout.buckets[0].global_batch_size = 1;
        return made;
    }
    /// A rank in which FFmpeg crashes when it decodes `clip`.
    [[nodiscard]] WorkerRun run_with_crash(plan::WorkerJob const& job, std::string const& clip) {
        setenv("LD_PRELOAD", OSORA_CRASH_PRELOAD, 1);
        setenv("CRASHING_CLIP", clip.c_str(), 1);
        auto const ended = run(job, 1)[0];
        unsetenv("LD_PRELOAD");
        unsetenv("CRASHING_CLIP");
        return ended;
    }
    static std::string said_by(WorkerRun const& run) {
        std::string said;
        for (auto const& notice : run.of("notice")) {
            said += notice.at("kind").as_string().c_str();
            said += " " + std::string(notice.at("detail").as_string()) + "\n";
        }
        return said;
    }
    [[nodiscard]] worker::CrashedClips crashed() const {
        return worker::read_crashed_clips(folder_ / "run dir");
    }
};

/// In an evaluation, which names a clip that is missing and one with fewer frames than listed.
TEST_F(CrashedClip, EndsTheRankAndIsLeftOutAfterwards) {
    std::ofstream(folder_ / "held out.csv") << "path,text,num_frames,height,width,fps\n"
                                               "clip 0.mp4,,2000,64,64,12\n"
                                               "crash.mp4,,12,64,64,12\n"
                                               "none.mp4,,,,,\n";
    auto job = one_clip_a_step();
    job.config.data.eval_manifest = "held out.csv";
    job.config.eval.every = 1;
    job.config.eval.samples = 2;
    auto const ended = run_with_crash(job, "/crash.mp4");
    EXPECT_EQ(ended.exit_code, -SIGSEGV);
    EXPECT_EQ(ended.of("step").size(), 1u);
    EXPECT_THAT(said_by(ended), HasSubstr("clip_skipped held out.csv:4: "));
    EXPECT_THAT(said_by(ended), HasSubstr("clip_repaired " + (folder_ / "clip 0.mp4").string() +
                                          ": listed with 2000 frames, has 12; "));
    std::string const path = (folder_ / "crash.mp4").string();
    auto const note = read_file(worker::crash_file_of(folder_ / "run dir", 0, 0));
    ASSERT_TRUE(note.has_value()) << note.error().message;
    EXPECT_EQ(*note, "11 f " + path + std::string(1, '\0'));
    auto const list = worker::read_manifest(folder_ / "held out.csv", {.crashed = crashed()});
    ASSERT_TRUE(list.has_value()) << list.error().message;
    ASSERT_EQ(list->clips.size(), 2u);
    EXPECT_FALSE(list->clips[0].crashed);
    EXPECT_TRUE(list->clips[1].crashed);
}

class CrashedClipRelaunch : public CrashedClip {};

/// Each attempt in which one more clip crashes leaves out one more, and the last one ends.
TEST_F(CrashedClipRelaunch, GoesOnWithoutTheClips) {
    auto job = one_clip_a_step();
    job.config.train.steps = 12;
    job.plan.chosen.num_workers = 2;
    EXPECT_EQ(run_with_crash(job, "/clip 1.mp4").exit_code, -SIGSEGV);
    EXPECT_TRUE(crashed().contains((folder_ / "clip 1.mp4").string()));
    EXPECT_EQ(run_with_crash(job, "/clip 2.mp4").exit_code, -SIGSEGV);
    EXPECT_TRUE(crashed().contains((folder_ / "clip 2.mp4").string()));
    auto const last = run_with_crash(job, "/clip 2.mp4");
    EXPECT_EQ(last.exit_code, 0);
    EXPECT_EQ(last.of("step").size(), 12u);
    EXPECT_THAT(said_by(last), HasSubstr("clip 1.mp4: FFmpeg crashed on it"));
    EXPECT_THAT(said_by(last), HasSubstr("clip 2.mp4: FFmpeg crashed on it"));
}

TEST_F(CrashedClipRelaunch, CalibrationNamesTheClip) {
    auto environment = current_environment();
    set_variable(environment, "LD_PRELOAD", OSORA_CRASH_PRELOAD);
    set_variable(environment, "CRASHING_CLIP", "/clip 0.mp4");
    auto program = start_program({.program = OSORA_BIN_DIR "/osora-worker",
                                  .arguments = {"--calibrate", (folder_ / "clips.csv").string()},
                                  .environment = environment},
                                 folder_ / "calibrate");
    ASSERT_TRUE(program.has_value()) << program.error().message;
    auto const ended = program->wait();
    EXPECT_EQ(ended.code, 128 + SIGSEGV);
    EXPECT_THAT(ended.err, HasSubstr("signal 11 while FFmpeg had this clip in hand: " +
                                     (folder_ / "clip 0.mp4").string()));
}

}  // namespace
}  // namespace osora::tests
