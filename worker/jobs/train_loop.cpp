#include "worker/jobs/train_loop.hpp"

#include "base/env.hpp"
#include "plan/buckets/hash.hpp"
#include "plan/model/trained_model.hpp"
#include "worker/jobs/job_parts.hpp"
#include "worker/jobs/loading_signs.hpp"

#include <fmt/format.h>
#include <torch/version.h>

#include <chrono>
#include <utility>

namespace osora::worker {
namespace {

constexpr int kSkippedInARowMax = 10;
/// After an error; a disk may need that long to sync what it has taken.
constexpr std::chrono::seconds kSaveStall{60};

using Clock = std::chrono::steady_clock;

}  // namespace

TrainLoop::TrainLoop(Parts parts)
    : parts_(parts),
      shortages_(parts.job, parts.self.rank, parts.device, parts.agent),
      writer_(std::filesystem::path(parts.job.run_dir) / "checkpoints",
              std::max(1, parts.job.config.checkpoint.keep), parts.peers) {
    if (auto const shape = plan::sample_shape(parts.job.config)) blocks_ = shape->blocks();
    if (writes()) trained_on_ = trained_on(parts.job, parts.data);  // reads a cached clip
}

void TrainLoop::enter(protocol::Phase phase) {
    phase_ = phase;
    if (parts_.flight != nullptr)
        parts_.flight->in_phase(boost::describe::enum_to_string(phase, "?"));
    parts_.agent.send(protocol::PhaseChanged{.phase = phase, .limit_s = 0});
}

/// As Open-Sora draws its buckets, ranks have different ones.
StepTerms TrainLoop::terms_of(StepBatch const& batch) const {
    auto const& input = batch.input;
    StepTerms terms{.step = input.step, .bucket = {}, .passes = 0};
    if (parts_.job.config.debug.bucket_schedule == "original") return terms;
    terms.bucket = batch.bucket;
    auto const size = std::max<std::int64_t>(1, input.micro_batch_size);
    terms.passes = static_cast<int>((input.samples + size - 1) / size);
    return terms;
}

/// Each rank of a share reads its clips itself, and takes others for those that it cannot read.
SharedClips TrainLoop::clips_of(StepBatch const& batch) const {
    auto const& layout = parts_.job.plan.chosen;
    if (layout.tp_size * layout.sp_size * layout.pp_size == 1 || !batch.clips) return {};
    std::uint64_t hash = 0;
    for (LoadedSample const& sample : batch.clips->samples())
        hash = plan::hash64({hash, sample.clip, static_cast<std::uint64_t>(sample.start_frame)});
    return {.share = parts_.dp_rank, .shares = layout.dp_size, .hash = hash};
}

/// Ranks that share samples or gather weights exchange data within a pass, so they must agree
/// before it. Others need not wait for that, because they exchange data only after their passes.
Result<StepOutput> TrainLoop::train(StepBatch& batch, Timed& timed) {
    if (parts_.trainer.meets_peers()) {
        // A rank that waits for its clips gives signs; those that wait for it here give none, and
        // it is the collective's limit that ends their wait.
        double const limit_s = 2 * parts_.job.config.faults.collective_timeout;
        parts_.agent.send(protocol::PhaseChanged{.phase = phase_, .limit_s = limit_s});
        auto const agreed = parts_.vote.finish();
        parts_.agent.send(protocol::PhaseChanged{.phase = phase_, .limit_s = 0});
        OSORA_TRY(timed.vote, agreed);
    }
    auto output = parts_.trainer.step(batch.input);
    if (output.has_error() && output.error().code == Errc::out_of_memory)
        return shortages_.end(batch, output.error());
    auto const vote = parts_.vote.finish();
    // Ranks that do not agree miss each other's collectives: that is the cause.
    bool const disagree = vote.has_error() && vote.error().code == Errc::invalid_input;
    if (output.has_error() && !disagree) return output;
    OSORA_TRY(timed.vote, vote);
    return output;
}

/// Counted; the device waits for it. Nothing on the CPU.
void TrainLoop::empty_cache() {
    if (!parts_.device.is_gpu()) return;
    auto const start = Clock::now();
    auto const before = parts_.device.cache();
    parts_.device.empty_cache();
    cache_.emptied(before.reserved_bytes - parts_.device.cache().reserved_bytes,
                   seconds_since(start));
}

/// Before the first pass of another bucket whose peak may not fit beside the blocks that the
/// allocator keeps from the last one.
void TrainLoop::make_room(StepBatch const& batch) {
    auto const start = Clock::now();
    if (!first_step_) first_step_ = start;
    auto const before = parts_.device.cache();
    double const elapsed_s = std::chrono::duration<double>(start - *first_step_).count();
    if (cache_.should_empty(batch.bucket, batch.predicted_bytes, before, elapsed_s)) empty_cache();
}

Result<TrainLoop::Timed> TrainLoop::one_step(int step) {
    auto const start = Clock::now();
    Timed timed;
    if (parts_.flight != nullptr) parts_.flight->at_step(step);
    auto const own = vote_of(parts_.agent.stop_order());
    OSORA_TRY(auto batch, parts_.source.next(step));
    if (parts_.tuner != nullptr) parts_.tuner->prepare(batch);
    parts_.vote.begin(own, terms_of(batch), clips_of(batch));
    timed.data_wait_s = batch.data_wait_s;
    timed.bucket = batch.bucket;
    timed.samples = static_cast<int>(batch.input.samples);
    for (BadClip const& bad : batch.bad) report_bad_clip(step, bad);
    batch.input.on_arrival = [&] {
        timed.arrival_s = seconds_since(start);
        parts_.agent.send(protocol::Arrived{.step = step});
    };
    // Libraries of the GPU allocate beside LibTorch, and find no memory while its allocator has
    // all.
    batch.input.on_lack = [this] { empty_cache(); };
    batch.input.on_shortage = [&](MemoryShortage const& each) {
        bool const handled = parts_.tuner != nullptr && parts_.tuner->on_shortage(batch, each);
        if (!handled) shortages_.report(batch, each);
    };
    make_room(batch);
    parts_.device.reset_peak();
    OSORA_TRY(timed.output, train(batch, timed));
    timed.step_time_s = seconds_since(start);
    if (parts_.tuner != nullptr) {
        OSORA_TRY_VOID(
            parts_.tuner->finish(batch, timed.output, timed.step_time_s - timed.data_wait_s));
    }
    return timed;
}

void TrainLoop::report(int step, Timed const& timed) {
    StepOutput const& output = timed.output;
    protocol::StepMetrics metrics;
    metrics.step = step;
    metrics.bucket = timed.bucket;
    metrics.step_time_s = timed.step_time_s;
    metrics.data_wait_s = timed.data_wait_s;
    metrics.forward_s = output.forward_s;
    metrics.backward_s = output.backward_s;
    metrics.exposed_comm_s = output.exposed_comm_s;
    metrics.optimizer_s = output.optimizer_s;
    metrics.other_s =
        std::max(0.0, timed.step_time_s - timed.data_wait_s - output.forward_s - output.backward_s -
                          output.exposed_comm_s - output.optimizer_s);
    metrics.arrival_s = timed.arrival_s;
    metrics.loss = output.loss;
    metrics.grad_norm = output.grad_norm;
    metrics.lr = output.lr;
    metrics.samples = parts_.counts_samples ? timed.samples : 0;
    metrics.rss_bytes = resident_bytes();
    metrics.peak_allocated_bytes = parts_.device.peak_allocated_bytes();
    metrics.reserved_bytes = parts_.device.cache().reserved_bytes;
    metrics.alloc_retries = parts_.retries.since_last();
    metrics.micro_batch_size = output.micro_batch_size;
    if (output.recompute)
        metrics.recomputed_blocks = std::min(output.recompute->first_blocks, blocks_);
    metrics.collectives = output.collectives;
    if (auto vote = parts_.vote.cost()) metrics.collectives.push_back(std::move(*vote));
    parts_.agent.send(metrics);
}

void TrainLoop::report_bad_clip(int step, BadClip const& bad) {
    parts_.agent.send(protocol::WorkerNotice{
        .kind = bad.replacement == bad.path ? "clip_repaired" : "clip_skipped",
        .severity = "warning",
        .step = step,
        .detail = bad_clip_text(bad)});
}

Result<void> TrainLoop::count_skipped(int step, StepOutput const& output) {
    // fp16 searches for its loss scale by skipping steps; below 1 there is none to find.
    bool const searching = output.loss_scale > 1;
    skipped_in_a_row_ = output.skipped && !searching ? skipped_in_a_row_ + 1 : 0;
    if (!output.skipped) return {};
    if (parts_.self.rank == 0) {
        std::string const cause =
            searching ? fmt::format("beyond fp16 at loss scale {}", output.loss_scale)
                      : "not finite";
        parts_.agent.send(protocol::WorkerNotice{.kind = searching ? "loss_scale" : "nan",
                                                 .severity = searching ? "info" : "warning",
                                                 .step = step,
                                                 .detail = "gradient " + cause + ": step skipped"});
    }
    if (skipped_in_a_row_ < kSkippedInARowMax) return {};
    return Error{Errc::invalid_input,
                 fmt::format("gradient not finite in {} steps in a row up to step {}; lower "
                             "optim.lr or look at the data",
                             skipped_in_a_row_, step)};
}

CheckpointState TrainLoop::state_at(int next_step) const {
    auto const& config = parts_.job.config;
    CheckpointState state;
    state.run_uuid = parts_.job.run_uuid;
    state.step = next_step;
    state.seed = config.train.seed;
    state.schedule_hash = parts_.data.hash;
    state.keep_probs = parts_.data.keep_probs;
    state.arch = plan::trained_arch(config);
    state.model = config.model;
    // A run in another folder may continue from it.
    if (!state.model.init.empty()) state.model.init = resolve(parts_.job, state.model.init);
    state.trained_on = trained_on_;
    state.torch_version = TORCH_VERSION;
    parts_.trainer.describe(state);
    return state;
}

/// The objective's figures, and what emptying the allocator's cache cost this rank, reported with
/// each checkpoint: "codes_used 0.91, psnr_db 25.3".
void TrainLoop::report_figures(int next_step) {
    std::string said;
    auto figures = parts_.trainer.figures();
    if (cache_.times() > 0) {
        figures.emplace("cache_emptied", cache_.times());
        figures.emplace("cache_emptied_gib", static_cast<double>(cache_.bytes()) / (1 << 30));
        figures.emplace("cache_emptied_s", cache_.seconds());
    }
    for (auto const& [name, value] : figures)
        said += fmt::format("{}{} {:.4g}", said.empty() ? "" : ", ", name, value);
    if (said.empty()) return;
    parts_.agent.send(protocol::WorkerNotice{
        .kind = "figures", .severity = "info", .step = next_step, .detail = std::move(said)});
}

void TrainLoop::report_checkpoint(std::optional<CheckpointWriter::Outcome> const& outcome) {
    if (!outcome || parts_.self.rank != 0) return;
    if (outcome->saved.has_error()) {
        parts_.agent.send(protocol::WorkerNotice{
            .kind = "checkpoint_failed",
            .severity = "error",
            .step = outcome->step,
            .detail = outcome->saved.error().message + "; older checkpoints are kept"});
        return;
    }
    parts_.agent.send(protocol::CheckpointSaved{.step = outcome->step,
                                                .path = outcome->saved->path.string(),
                                                .seconds = outcome->saved->seconds,
                                                .bytes = outcome->saved->bytes});
}

Result<void> TrainLoop::evaluate_if_due(int next_step) {
    using protocol::Phase;
    if (parts_.evaluation == nullptr || !parts_.evaluation->is_due(next_step)) return {};
    enter(Phase::evaluation);
    Evaluation::Calls calls;
    calls.progress = [this] { enter(Phase::evaluation); };
    calls.on_lack = [this] { empty_cache(); };
    calls.stops = [this] { return parts_.agent.stop_order().has_value(); };
    // A cache's thread calls it, which after an error ends later than this loop.
    calls.on_slow_clip = [&agent = parts_.agent, next_step](std::string const& said) {
        agent.send(protocol::WorkerNotice{
            .kind = "clip_slow", .severity = "warning", .step = next_step, .detail = said});
    };
    calls.on_bad_clip = [this, next_step](BadClip const& bad) { report_bad_clip(next_step, bad); };
    OSORA_TRY(auto const outcome, parts_.evaluation->run(parts_.trainer, calls));
    if (!outcome.why.empty()) {
        parts_.agent.send(protocol::WorkerNotice{
            .kind = "evaluation_skipped",
            .severity = "warning",
            .step = next_step,
            .detail = "not evaluated, now and whenever this happens again: " + outcome.why});
    }
    if (parts_.self.rank == 0 && outcome.left_out == 0) {
        parts_.agent.send(protocol::Evaluated{.step = next_step,
                                              .loss = outcome.loss,
                                              .samples = outcome.samples,
                                              .seconds = outcome.seconds});
    }
    enter(Phase::step);
    return {};
}

/// Gives a sign as long as bytes are written: a long save is no hang. A disk that takes none for
/// the limit of this phase is one.
std::optional<CheckpointWriter::Outcome> TrainLoop::finish_save(protocol::Phase next) {
    if (!writer_.ends_within(std::chrono::milliseconds(0))) {
        enter(protocol::Phase::checkpoint);
        while (!writer_.ends_within(kSignEvery))
            if (writer_.has_advanced()) enter(protocol::Phase::checkpoint);
        enter(next);
    }
    return writer_.wait();
}

bool TrainLoop::ends_save() {
    return writer_.ends_unless_stuck(kSaveStall, [this] { enter(protocol::Phase::checkpoint); });
}

void TrainLoop::start_checkpoint(int next_step, protocol::Phase next) {
    bool const first = parts_.self.rank == 0;
    if (first) report_figures(next_step);
    report_checkpoint(finish_save(next));
    writer_.start(state_at(next_step), parts_.trainer.tensors(first));
}

void TrainLoop::checkpoint_if_due(int next_step) {
    if (!writes()) return;
    report_checkpoint(writer_.poll());
    auto const& config = parts_.job.config;
    if (config.checkpoint.every <= 0 || next_step % config.checkpoint.every != 0) return;
    if (next_step >= config.train.steps) return;  // the final one follows
    start_checkpoint(next_step, protocol::Phase::step);
    if (!config.checkpoint.async) report_checkpoint(finish_save(protocol::Phase::step));
}

Result<void> TrainLoop::final_checkpoint(int next_step) {
    if (!writes()) return {};
    start_checkpoint(next_step, protocol::Phase::finishing);
    return finish_final(next_step);
}

Result<void> TrainLoop::finish_final(int next_step) {
    if (!writes()) return {};
    auto const outcome = finish_save(protocol::Phase::finishing);
    report_checkpoint(outcome);
    if (outcome->saved.has_error()) {
        return Error(outcome->saved.error()).in(fmt::format("checkpoint {}", next_step));
    }
    return {};
}

/// The last evaluation runs while the last checkpoint is written: what ends it costs no step.
Result<void> TrainLoop::end_run(int steps) {
    enter(protocol::Phase::finishing);
    if (writes()) start_checkpoint(steps, protocol::Phase::finishing);
    auto const evaluated = evaluate_if_due(steps);
    // A peer that is gone may never write its part, and a disk that hangs none.
    bool const alone = evaluated.has_error() && evaluated.error().code == Errc::unreachable;
    if (alone || (evaluated.has_error() && !ends_save())) return evaluated;
    enter(protocol::Phase::finishing);
    auto const saved = finish_final(steps);
    return evaluated.has_error() ? evaluated : saved;
}

Result<TrainOutcome> TrainLoop::run(plan::StepSpan span) {
    using protocol::Phase;
    int const steps = parts_.job.config.train.steps;
    if (span.first == steps) {  // all of them are done, and saved
        OSORA_TRY_VOID(evaluate_if_due(steps));
        enter(Phase::finishing);
        return TrainOutcome{steps, false};
    }
    enter(Phase::first_step);
    for (int step = span.first; step < span.last; ++step) {
        OSORA_TRY(auto const timed, one_step(step));
        report(step, timed);
        OSORA_TRY_VOID(count_skipped(step, timed.output));
        if (step == span.first) {
            enter(Phase::step);
        }
        if (timed.vote != Vote::go_on) {
            enter(Phase::finishing);
            if (timed.vote == Vote::stop_with_checkpoint) {
                OSORA_TRY_VOID(final_checkpoint(step + 1));
            }
            return TrainOutcome{step + 1, step + 1 < steps};
        }
        checkpoint_if_due(step + 1);
        if (step + 1 < steps) OSORA_TRY_VOID(evaluate_if_due(step + 1));
    }
    if (span.last < steps) {
        report_checkpoint(finish_save(Phase::step));
        return TrainOutcome{span.last, false};
    }
    OSORA_TRY_VOID(end_run(steps));
    return TrainOutcome{steps, false};
}

}  // namespace osora::worker
