#include "worker/jobs/encode/encode_latents.hpp"

#include "base/check.hpp"
#include "base/text/csv.hpp"
#include "plan/buckets/one_pass.hpp"
#include "worker/jobs/train_data.hpp"
#include "worker/train/step_boundary.hpp"
#include "worker/train/video_tensor.hpp"
#include "worker/vae/gaussian.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <chrono>
#include <string_view>

namespace osora::worker {
namespace {

using Clock = std::chrono::steady_clock;

/// Clips of a shard so far.
class Collected {
public:
    explicit Collected(EncodePlan const& plan) : plan_(&plan) {}

    void add(Batch const& batch, Posterior const& posterior) {
        auto const type = cache_type(plan_->latent_format.dtype);
        auto const host = [&](at::Tensor const& x) { return x.to(type).to(at::kCPU); };
        at::Tensor const mean = host(posterior.mean), std = host(posterior.std);
        auto const samples = batch.samples();
        for (std::size_t i = 0; i < samples.size(); ++i) {
            if (samples[i].missing) continue;
            auto const row = static_cast<std::int64_t>(i);
            mean_.push_back(mean.narrow(0, row, 1));
            if (plan_->latent_format.std) std_.push_back(std.narrow(0, row, 1));
            samples_.push_back(samples[i]);
        }
    }

    /// `empty`: (0, C, T, H, W), for a shard without clips.
    [[nodiscard]] LatentRows rows(at::Tensor const& empty) const {
        LatentRows rows;
        rows.mean = mean_.empty() ? empty : at::cat(mean_);
        if (plan_->latent_format.std) rows.std = std_.empty() ? empty : at::cat(std_);
        auto const count = static_cast<std::int64_t>(samples_.size());
        rows.caption = at::empty({count}, at::kLong);
        rows.row = at::empty({count}, at::kLong);
        rows.start_frame = at::empty({count}, at::kLong);
        rows.fps = at::empty({count}, at::kDouble);
        for (std::size_t i = 0; i < samples_.size(); ++i) {
            Clip const& clip = plan_->manifest.clips[samples_[i].clip];
            rows.caption.mutable_data_ptr<std::int64_t>()[i] = protocol::caption_hash(clip.text);
            rows.row.mutable_data_ptr<std::int64_t>()[i] = clip.line;
            rows.start_frame.mutable_data_ptr<std::int64_t>()[i] = samples_[i].start_frame;
            rows.fps.mutable_data_ptr<double>()[i] = clip.fps;
        }
        return rows;
    }

    [[nodiscard]] std::string list() const {
        std::string text = "path,text,num_frames,height,width,fps\n";
        for (LoadedSample const& sample : samples_) {
            Clip const& clip = plan_->manifest.clips[sample.clip];
            text += fmt::format("{},{},{},{},{},{}\n", csv_field(clip.path), csv_field(clip.text),
                                sample.num_frames, sample.height, sample.width, clip.fps);
        }
        return text;
    }

private:
    EncodePlan const* plan_;
    std::vector<at::Tensor> mean_, std_;  // (1, C, T, H, W)
    std::vector<LoadedSample> samples_;
};

/// The batches of the shards, and where each shard ends among them.
struct Visits {
    std::vector<plan::OnePassStep> steps;
    std::vector<std::size_t> ends;
};

Visits visits_of(EncodePlan const& plan, std::vector<std::size_t> const& open) {
    Visits visits;
    for (std::size_t const shard : open) {
        auto const& work = plan.latents[shard];
        auto const batch = static_cast<std::size_t>(plan.batch[work.bucket]);
        for (std::size_t first = 0; first < work.clips.size(); first += batch) {
            auto const begin = work.clips.begin() + static_cast<std::ptrdiff_t>(first);
            auto const count = std::min(batch, work.clips.size() - first);
            visits.steps.push_back(
                {work.bucket, {begin, begin + static_cast<std::ptrdiff_t>(count)}});
        }
        visits.ends.push_back(visits.steps.size());
    }
    return visits;
}

Result<std::unique_ptr<Loader>> loader_of(plan::WorkerJob const& job, EncodePlan const& plan,
                                          plan::OnePassSchedule const& schedule,
                                          EncodeSteps& steps) {
    LoaderOptions options = loader_options(job);
    options.replace_bad = false;
    options.count_frames = true;
    options.stop_step = schedule.steps();
    options.on_slow_clip = [&steps](std::string const& said) { steps.notice("clip_slow", said); };
    return Loader::start(schedule, plan.manifest, options);
}

std::int64_t missing_in(Batch const& batch) {
    return std::ranges::count_if(batch.samples(), &LoadedSample::missing);
}

}  // namespace

Posterior posterior_of(VaePipeline const& vae, at::Tensor const& x) {
    at::NoGradGuard const no_grad;
    auto const encoded = vae.encode(x);
    auto const* const scale = vae.parameters().find("scale");
    OSORA_CHECK(scale != nullptr);
    auto const gaussian = gaussian_of(encoded.moments);
    return {encoded.z, gaussian.logvar.mul(0.5).exp().div(scale->tensor)};
}

namespace {

/// One batch into `collected`.
Result<void> encode_step(Batch const& batch, VaePipeline const& vae, Collected& collected,
                         EncodeSteps& steps) {
    for (BadClip const& bad : batch.bad_clips())
        steps.notice(bad.replacement.empty() ? "clip_skipped" : "clip_repaired",
                     bad_clip_text(bad) + (bad.replacement.empty() ? "; it is not cached" : ""));
    auto const count = static_cast<std::int64_t>(batch.samples().size());
    auto const start = Clock::now();
    if (missing_in(batch) < count) {
        auto const& [height, width, frames] = batch.key();
        OSORA_TRY_VOID(at_step_boundary(fmt::format("encode step {}", steps.next_step()), [&] {
            at::Tensor const x = video_tensor(batch.pixels(), {count, frames, height, width},
                                              steps.device().torch());
            collected.add(batch, posterior_of(vae, x));
            return Result<void>();
        }));
    }
    std::chrono::duration<double> const work = Clock::now() - start;
    steps.end(bucket_name(batch.key()), count, work.count());
    return {};
}

Result<void> write_shard(EncodePlan const& plan, std::size_t shard, Collected const& collected) {
    auto const& key = plan.set.buckets[plan.latents[shard].bucket].key;
    LatentShard sizes;
    std::tie(sizes.height, sizes.width, sizes.num_frames) =
        std::tie(key.height, key.width, key.num_frames);
    auto shape = latent_shape(plan.latent_format, sizes);
    shape.insert(shape.begin(), 0);
    at::Tensor const none = at::empty(shape, cache_type(plan.latent_format.dtype));
    ShardMark const mark{plan.settings, static_cast<std::int64_t>(shard)};
    return write_latent_shard(plan.latent_path(shard), collected.rows(none), collected.list(),
                              mark);
}

/// The open shards and the ends of their steps.
struct ShardSteps {
    std::vector<std::size_t> const& numbers;
    std::vector<std::size_t> const& ends;
};

Result<void> encode_shards(EncodePlan const& plan, VaePipeline const& vae, ShardSteps const& open,
                           Loader& loader, EncodeSteps& steps) {
    std::uint64_t step = 0;
    for (std::size_t i = 0; i < open.numbers.size(); ++i) {
        Collected collected(plan);
        for (; step < open.ends[i]; ++step) {
            if (steps.stopped()) return {};
            steps.begin();
            OSORA_TRY(auto const batch, loader.next(step));
            OSORA_TRY_VOID(encode_step(batch, vae, collected, steps));
        }
        OSORA_TRY_VOID(write_shard(plan, open.numbers[i], collected));
    }
    return {};
}

}  // namespace

Result<void> encode_latents(plan::WorkerJob const& job, EncodePlan const& plan,
                            VaePipeline const& vae, std::vector<std::size_t> const& open,
                            EncodeSteps& steps) {
    if (open.empty()) return {};
    auto visits = visits_of(plan, open);
    auto const seed = static_cast<std::uint64_t>(job.config.train.seed);
    OSORA_TRY(auto const schedule,
              plan::OnePassSchedule::make(plan.set, std::move(visits.steps), seed));
    OSORA_TRY(auto const loader, loader_of(job, plan, schedule, steps));
    auto done = encode_shards(plan, vae, {open, visits.ends}, *loader, steps);
    // The error must not wait for a thread that hangs in the kernel.
    if (done.has_error() && !loader->stop(kStopLimit_s)) end_now(steps.agent(), done.error());
    return done;
}

}  // namespace osora::worker
