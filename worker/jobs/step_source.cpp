#include "worker/jobs/step_source.hpp"

#include "base/text/units.hpp"
#include "worker/cache/latent_cache.hpp"
#include "worker/cache/text_cache.hpp"
#include "worker/data/prefetcher.hpp"
#include "worker/data/retry_files.hpp"
#include "worker/train/sample_rng.hpp"
#include "worker/train/step_boundary.hpp"
#include "worker/train/torch_failure.hpp"

#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace osora::worker {
namespace {

SampleIdentity identity_of(plan::SampleRef const& ref, int num_frames, double fps) {
    return {.id = ref.random, .epoch = ref.epoch, .fps = fps_for_network(num_frames, fps)};
}

/// What both sources know of a step before its data.
StepInput step_input(TrainData const& data, std::uint64_t step, std::size_t bucket) {
    auto const& plan = data.bucket_plans[bucket];
    auto const& key = data.schedule->buckets()[bucket].key;
    StepInput input;
    input.step = static_cast<int>(step);
    input.frames = key.num_frames;
    input.height = key.height;
    input.width = key.width;
    input.micro_batch_size = plan.micro_batch_size;
    input.global_samples = plan.global_batch_size;
    return input;
}

std::int64_t predicted_bytes(TrainData const& data, std::size_t bucket) {
    return static_cast<std::int64_t>(data.bucket_plans[bucket].peak_memory_gib *
                                     static_cast<double>(kGiB));
}

/// Embeddings of the run's captions, if it has a cache of them.
class Captions {
public:
    explicit Captions(TrainData const& data)
        : tokens_max_(data.text_tokens), tokens_min_(data.fills_text ? data.text_tokens : 1) {
        if (data.text) cache_.emplace(data.text->path, data.text->index);
    }
    [[nodiscard]] bool wanted() const { return cache_.has_value(); }

    Result<void> put(std::vector<std::int64_t> const& hashes, StepInput& input) {
        OSORA_TRY(auto batch, cache_->batch(hashes, tokens_max_, tokens_min_));
        input.text = std::move(batch.text);
        input.text_mask = std::move(batch.mask);
        input.pooled = std::move(batch.pooled);
        return {};
    }

private:
    std::int64_t tokens_max_, tokens_min_;
    std::optional<TextCache> cache_;
};

class ClipSource final : public StepSource {
public:
    ClipSource(TrainData const& data, std::unique_ptr<Loader> loader)
        : data_(data), loader_(std::move(loader)), captions_(data) {}

    Result<StepBatch> next(int step) override {
        OSORA_TRY(auto clips, loader_->next(static_cast<std::uint64_t>(step)));
        StepBatch batch;
        batch.bucket = bucket_name(clips.key());
        batch.predicted_bytes = predicted_bytes(data_, clips.bucket());
        batch.data_wait_s = clips.data_wait_s();
        batch.bad = {clips.bad_clips().begin(), clips.bad_clips().end()};
        batch.input = step_input(data_, clips.step(), clips.bucket());
        batch.input.pixels = clips.pixels();
        batch.input.samples = static_cast<std::int64_t>(clips.samples().size());
        std::vector<std::int64_t> hashes;
        for (LoadedSample const& sample : clips.samples()) {
            Clip const& clip = data_.manifest.clips[sample.clip];
            batch.input.identities.push_back(
                identity_of(sample.ref, clips.key().num_frames, clip.fps));
            if (captions_.wanted()) hashes.push_back(protocol::caption_hash(clip.text));
        }
        if (captions_.wanted()) OSORA_TRY_VOID(captions_.put(hashes, batch.input));
        batch.clips.emplace(std::move(clips));
        return batch;
    }
    [[nodiscard]] bool stop(double limit_s) override { return loader_->stop(limit_s); }
    [[nodiscard]] std::int64_t host_bytes() const override { return loader_->memory().total_bytes; }

private:
    TrainData const& data_;
    std::unique_ptr<Loader> loader_;
    Captions captions_;
};

/// Whether the file system may give it later.
bool is_of_files(Error const& error) {
    if (is_torch_failure(error)) return false;
    return error.code == Errc::io || error.code == Errc::not_found;
}

/// Rows are mapped and put together by the prefetcher's thread.
class LatentSource final : public StepSource {
public:
    LatentSource(TrainData const& data, plan::WorkerJob const& job, SourceSteps const& steps)
        : data_(data),
          latents_(data.latents->path, data.latents->index),
          captions_(data),
          rank_(steps.rank),
          dp_size_(steps.dp_size),
          seed_(static_cast<std::uint64_t>(job.config.train.seed)),
          sample_(job.config.data.sample_latents),
          wait_s_(steps.waits ? loader_options(job).wait_for_files_s : 0),
          on_slow_(steps.on_slow_clip),
          prefetcher_(
              [this](std::uint64_t step) { return make(step); },
              {.start = steps.start,
               .stop = steps.stop,
               .ahead = static_cast<std::size_t>(std::max(1, job.plan.chosen.prefetch_factor))}) {}

    LatentSource(LatentSource const&) = delete;
    LatentSource& operator=(LatentSource const&) = delete;
    ~LatentSource() override { end_pauses(); }

    Result<StepBatch> next(int step) override {
        auto const begin = std::chrono::steady_clock::now();
        OSORA_TRY(auto batch, prefetcher_.next(static_cast<std::uint64_t>(step)));
        std::chrono::duration<double> const waited = std::chrono::steady_clock::now() - begin;
        batch.data_wait_s = waited.count();
        return batch;
    }
    [[nodiscard]] bool stop(double limit_s) override {
        end_pauses();
        return prefetcher_.stop(limit_s);
    }

private:
    /// A file system that is away for a moment must not end the run.
    Result<StepBatch> make(std::uint64_t step) {
        auto const read_step = [&] {
            return at_step_boundary(fmt::format("latents of step {}", step),
                                    [&] { return read(step); });
        };
        auto const is_away = [](Result<StepBatch> const& batch) {
            return batch.has_error() && is_of_files(batch.error());
        };
        double const start_s = steady_now_s();
        Result<StepBatch> batch = read_step();
        if (wait_s_ <= 0 || !is_away(batch)) return batch;
        RetryBudget budget(wait_s_);
        budget.spend(steady_now_s() - start_s);
        auto const attempt = [&] {
            batch = read_step();
            return !is_away(batch);
        };
        auto const say = [&](double pause_s) {
            if (!on_slow_) return;
            on_slow_(fmt::format("{}; tried again in {:.1f} s", batch.error().message, pause_s));
        };
        auto const pause = [this](double seconds) { return this->pause(seconds); };
        // However it ends, the last try says what came of it.
        static_cast<void>(retry_files(budget, {.attempt = attempt, .say = say, .pause = pause}));
        return batch;
    }

    /// False: the source is to stop.
    [[nodiscard]] bool pause(double seconds) {
        std::unique_lock lock(stopping_mutex_);
        return !stop_.wait_for(lock, std::chrono::duration<double>(seconds),
                               [this] { return stopping_; });
    }
    void end_pauses() {
        {
            std::lock_guard const lock(stopping_mutex_);
            stopping_ = true;
        }
        stop_.notify_all();
    }

    Result<StepBatch> read(std::uint64_t step) {
        auto const refs = data_.schedule->rank_samples(step, rank_, dp_size_);
        StepBatch batch;
        batch.input = step_input(data_, step, refs.front().bucket);
        batch.bucket = bucket_name(data_.schedule->buckets()[refs.front().bucket].key);
        batch.predicted_bytes = predicted_bytes(data_, refs.front().bucket);
        batch.input.samples = static_cast<std::int64_t>(refs.size());
        std::vector<at::Tensor> rows;
        std::vector<std::int64_t> hashes;
        for (auto const& ref : refs) {
            OSORA_TRY(auto const clip, latents_.read(ref.clip));
            batch.input.identities.push_back(
                identity_of(ref, static_cast<int>(batch.input.frames), clip.fps));
            rows.push_back(sampled(clip, batch.input.identities.back()));
            hashes.push_back(clip.caption);
        }
        batch.input.latents = at::stack(rows);
        if (captions_.wanted()) OSORA_TRY_VOID(captions_.put(hashes, batch.input));
        return batch;
    }

    /// (C, T, H, W) in fp32: a sample of the posterior that belongs to (sample, epoch), or the
    /// mean.
    [[nodiscard]] at::Tensor sampled(CachedClip const& clip, SampleIdentity const& identity) const {
        at::Tensor const mean = clip.mean.to(at::kFloat);
        if (!sample_ || !clip.std.defined()) return mean;
        auto const key = sample_key(seed_, identity.epoch, identity.id, RngPurpose::posterior);
        return sample_noise({key}, mean.sizes())[0].mul_(clip.std.to(at::kFloat)).add_(mean);
    }

    TrainData const& data_;
    LatentCache latents_;
    Captions captions_;
    int rank_, dp_size_;
    std::uint64_t seed_;
    bool sample_;
    double wait_s_;
    std::function<void(std::string const&)> on_slow_;  // from the prefetcher's thread
    std::mutex stopping_mutex_;
    std::condition_variable stop_;
    bool stopping_ = false;
    Prefetcher<StepBatch> prefetcher_;  // last: its thread uses the others
};

}  // namespace

Result<std::unique_ptr<StepSource>> make_step_source(TrainData const& data,
                                                     plan::WorkerJob const& job,
                                                     SourceSteps const& steps) {
    if (data.latents) return std::make_unique<LatentSource>(data, job, steps);
    LoaderOptions options = loader_options(job);
    options.dp_rank = steps.rank;
    options.dp_size = steps.dp_size;
    options.start_step = steps.start;
    options.stop_step = steps.stop;
    options.on_slow_clip = steps.on_slow_clip;
    if (!steps.waits) options.wait_for_files_s = 0;
    OSORA_TRY(auto loader, Loader::start(*data.schedule, data.manifest, options));
    return std::make_unique<ClipSource>(data, std::move(loader));
}

}  // namespace osora::worker
