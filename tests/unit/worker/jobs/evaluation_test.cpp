// Evaluations that are left out: by ranks that meet in each pass, and for clips that cannot be
// read. Ranks are threads, and an objective says what does not fit.
#include "worker/jobs/evaluation.hpp"

#include "tests/unit/worker/data/clips.hpp"
#include "tests/unit/worker/parallel/ranks.hpp"
#include "worker/data/frames/decoder.hpp"

#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>

namespace osora::worker {
namespace {

/// The mean of a pass, which has room for `most` samples.
class MeanOfPass final : public Objective {
public:
    explicit MeanOfPass(std::size_t most)
        : parameters_(at::TensorOptions(at::kFloat)), most_(most) {
        at::NoGradGuard const no_grad;
        parameters_.add("w", {64}).fill_(1);  // a part for each rank
    }
    Parameters& parameters() override { return parameters_; }
    at::Tensor loss(MicroBatch const& batch) override {
        if (batch.samples.size() > most_) C10_THROW_ERROR(OutOfMemoryError, "no room");
        return batch.x.mean();
    }

private:
    Parameters parameters_;
    std::size_t most_;
};

class LeftOut : public testing::Test {
protected:
    void SetUp() override { silence_ffmpeg(); }

    /// held.csv, and four clips in it.
    void make_clips() {
        ASSERT_TRUE(make_clip(folder_.file("0.mp4"), "64x64", 0.4, {"-c:v", "libx264"}));
        std::string list = "path,text\n0.mp4,\n";
        for (std::string const name : {"1.mp4", "2.mp4", "3.mp4"}) {
            std::filesystem::copy_file(folder_.file("0.mp4"), folder_.file(name));
            list += name + ",\n";
        }
        write_all(folder_.file("held.csv"), list);
    }
    [[nodiscard]] plan::WorkerJob job(int ranks, int micro_batch_size) const {
        plan::WorkerJob job;
        job.base_dir = folder_.path().string();
        job.config.model.arch = "stdit3-tiny";
        job.config.model.hidden = 48;
        job.config.data.eval_manifest = "held.csv";
        job.config.data.host_memory_gib = 1;
        job.config.eval.samples = 4;
        job.config.train.steps = 100;
        job.config.bucket = {
            {.resolution = "48", .num_frames = 5, .keep_prob = 1, .micro_batch_size = {}}};
        plan::BucketPlan bucket;
        bucket.resolution = "48";
        bucket.num_frames = 5;
        bucket.micro_batch_size = micro_batch_size;
        bucket.global_batch_size = 4;
        job.plan.chosen.buckets = {bucket};
        job.plan.chosen.dp_size = ranks;
        job.plan.chosen.zero_stage = 3;  // of several ranks, which then meet in each pass
        return job;
    }

    TempFolder folder_;
};

TEST_F(LeftOut, RanksThatMeetStopTogether) {
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    make_clips();
    auto const two = job(2, 1);
    std::array<int, 2> left_out{-1, -1};
    run_ranks(2, [&](Group const& group) {
        at::set_num_threads(1);
        TrainRanks ranks;
        ranks.all = group;
        ranks.dp_size = 2;
        ranks.dp_rank = group.rank();
        Trainer trainer(two, std::make_unique<MeanOfPass>(100), ranks);
        ASSERT_TRUE(trainer.meets_peers());
        auto const opened = Evaluation::open(two, ranks, 0, {}, [] {});
        ASSERT_TRUE(opened.has_value()) << opened.error().message;
        int asked = 0;
        Evaluation::Calls calls;
        calls.stops = [&] { return group.rank() == 0 && ++asked == 2; };
        auto const outcome = (*opened)->run(trainer, calls);
        ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
        EXPECT_EQ(outcome->samples, 0);
        EXPECT_TRUE(outcome->why.empty());
        left_out[static_cast<std::size_t>(group.rank())] = outcome->left_out;
    });
    EXPECT_EQ(left_out, (std::array{2, 2}));
}

/// The others wait in the pass, so it cannot be left out: the key that helps is named.
TEST_F(LeftOut, RanksThatMeetSayWhatNeedsLessMemory) {
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    make_clips();
    auto const two = job(2, 2);
    run_ranks(2, [&](Group const& group) {
        at::set_num_threads(1);
        TrainRanks ranks;
        ranks.all = group;
        ranks.dp_size = 2;
        ranks.dp_rank = group.rank();
        Trainer trainer(two, std::make_unique<MeanOfPass>(0), ranks);
        auto const opened = Evaluation::open(two, ranks, 0, {}, [] {});
        ASSERT_TRUE(opened.has_value()) << opened.error().message;
        auto const outcome = (*opened)->run(trainer, {});
        ASSERT_TRUE(outcome.has_error());
        EXPECT_EQ(outcome.error().code, Errc::out_of_memory);
        std::string const& said = outcome.error().message;
        EXPECT_EQ(said.find("evaluation: bucket 48x48x5, 2 clips in a pass: "), 0u) << said;
        EXPECT_NE(said.find("no room; lower micro_batch_size of this [[bucket]], or leave "
                            "data.eval_manifest out"),
                  std::string::npos)
            << said;
    });
}

TEST_F(LeftOut, ClipsThatCannotBeReadAreNamedOnce) {
    write_all(folder_.file("damaged.mp4"), "no video");
    write_all(folder_.file("held.csv"),
              "path,text,num_frames,height,width,fps\ndamaged.mp4,,12,64,64,12\n");
    auto const one = job(1, 1);
    Trainer trainer(one, std::make_unique<MeanOfPass>(100), {});
    auto const opened = Evaluation::open(one, TrainRanks(), 0, {}, [] {});
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    auto const first = (*opened)->run(trainer, {}), second = (*opened)->run(trainer, {});
    ASSERT_TRUE(first.has_value()) << first.error().message;
    ASSERT_TRUE(second.has_value()) << second.error().message;
    EXPECT_EQ(first->left_out, 1);
    EXPECT_EQ(second->left_out, 1);
    EXPECT_EQ(first->why.find("data.eval_manifest: "), 0u) << first->why;
    EXPECT_NE(first->why.find("could be decoded"), std::string::npos) << first->why;
    EXPECT_TRUE(second->why.empty()) << second->why;
}

/// An exception would end the rank as a defect of LibTorch does.
TEST_F(LeftOut, AListThatCannotBeReadIsNamed) {
    std::filesystem::create_symlink("held.csv", folder_.file("held.csv"));  // nobody can follow it
    auto const opened = Evaluation::open(job(1, 1), TrainRanks(), 0, {}, [] {});
    ASSERT_TRUE(opened.has_error());
    EXPECT_EQ(opened.error().code, Errc::io);
    std::string const& said = opened.error().message;
    EXPECT_EQ(said.find("data.eval_manifest: "), 0u) << said;
    EXPECT_NE(said.find(folder_.file("held.csv")), std::string::npos) << said;
}

/// The wait of each evaluation would be lost for the training.
TEST_F(LeftOut, AFileSystemThatStaysAwayIsWaitedForOnce) {
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    std::string const clip = folder_.file("0.mp4"), away = folder_.file("away.mp4");
    ASSERT_TRUE(make_clip(clip, "64x64", 0.4, {"-c:v", "libx264"}));
    write_all(folder_.file("held.csv"),
              "path,text,num_frames,height,width,fps\n0.mp4,,10,64,64,25\n");
    auto one = job(1, 1);
    one.plan.chosen.zero_stage = 0;
    one.config.faults.collective_timeout = 0.2;  // half of it is waited
    Trainer trainer(one, std::make_unique<MeanOfPass>(100), {});
    auto const opened = Evaluation::open(one, TrainRanks(), 0, {}, [] {});
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    int waits = 0;
    Evaluation::Calls calls;
    calls.on_slow_clip = [&](std::string const&) { ++waits; };
    auto const waits_of = [&](bool is_away) {
        waits = 0;
        std::filesystem::rename(is_away ? clip : away, is_away ? away : clip);
        auto const outcome = (*opened)->run(trainer, calls);
        EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
        EXPECT_EQ(outcome->samples, is_away ? 0 : 1);
        return waits;
    };
    EXPECT_GT(waits_of(true), 0);
    waits = 0;
    auto const again = (*opened)->run(trainer, calls);
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(again->left_out, 1);
    EXPECT_EQ(waits, 0);
    EXPECT_EQ(waits_of(false), 0);
    EXPECT_GT(waits_of(true), 0);  // it may be another outage
}

}  // namespace
}  // namespace osora::worker
