#include "worker/jobs/encode/encode_latents.hpp"

#include "base/check.hpp"
#include "base/text/csv.hpp"
#include "base/text/text.hpp"
#include "plan/buckets/one_pass.hpp"
#include "worker/data/retry_files.hpp"
#include "worker/jobs/train_data.hpp"
#include "worker/train/step_boundary.hpp"
#include "worker/train/video_tensor.hpp"
#include "worker/vae/gaussian.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

namespace osora::worker {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kWaitForFiles_s = 60;  // of a rank in one launch

/// Clips of a shard so far, in the order of the manifest whenever they were read.
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
            Encoded& encoded = clips_[samples[i].clip];
            encoded.sample = samples[i];
            encoded.mean = mean.narrow(0, row, 1);
            if (plan_->latent_format.std) encoded.std = std.narrow(0, row, 1);
        }
    }

    void put_off(BadClip const& bad) { unread_.push_back(bad); }
    /// Clips that a later try may read.
    [[nodiscard]] std::vector<BadClip> const& unread() const { return unread_; }
    [[nodiscard]] std::vector<BadClip> take_unread() { return std::exchange(unread_, {}); }

    /// `empty`: (0, C, T, H, W), for a shard without clips.
    [[nodiscard]] LatentRows rows(at::Tensor const& empty) const {
        LatentRows rows;
        std::vector<at::Tensor> mean, std;
        for (auto const& [number, encoded] : clips_) {
            mean.push_back(encoded.mean);
            std.push_back(encoded.std);
        }
        rows.mean = mean.empty() ? empty : at::cat(mean);
        if (plan_->latent_format.std) rows.std = std.empty() ? empty : at::cat(std);
        auto const count = static_cast<std::int64_t>(clips_.size());
        rows.caption = at::empty({count}, at::kLong);
        rows.row = at::empty({count}, at::kLong);
        rows.start_frame = at::empty({count}, at::kLong);
        rows.fps = at::empty({count}, at::kDouble);
        std::size_t i = 0;
        for (auto const& [number, encoded] : clips_) {
            Clip const& clip = plan_->manifest.clips[number];
            rows.caption.mutable_data_ptr<std::int64_t>()[i] = protocol::caption_hash(clip.text);
            rows.row.mutable_data_ptr<std::int64_t>()[i] = clip.line;
            rows.start_frame.mutable_data_ptr<std::int64_t>()[i] = encoded.sample.start_frame;
            rows.fps.mutable_data_ptr<double>()[i] = clip.fps;
            ++i;
        }
        return rows;
    }

    [[nodiscard]] std::string list() const {
        std::string text = "path,text,num_frames,height,width,fps\n";
        for (auto const& [number, encoded] : clips_) {
            Clip const& clip = plan_->manifest.clips[number];
            LoadedSample const& sample = encoded.sample;
            text += fmt::format("{},{},{},{},{},{}\n", csv_field(clip.path), csv_field(clip.text),
                                sample.num_frames, sample.height, sample.width, clip.fps);
        }
        return text;
    }

private:
    struct Encoded {
        LoadedSample sample;
        at::Tensor mean, std;  // (1, C, T, H, W)
    };
    EncodePlan const* plan_;
    std::map<std::uint32_t, Encoded> clips_;  // by their number in the manifest
    std::vector<BadClip> unread_;
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

/// What a rank encodes all its shards with.
struct Encoding {
    plan::WorkerJob const& job;
    EncodePlan const& plan;
    VaePipeline const& vae;
    EncodeSteps& steps;
    RetryBudget retries = RetryBudget(kWaitForFiles_s);
};

LoaderOptions options_of(Encoding const& with, plan::OnePassSchedule const& schedule) {
    LoaderOptions options = loader_options(with.job);
    options.replace_bad = false;
    options.count_frames = true;
    options.stop_step = schedule.steps();
    options.on_slow_clip = [&steps = with.steps](std::string const& said) {
        steps.notice("clip_slow", said);
    };
    return options;
}

Result<plan::OnePassSchedule> schedule_of(Encoding const& with,
                                          std::vector<plan::OnePassStep> visits) {
    auto const seed = static_cast<std::uint64_t>(with.job.config.train.seed);
    return plan::OnePassSchedule::make(with.plan.set, std::move(visits), seed);
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

void report_left_out(BadClip const& bad, EncodeSteps& steps) {
    bool const alone = bad.replacement.empty();
    steps.notice(alone ? "clip_skipped" : "clip_repaired",
                 bad_clip_text(bad) + (alone ? "; it is not cached" : ""));
}

/// One batch into `collected`.
Result<void> encode_batch(Batch const& batch, Encoding const& with, Collected& collected) {
    for (BadClip const& bad : batch.bad_clips()) {
        if (bad.unreadable) {
            collected.put_off(bad);
        } else {
            report_left_out(bad, with.steps);
        }
    }
    auto const count = static_cast<std::int64_t>(batch.samples().size());
    if (missing_in(batch) == count) return {};
    auto const& [height, width, frames] = batch.key();
    return at_step_boundary(fmt::format("encode step {}", with.steps.next_step()), [&] {
        at::Tensor const x = video_tensor(batch.pixels(), {count, frames, height, width},
                                          with.steps.device().torch());
        collected.add(batch, posterior_of(with.vae, x));
        return Result<void>();
    });
}

/// Clips of a shard that could not be read, once more and one at a time, in this thread. Those that
/// a stop order leaves stay unread.
Result<void> try_again(std::size_t shard, Encoding const& with, Collected& collected) {
    auto const unread = collected.take_unread();
    std::vector<plan::OnePassStep> visits;
    for (BadClip const& bad : unread)
        visits.push_back({with.plan.latents[shard].bucket, {bad.sample.clip}});
    OSORA_TRY(auto const schedule, schedule_of(with, std::move(visits)));
    LoaderOptions options = options_of(with, schedule);
    options.num_workers = 0;
    options.bad_grace_samples = std::numeric_limits<int>::max();
    OSORA_TRY(auto const loader, Loader::start(schedule, with.plan.manifest, options));
    for (std::uint64_t step = 0; step < schedule.steps(); ++step) {
        if (with.steps.stopped()) {
            collected.put_off(unread[step]);
            continue;
        }
        with.steps.sign();
        OSORA_TRY(auto const batch, loader->next(step));
        OSORA_TRY_VOID(encode_batch(batch, with, collected));
    }
    return {};
}

/// A file system that is away for a moment must not cost the clips of that moment.
Result<void> read_again(std::size_t shard, Encoding& with, Collected& collected) {
    if (collected.unread().empty()) return {};
    Result<void> tried;
    auto const attempt = [&] {
        tried = try_again(shard, with, collected);
        return tried.has_error() || collected.unread().empty();
    };
    auto const say = [&](double pause_s) {
        with.steps.notice(
            "clip_retry",
            fmt::format("{} of shard {} could not be read; the first: {}; tried again in {:.1f} s",
                        counted(static_cast<std::int64_t>(collected.unread().size()), "clip"),
                        shard, bad_clip_text(collected.unread().front()), pause_s));
    };
    auto const pause = [&](double seconds) { return with.steps.wait(seconds); };
    // Clips that are unread then are the caller's.
    static_cast<void>(retry_files(with.retries, {.attempt = attempt, .say = say, .pause = pause}));
    return tried;
}

/// A folder that is missing or empty may be one of a file system that is not mounted.
bool has_files_beside(std::string const& path) {
    std::error_code error;
    bool const empty = std::filesystem::is_empty(std::filesystem::path(path).parent_path(), error);
    return error ? error == std::errc::filename_too_long : !empty;
}

bool may_come_back(BadClip const& bad) {
    if (bad.code == Errc::not_found) return !has_files_beside(bad.path);
    return bad.code == Errc::io;
}

/// Whether the shard has all clips that it can have, now or later. Clips that take too long, or
/// were deleted, are left out.
bool is_whole(Collected const& collected, EncodeSteps& steps) {
    bool whole = true;
    for (BadClip const& bad : collected.unread()) {
        if (!may_come_back(bad)) {
            report_left_out(bad, steps);
            continue;
        }
        whole = false;
        steps.notice("clip_unreadable", bad_clip_text(bad) + "; its shard is not written");
    }
    return whole;
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

/// The next batch of the pass, as a step.
Result<void> encode_step(std::uint64_t step, Loader& loader, Encoding const& with,
                         Collected& collected) {
    with.steps.begin();
    OSORA_TRY(auto const batch, loader.next(step));
    auto const start = Clock::now();
    OSORA_TRY_VOID(encode_batch(batch, with, collected));
    std::chrono::duration<double> const work = Clock::now() - start;
    with.steps.end(bucket_name(batch.key()), static_cast<std::int64_t>(batch.samples().size()),
                   work.count());
    return {};
}

Result<void> encode_shards(ShardSteps const& open, Loader& loader, Encoding& with) {
    std::uint64_t step = 0;
    for (std::size_t i = 0; i < open.numbers.size(); ++i) {
        Collected collected(with.plan);
        for (; step < open.ends[i]; ++step) {
            if (with.steps.stopped()) return {};
            OSORA_TRY_VOID(encode_step(step, loader, with, collected));
        }
        OSORA_TRY_VOID(read_again(open.numbers[i], with, collected));
        if (!collected.unread().empty() && with.steps.stopped()) return {};
        if (!is_whole(collected, with.steps)) continue;
        OSORA_TRY_VOID(write_shard(with.plan, open.numbers[i], collected));
    }
    return {};
}

}  // namespace

Result<void> encode_latents(plan::WorkerJob const& job, EncodePlan const& plan,
                            VaePipeline const& vae, std::vector<std::size_t> const& open,
                            EncodeSteps& steps) {
    if (open.empty()) return {};
    auto visits = visits_of(plan, open);
    Encoding with{.job = job, .plan = plan, .vae = vae, .steps = steps};
    OSORA_TRY(auto const schedule, schedule_of(with, std::move(visits.steps)));
    OSORA_TRY(auto const loader,
              Loader::start(schedule, plan.manifest, options_of(with, schedule)));
    auto done = encode_shards({open, visits.ends}, *loader, with);
    if (done.has_error())
        end_if_stuck(steps.agent(), done.error(), {[&] { return loader->stop(kStopLimit_s); }});
    return done;
}

}  // namespace osora::worker
