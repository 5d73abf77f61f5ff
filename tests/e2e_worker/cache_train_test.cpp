// Training from a cache, and evaluation on held-out clips, as processes.
#include "tests/e2e_worker/cache_fixture.hpp"
#include "worker/cache/latent_cache.hpp"
#include "worker/cache/text_cache.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/jobs/encode/encode_latents.hpp"
#include "worker/jobs/evaluation.hpp"
#include "worker/jobs/objectives.hpp"
#include "worker/jobs/step_source.hpp"
#include "worker/jobs/train_data.hpp"
#include "worker/jobs/vae_of_job.hpp"
#include "worker/train/trainer.hpp"
#include "worker/train/video_tensor.hpp"

#include <ATen/ops/cat.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace osora::tests {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class CachedTraining : public CacheTest {
protected:
    void SetUp() override {
        CacheTest::SetUp();
        encode();
    }
    std::vector<double> losses_of(plan::WorkerJob const& job, int ranks) {
        fs::remove_all(folder_ / "run dir" / "checkpoints");
        auto const ended = run(job, ranks);
        for (auto const& rank : ended) EXPECT_EQ(rank.exit_code, 0) << last_output_lines(rank);
        std::vector<double> losses(static_cast<std::size_t>(job.config.train.steps));
        for (std::size_t step = 0; step < losses.size(); ++step) {
            for (auto const& rank : ended) losses[step] += rank.steps("loss").at(step) / ranks;
        }
        return losses;
    }
    /// The same job on clips instead of latents, in one small bucket.
    static plan::WorkerJob on_pixels(plan::WorkerJob job) {
        job.config.data.latents = "";
        job.config.data.manifest = "clips.csv";
        job.config.model.in_channels = 3;
        job.config.model.patch_size = 0;
        job.config.bucket = {job.config.bucket[1]};
        job.plan.chosen.buckets = {job.plan.chosen.buckets[1]};
        return job;
    }
    std::string refusal(plan::WorkerJob const& job, int exit_code) {
        auto const refused = run(job, 1)[0];
        EXPECT_EQ(refused.exit_code, exit_code);
        return last_output_lines(refused);
    }
};

double relative_difference(double a, double b) {
    return std::abs(a - b) / std::abs(b);
}

// The same samples through the autoencoder itself, step by step, in this process.
TEST_F(CachedTraining, EqualsTrainingOnLatentsComputedDirectly) {
    auto job = train_job(1, 4);
    job.config.data.sample_latents = false;
    auto const cached = losses_of(job, 1);

    auto const data = worker::open_train_data(job);
    ASSERT_TRUE(data.has_value()) << data.error().message;
    auto const manifest = worker::read_manifest(folder_ / "clips.csv");
    worker::Notices changed;
    auto const vae = worker::make_vae(encode_job(1), {}, changed);
    auto const index = index_of();
    worker::LatentCache cache(folder_ / "cache", index);
    worker::TextCache texts(folder_ / "cache", index);
    worker::Notices notices;
    auto objective = worker::make_objective(job, {}, {}, notices);
    ASSERT_TRUE(objective.has_value()) << objective.error().message;
    worker::Trainer trainer(job, std::move(*objective), {});
    for (int step = 0; step < 4; ++step) {
        auto const refs = (*data)->schedule->rank_samples(static_cast<std::uint64_t>(step), 0, 1);
        auto const& key = (*data)->schedule->buckets()[refs[0].bucket].key;
        worker::StepInput input;
        input.step = step;
        input.samples = static_cast<std::int64_t>(refs.size());
        input.frames = key.num_frames;
        input.height = key.height;
        input.width = key.width;
        input.micro_batch_size = input.global_samples = input.samples;
        std::vector<at::Tensor> latents;
        std::vector<std::int64_t> hashes;
        for (auto const& ref : refs) {
            auto const row = cache.read(ref.clip)->row;
            auto const start = cache.read(ref.clip)->start_frame;
            auto const& clip = *std::ranges::find(manifest->clips, row, &worker::Clip::line);
            std::vector<std::uint8_t> pixels(
                static_cast<std::size_t>(3 * key.num_frames * key.height * key.width));
            ASSERT_TRUE(worker::ClipDecoder()
                            .decode(clip.path,
                                    {.start = start, .stride = 1, .num_frames = key.num_frames},
                                    {.height = key.height, .width = key.width}, pixels)
                            .has_value());
            auto const x =
                worker::video_tensor(pixels, {1, key.num_frames, key.height, key.width}, at::kCPU);
            latents.push_back(worker::posterior_of(*vae, x).mean);
            hashes.push_back(protocol::caption_hash(clip.text));
            input.identities.push_back({.id = ref.random,
                                        .epoch = ref.epoch,
                                        .fps = key.num_frames == 1 ? 120 : clip.fps});
        }
        input.latents = at::cat(latents);
        auto const text = texts.batch(hashes, 64);
        ASSERT_TRUE(text.has_value()) << text.error().message;
        input.text = text->text;
        input.text_mask = text->mask;
        auto const output = trainer.step(input);
        ASSERT_TRUE(output.has_value()) << output.error().message;
        EXPECT_LE(relative_difference(cached[static_cast<std::size_t>(step)], output->loss), 1e-6)
            << step;
    }
}

TEST_F(CachedTraining, IsTheSameOnOneAndTwoRanksAndWithOrWithoutPrefetch) {
    auto const one = losses_of(train_job(1, 6), 1);
    auto ahead = train_job(1, 6);
    ahead.plan.chosen.prefetch_factor = 5;
    EXPECT_EQ(losses_of(ahead, 1), one);
    auto const two = losses_of(train_job(2, 6), 2);
    for (std::size_t step = 0; step < one.size(); ++step)
        EXPECT_LE(relative_difference(two[step], one[step]), step == 0 ? 1e-5 : 2e-3) << step;
    // The posterior is sampled: its mean gives other losses, and captions matter, too.
    auto mean = train_job(1, 6);
    mean.config.data.sample_latents = false;
    EXPECT_NE(losses_of(mean, 1), one);
    auto null = train_job(1, 6);
    null.config.text.embeddings = "";
    EXPECT_NE(losses_of(null, 1), one);
}

TEST_F(CachedTraining, ResumesBitExactly) {
    auto const whole = losses_of(train_job(1, 8), 1);
    fs::remove_all(folder_ / "run dir" / "checkpoints");
    ASSERT_EQ(run(train_job(1, 5), 1)[0].exit_code, 0);
    auto const resumed = run(train_job(1, 8), 1)[0];
    ASSERT_EQ(resumed.exit_code, 0) << last_output_lines(resumed);
    EXPECT_EQ(resumed.steps("loss"), std::vector(whole.begin() + 5, whole.end()));
    // What samples are made with.
    auto const state =
        worker::load_checkpoint_state(folder_ / "run dir" / "checkpoints" / "step-00000008");
    ASSERT_TRUE(state.has_value()) << state.error().message;
    EXPECT_EQ(state->trained_on.fps, 12);
    // Another cache is other data.
    auto other = encode_job(1, "bf16");
    other.config.encode.dtype = "bf16";
    ASSERT_EQ(run(other, 1)[0].exit_code, 0);
    EXPECT_THAT(refusal(train_job(1, 9, "bf16"), 14), HasSubstr("hash of clips"));
    // Half the bytes, nearly the same training.
    auto const rounded = losses_of(train_job(1, 8, "bf16"), 1);
    for (std::size_t step = 0; step < whole.size(); ++step)
        EXPECT_LE(relative_difference(rounded[step], whole[step]), 0.02) << step;
}

TEST_F(CachedTraining, NamesWhatDoesNotFit) {
    auto channels = train_job(1, 1);
    channels.config.model.in_channels = 16;
    EXPECT_THAT(refusal(channels, 14),
                HasSubstr("its latents have 4 channels, stdit3-tiny takes 16"));
    auto width = train_job(1, 1);
    width.config.model.caption_channels = 32;
    EXPECT_THAT(refusal(width, 14), HasSubstr("its embeddings are 16 wide, stdit3-tiny takes 32"));
    auto bucket = train_job(1, 1);
    for (auto& each : bucket.config.bucket) each.resolution = "80";
    EXPECT_THAT(refusal(bucket, 14), HasSubstr("no clip fits any bucket"));
    auto share = train_job(1, 1);
    share.config.bucket[0].keep_prob = 0.4;  // 0.5 in the encode run
    EXPECT_THAT(refusal(share, 14), HasSubstr("data.latents: bucket 64 x 8: clips of the cache "
                                              "have a share of 0.5 in it"));
    EXPECT_THAT(refusal(train_job(1, 1, "nowhere"), 13), HasSubstr("no cache, or its encode run"));
    auto const shard = folder_ / "cache" / "latents" / "000003.safetensors";
    fs::resize_file(shard, fs::file_size(shard) - 1);
    EXPECT_THAT(refusal(train_job(1, 1), 13), HasSubstr("000003.safetensors"));
}

TEST_F(CachedTraining, CaptionsGoWithClipsToo) {
    auto const pixels = on_pixels(train_job(1, 3));
    auto const with = losses_of(pixels, 1);
    auto null = pixels;
    null.config.text.embeddings = "";
    EXPECT_NE(losses_of(null, 1), with);
    captions_[2].second = "a caption that nobody encoded";
    write_captions(captions_);
    EXPECT_THAT(refusal(pixels, 13), HasSubstr("1 of 4 captions are not in it, the first of line"));
    // Nor those of held-out clips, which the first evaluation would miss many steps later.
    fs::copy_file(folder_ / "clips.csv", folder_ / "held.csv");
    captions_[2].second = "";
    write_captions(captions_);
    fs::remove_all(folder_ / "run dir" / "checkpoints");
    auto held_out = pixels;
    held_out.config.data.eval_manifest = "held.csv";
    EXPECT_THAT(refusal(held_out, 13), HasSubstr("data.eval_manifest: text.embeddings: "));
    // A cache of held-out clips has theirs.
    fs::copy(folder_ / "cache", folder_ / "held", fs::copy_options::recursive);
    auto cached = train_job(1, 2);
    cached.config.data.eval_manifest = "held";
    auto const opened = worker::Evaluation::open(cached, worker::TrainRanks(), 0, {}, [] {});
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    EXPECT_EQ((*opened)->data().text->path, folder_ / "held");
}

TEST_F(CachedTraining, MmditNamesCaptionsWithoutPadding) {
    auto padded = encode_job(1, "padded");
    padded.config.text.padded = true;
    padded.config.encode.latents = false;
    ASSERT_EQ(run(padded, 1)[0].exit_code, 0);
    auto const warnings = [&](std::string const& cache, char const* arch) {
        auto job = on_pixels(train_job(1, 1));
        job.config.model.arch = arch;
        job.config.text.embeddings = cache;
        auto const ended = run(job, 1)[0];
        EXPECT_EQ(ended.exit_code, 0) << last_output_lines(ended);
        fs::remove_all(folder_ / "run dir" / "checkpoints");
        auto const notices = ended.of("notice");
        return std::ranges::count_if(notices, [](auto const& notice) {
            return notice.at("kind").as_string() == "text_not_padded";
        });
    };
    EXPECT_EQ(warnings("cache", "mmdit-tiny"), 1);
    EXPECT_EQ(warnings("padded", "mmdit-tiny"), 0);
    EXPECT_EQ(warnings("cache", "stdit3-tiny"), 0);  // it reads the mask
}

// Not those of the longest caption beside it, which depends on the number of ranks.
TEST_F(CachedTraining, MmditReadsTheSameNumberOfRowsOfEachCaption) {
    for (char const* arch : {"stdit3-tiny", "mmdit-tiny"}) {
        SCOPED_TRACE(arch);
        auto job = on_pixels(train_job(1, 1));
        job.config.model.arch = arch;
        auto const data = worker::open_train_data(job);
        ASSERT_TRUE(data.has_value()) << data.error().message;
        auto const source = worker::make_step_source(**data, job, {.stop = 1});
        ASSERT_TRUE(source.has_value()) << source.error().message;
        auto const batch = (*source)->next(0);
        ASSERT_TRUE(batch.has_value()) << batch.error().message;
        at::Tensor const &text = batch->input.text, &mask = batch->input.text_mask;
        auto const longest = mask.sum(1).max().item<std::int64_t>();
        EXPECT_GT(longest, 0);
        EXPECT_LT(longest, job.config.model.text_tokens);
        bool const fills = job.config.model.arch == "mmdit-tiny";
        ASSERT_EQ(text.size(1), fills ? job.config.model.text_tokens : longest);
        EXPECT_EQ(text.narrow(1, longest, text.size(1) - longest).abs().sum().item<double>(), 0);
    }
}

/// The mean brightness of a pass, which has room for `most` samples.
class Brightness final : public worker::Objective {
public:
    explicit Brightness(std::size_t most)
        : parameters_(at::TensorOptions(at::kFloat)), most_(most) {
        at::NoGradGuard const no_grad;
        parameters_.add("w", {1}).fill_(1);
    }
    worker::Parameters& parameters() override { return parameters_; }
    at::Tensor loss(worker::MicroBatch const& batch) override {
        if (batch.samples.size() > most_) C10_THROW_ERROR(OutOfMemoryError, "no room");
        return batch.x.mean();
    }

private:
    worker::Parameters parameters_;
    std::size_t most_;
};

// Both loaders work at a time: evaluation takes what the training's leaves, with fewer clips a step
// if it must, and what cannot be is said before the first step.
TEST_F(CachedTraining, EvaluatesInTheMemoryThatTheTrainingLeaves) {
    auto job = on_pixels(train_job(1, 2));
    job.config.data.eval_manifest = "clips.csv";
    job.config.data.host_memory_gib = 1;
    job.config.eval.samples = 5;
    job.plan.chosen.buckets[0].micro_batch_size = 4;
    std::int64_t const all = std::int64_t{1} << 30;
    auto const opened_with = [&](std::int64_t bytes) {
        return worker::Evaluation::open(job, worker::TrainRanks(), all - bytes, {}, [] {});
    };
    EXPECT_TRUE(opened_with(all).has_value());
    // Two batches of one clip and a decoder; clips are 64 x 64 or 96 x 64.
    auto const clip_bytes = plan::batch_bytes({48, 48, 5}, 1);
    auto const least = plan::decoder_bytes(plan::coded_pixels(64, 96)) + 3 * clip_bytes;
    EXPECT_TRUE(opened_with(least).has_value());
    auto const refused = opened_with(least - 3 * clip_bytes);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, Errc::out_of_memory);
    EXPECT_THAT(refused.error().message,
                HasSubstr("data.eval_manifest: beside the training's loader, "
                          "data.host_memory_gib: loader needs"));

    // On the device: smaller passes, or none and no error.
    auto const outcome_with = [&](std::size_t most) {
        worker::Trainer trainer(job, std::make_unique<Brightness>(most), {});
        return opened_with(all).value()->run(trainer, {}).value();
    };
    auto const plain = outcome_with(100), small = outcome_with(1), none = outcome_with(0);
    EXPECT_EQ(plain.samples, 5);
    EXPECT_EQ(small.samples, 5);
    EXPECT_NEAR(small.loss, plain.loss, 1e-5);
    EXPECT_EQ(small.left_out, 0);
    EXPECT_EQ(none.left_out, 1);
    EXPECT_EQ(none.samples, 0);
    EXPECT_THAT(none.why, testing::ContainsRegex("bucket [0-9x]+: .*no room"));
    // A run that is to stop has little time left to save.
    worker::Trainer trainer(job, std::make_unique<Brightness>(100), {});
    int asked = 0;
    worker::Evaluation::Calls calls;
    calls.stops = [&] { return ++asked == 2; };
    auto const stopped = opened_with(all).value()->run(trainer, calls).value();
    EXPECT_EQ(stopped.left_out, 1);
    EXPECT_EQ(stopped.samples, 0);
    EXPECT_TRUE(stopped.why.empty());
}

TEST_F(CachedTraining, EvaluatesHeldOutClipsTheSameWayEachTime) {
    auto const evaluations = [&](plan::WorkerJob const& job, int ranks) {
        fs::remove_all(folder_ / "run dir" / "checkpoints");
        auto const ended = run(job, ranks);
        std::vector<std::pair<int, double>> found;
        for (auto const& rank : ended) EXPECT_EQ(rank.exit_code, 0) << last_output_lines(rank);
        for (auto const& each : ended[0].of("evaluated")) {
            found.emplace_back(static_cast<int>(each.at("step").as_int64()),
                               each.at("loss").to_number<double>());
            EXPECT_EQ(each.at("samples").as_int64(), 7);
        }
        EXPECT_TRUE(ranks == 1 || ended[1].of("evaluated").empty());
        return found;
    };
    auto job = train_job(1, 3);
    job.config.data.eval_manifest = "cache";
    job.config.eval.every = 2;
    job.config.eval.samples = 7;
    auto const one = evaluations(job, 1);
    ASSERT_EQ(one.size(), 2u);
    EXPECT_EQ(one[0].first, 2);
    EXPECT_EQ(one[1].first, 3);  // the last step
    EXPECT_EQ(evaluations(job, 1), one);
    // An attempt that finds all steps done makes up for the last one, which may not have ended.
    auto const again = run(job, 1)[0].of("evaluated");
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(again[0].at("loss").to_number<double>(), one[1].second);
    auto two_ranks = train_job(2, 3);
    two_ranks.config.data = job.config.data;
    two_ranks.config.eval = job.config.eval;
    auto const two = evaluations(two_ranks, 2);
    ASSERT_EQ(two.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_LE(relative_difference(two[i].second, one[i].second), 2e-3);
    // Ranks that gather parameters in each forward pass, one of which has fewer clips to evaluate.
    two_ranks.plan.chosen.zero_stage = 3;
    for (auto& bucket : two_ranks.plan.chosen.buckets) bucket.micro_batch_size = 1;
    auto const gathered = evaluations(two_ranks, 2);
    ASSERT_EQ(gathered.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_LE(relative_difference(gathered[i].second, one[i].second), 2e-3);
    // Weights that do not change give one value, and evaluation does not change training.
    auto still = job;
    still.config.optim.lr = 1e-30;
    auto const same = evaluations(still, 1);
    EXPECT_EQ(same[0].second, same[1].second);
    auto const trained = losses_of(job, 1);
    auto plain = job;
    plain.config.data.eval_manifest = "";
    EXPECT_EQ(losses_of(plain, 1), trained);
    // In pixel space, from a second list.
    auto pixels = on_pixels(job);
    pixels.config.data.eval_manifest = "clips.csv";
    pixels.config.eval.samples = 5;
    pixels.config.checkpoint.every = 2;
    pixels.config.checkpoint.async = false;
    fs::remove_all(folder_ / "run dir" / "checkpoints");
    auto const ended = run(pixels, 1)[0];
    EXPECT_EQ(ended.exit_code, 0) << last_output_lines(ended);
    // A step is saved before it is evaluated: what ends an evaluation costs no step.
    std::vector<std::string> order;
    for (auto const& message : ended.messages) {
        std::string const type(message.at("type").as_string());
        if (type != "checkpoint" && type != "evaluated") continue;
        order.push_back(type + " " + std::to_string(message.at("step").as_int64()));
    }
    EXPECT_THAT(order,
                testing::ElementsAre("checkpoint 2", "evaluated 2", "evaluated 3", "checkpoint 3"));
    for (auto const& each : ended.of("evaluated")) EXPECT_EQ(each.at("samples").as_int64(), 5);
}

}  // namespace
}  // namespace osora::tests
