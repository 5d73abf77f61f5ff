#include "worker/jobs/evaluation.hpp"

#include "base/text/units.hpp"
#include "plan/buckets/one_pass.hpp"
#include "protocol/cache_index.hpp"
#include "worker/jobs/agent_link.hpp"
#include "worker/parallel/on_any_rank.hpp"
#include "worker/train/torch_failure.hpp"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace osora::worker {
namespace {

/// Held-out clips of a cache have their captions in it, if the encoder of the others made them.
void use_captions_of(std::string const& cache, plan::WorkerJob& job) {
    std::string& embeddings = job.config.text.embeddings;
    if (embeddings.empty()) return;
    auto const others = protocol::open_cache(resolve(job, embeddings));
    auto const own = protocol::open_cache(resolve(job, cache));
    if (others.has_error() || own.has_error() || own->text_shards.empty()) return;
    bool const alike =
        own->text.encoder == others->text.encoder && own->text.padded == others->text.padded;
    if (alike) embeddings = cache;
}

/// The job as if the held-out clips were its own, with a loader that stays in the background, in
/// the memory that is left.
plan::WorkerJob job_of_held_out(plan::WorkerJob job, std::int64_t held_bytes) {
    int const per_node = std::max(1, job.config.resources.gpus_per_node);
    double const held_gib = static_cast<double>(held_bytes * per_node) / static_cast<double>(kGiB);
    job.config.data.host_memory_gib = std::max(0.0, job.config.data.host_memory_gib - held_gib);
    std::string const list = job.config.data.eval_manifest;
    std::error_code failed;  // reading it says why
    bool const cache = std::filesystem::is_directory(resolve(job, list), failed);
    job.config.data.manifest = cache ? "" : list;
    job.config.data.latents = cache ? list : "";
    if (cache) use_captions_of(list, job);
    job.config.data.sample_latents = false;
    // Each clip counts once: its share of the training does not matter.
    if (cache)
        for (auto& bucket : job.config.bucket) bucket.keep_prob = 1;
    job.config.debug.bucket_schedule = "balanced";
    job.plan.chosen.num_workers = std::min(1, job.plan.chosen.num_workers);
    job.plan.chosen.prefetch_factor = 1;
    return job;
}

/// `count` of the clips of all buckets, evenly spread, as steps of one micro-batch of at most
/// `clips`.
std::vector<plan::OnePassStep> steps_of(TrainData const& data, std::size_t count, int clips) {
    std::size_t total = 0;
    for (auto const& bucket : data.schedule->buckets()) total += bucket.clips.size();
    count = std::min(count, total);
    std::vector<plan::OnePassStep> steps;
    std::size_t at = 0, taken = 0;  // clips examined, and those of them used
    for (std::size_t b = 0; b < data.schedule->buckets().size(); ++b) {
        auto const most =
            static_cast<std::size_t>(std::min(clips, data.bucket_plans[b].micro_batch_size));
        for (auto const clip : data.schedule->buckets()[b].clips) {
            bool const take = (at + 1) * count / total > taken;
            ++at;
            if (!take) continue;
            ++taken;
            bool const full =
                steps.empty() || steps.back().bucket != b || steps.back().clips.size() >= most;
            if (full) steps.push_back({b, {}});
            steps.back().clips.push_back(clip);
        }
    }
    return steps;
}

/// Every dp_size-th step.
std::vector<plan::OnePassStep> share_of(std::vector<plan::OnePassStep> const& steps,
                                        TrainRanks const& ranks) {
    std::vector<plan::OnePassStep> own;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (static_cast<int>(i % static_cast<std::size_t>(ranks.dp_size)) == ranks.dp_rank)
            own.push_back(steps[i]);
    }
    return own;
}

/// Whether ranks wait for each other in every pass.
bool peers_meet(plan::LayoutPlan const& layout) {
    return layout.zero_stage == 3 || layout.tp_size * layout.sp_size * layout.pp_size > 1;
}

/// As many as the rank with most: ranks that meet evaluate as many batches, and agree after each.
void fill_up(std::vector<plan::OnePassStep>& own, std::vector<plan::OnePassStep> const& all,
             int dp_size) {
    auto const ranks = static_cast<std::size_t>(dp_size);
    std::size_t const most = (all.size() + ranks - 1) / ranks;
    while (own.size() < most) own.push_back(all.front());
}

Result<plan::OnePassSchedule> schedule_of(TrainData const& data, plan::WorkerJob const& job,
                                          std::vector<plan::OnePassStep> steps) {
    plan::BucketSet set;
    set.buckets = {data.schedule->buckets().begin(), data.schedule->buckets().end()};
    return plan::OnePassSchedule::make(std::move(set), std::move(steps),
                                       static_cast<std::uint64_t>(job.config.train.seed));
}

/// Of the clips, or their file system: the training can go on without the loss on them.
bool is_of_data(Error const& error) {
    bool const unread = error.code == Errc::corrupt || error.code == Errc::io ||
                        error.code == Errc::not_found || error.code == Errc::timed_out;
    return unread && !is_torch_failure(error);
}

Error with_advice(Error const& error, StepBatch const& batch) {
    if (error.code != Errc::out_of_memory) return Error(error).in("evaluation");
    auto const samples = batch.input.samples;
    char const* const smaller = samples > 1 ? "lower micro_batch_size of this [[bucket]], or " : "";
    return Error{error.code, fmt::format("evaluation: bucket {}, {} clips in a pass: {}; {}leave "
                                         "data.eval_manifest out",
                                         batch.bucket, samples, error.message, smaller)};
}

/// Steps of all ranks, of as many clips as a loader has memory for: the same on every rank.
Result<std::vector<plan::OnePassStep>> steps_that_fit(TrainData const& data,
                                                      plan::WorkerJob const& job) {
    auto const samples = static_cast<std::size_t>(job.config.eval.samples);
    int most = 1;
    for (auto const& bucket : data.bucket_plans) most = std::max(most, bucket.micro_batch_size);
    for (;; most /= 2) {
        auto steps = steps_of(data, samples, most);
        if (data.latents) return steps;
        OSORA_TRY(auto const schedule, schedule_of(data, job, steps));
        auto const memory = Loader::memory_for(schedule, data.manifest, loader_options(job));
        if (memory.has_value()) return steps;
        if (most == 1)
            return Error(memory.error()).in("beside the training's loader, data.host_memory_gib");
    }
}

}  // namespace

Result<std::unique_ptr<Evaluation>> Evaluation::open(plan::WorkerJob const& job, TrainRanks ranks,
                                                     std::int64_t held_bytes,
                                                     CrashedClips const& crashed,
                                                     std::function<void()> const& sign) {
    if (job.config.data.eval_manifest.empty()) return std::unique_ptr<Evaluation>();
    auto made = std::make_unique<Evaluation>(job_of_held_out(job, held_bytes), std::move(ranks));
    auto data = open_train_data(made->job_, crashed, sign);
    if (data.has_error()) return std::move(data).error().in("data.eval_manifest");
    made->data_ = std::move(*data);
    auto const steps = steps_that_fit(*made->data_, made->job_);
    if (steps.has_error()) return Error(steps.error()).in("data.eval_manifest");
    auto own = share_of(*steps, made->ranks_);
    made->counted_ = own.size();
    if (peers_meet(job.plan.chosen)) fill_up(own, *steps, made->ranks_.dp_size);
    made->steps_ = own.size();
    OSORA_TRY(auto schedule, schedule_of(*made->data_, made->job_, std::move(own)));
    made->data_->schedule = std::make_unique<plan::OnePassSchedule>(std::move(schedule));
    return made;
}

bool Evaluation::stop(double limit_s) {
    return source_ == nullptr || source_->stop(limit_s);
}

bool Evaluation::is_due(int next_step) const {
    return next_step % job_.config.eval.every == 0 || next_step == job_.config.train.steps;
}

Result<Evaluation::Sums> Evaluation::over_ranks(Sums own) const {
    if (!ranks_.all || ranks_.all->world_size() == 1) return own;
    try {
        std::vector<at::Tensor> sums{at::empty({3}, at::kDouble)};
        sums[0][0] = ranks_.leads ? own.loss : 0;
        sums[0][1] = ranks_.leads ? own.samples : 0;
        sums[0][2] = own.left_out;
        ranks_.all->backend().allreduce(sums)->wait();
        return Sums{sums[0][0].item<double>(), sums[0][1].item<double>(),
                    sums[0][2].item<double>()};
    } catch (std::exception const& error) {
        return Error{Errc::unreachable, std::string("evaluation: ") + error.what()};
    }
}

/// Nothing after the first time.
std::string Evaluation::once(std::string const& kind, std::string text) {
    return reported_.insert(kind).second ? std::move(text) : std::string();
}

/// Peers that do not meet in passes need not wait for a rank that leaves out the rest; others agree
/// on it after each batch is read.
Result<Evaluation::Sums> Evaluation::own_sums(Trainer& trainer, Calls const& calls,
                                              std::string& why) {
    constexpr Sums left_out{.loss = 0, .samples = 0, .left_out = 1};
    bool const meets = trainer.meets_peers();
    Sums sums;
    if (steps_ == 0) return sums;
    SourceSteps const all{.stop = steps_, .on_slow_clip = calls.on_slow_clip, .waits = !away_};
    OSORA_TRY(source_, make_step_source(*data_, job_, all));
    for (std::uint64_t step = 0; step < steps_; ++step) {
        calls.progress();
        bool const stops = calls.stops();
        if (stops && !meets) return left_out;
        auto batch = source_->next(static_cast<int>(step));
        bool const unread = batch.has_error();
        if (unread && !is_of_data(batch.error())) return Error(batch.error()).in("evaluation");
        away_ = unread && batch.error().code != Errc::corrupt;
        OSORA_TRY(bool const leaves,
                  meets ? on_any_rank(ranks_.all, stops || unread) : Result<bool>(unread));
        // A thread that hangs would hold the end of the source up.
        if (leaves && !source_->stop(kStopLimit_s)) {
            Error const hangs{Errc::timed_out, "a thread that reads clips hangs"};
            return Error(unread ? batch.error() : hangs).in("evaluation");
        }
        if (unread) why = once("clips", "data.eval_manifest: " + batch.error().message);
        if (leaves) return left_out;
        for (BadClip const& bad : batch->bad)
            if (reported_.insert(bad.path + ": " + bad.reason).second) calls.on_bad_clip(bad);
        batch->input.on_lack = calls.on_lack;
        auto const loss = trainer.loss(batch->input);
        if (loss.has_error()) {
            if (loss.error().code != Errc::out_of_memory || meets)
                return with_advice(loss.error(), *batch);
            why =
                once("memory of " + batch->bucket, "no memory for one clip: bucket " +
                                                       batch->bucket + ": " + loss.error().message);
            return left_out;
        }
        if (step >= counted_) continue;
        sums.loss += *loss * static_cast<double>(batch->input.samples);
        sums.samples += static_cast<double>(batch->input.samples);
    }
    return sums;
}

Result<Evaluation::Outcome> Evaluation::run(Trainer& trainer, Calls const& calls) {
    auto const start = std::chrono::steady_clock::now();
    Outcome outcome;
    OSORA_TRY(auto const own, own_sums(trainer, calls, outcome.why));
    source_.reset();
    OSORA_TRY(auto const sums, over_ranks(own));
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - start;
    outcome.seconds = passed.count();
    outcome.left_out = static_cast<int>(sums.left_out);
    if (outcome.left_out > 0) return outcome;
    outcome.loss = sums.loss / sums.samples;
    outcome.samples = static_cast<std::int64_t>(sums.samples);
    return outcome;
}

}  // namespace osora::worker
