#include "worker/jobs/train_job.hpp"

#include "base/text/units.hpp"
#include "plan/model/trained_model.hpp"
#include "worker/cache/text_cache.hpp"
#include "worker/data/skipped_rows.hpp"
#include "worker/jobs/checkpoint_peers.hpp"
#include "worker/jobs/encode/check_captions.hpp"
#include "worker/jobs/job_parts.hpp"
#include "worker/jobs/loading_signs.hpp"
#include "worker/jobs/objectives.hpp"
#include "worker/jobs/pass_tuner.hpp"
#include "worker/jobs/resume.hpp"
#include "worker/jobs/same_data.hpp"
#include "worker/jobs/self_check.hpp"
#include "worker/jobs/train_data.hpp"
#include "worker/jobs/train_loop.hpp"
#include "worker/memory/counted_allocator.hpp"
#include "worker/parallel/flight/flight_watch.hpp"
#include "worker/train/trainable.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <unistd.h>

#include <functional>
#include <utility>

namespace osora::worker {
namespace {

/// Peers wait in their next collective meanwhile.
FileWait wait_of(plan::WorkerJob const& job, AgentLink& agent) {
    return file_wait(agent, "data_unreadable", loader_options(job).wait_for_files_s);
}

/// Data of one stage at a time, opened once: a checkpoint is compared with the data that is then
/// trained on.
class StageData {
public:
    StageData(plan::WorkerJob const& job, RankEnvironment const& self, CrashedClips crashed,
              AgentLink& agent)
        : job_(job), self_(self), crashed_(std::move(crashed)), agent_(agent) {}

    /// Errors are those of open_train_data(), and of captions that are not cached.
    [[nodiscard]] Result<void> open(std::size_t index) {
        if (data_ && index_ == index) return {};
        data_.reset();
        staged_ = plan::job_of_stage(job_, index);
        auto const open = [&] { return open_train_data(staged_, crashed_, LoadingSigns(agent_)); };
        OSORA_TRY(auto opened, open_in_time(wait_of(staged_, agent_), open));
        if (self_.rank == 0) {
            OSORA_TRY_VOID(check_captions(*opened));
            auto const file = clips_read_path(staged_);
            if (!file.empty()) OSORA_TRY_VOID(remember_clips(opened->manifest, file));
        }
        data_ = std::move(opened);
        index_ = index;
        return {};
    }
    [[nodiscard]] plan::WorkerJob const& job() const { return staged_; }
    [[nodiscard]] TrainData const& data() const { return *data_; }
    [[nodiscard]] CrashedClips const& crashed() const { return crashed_; }

private:
    plan::WorkerJob const& job_;
    RankEnvironment const& self_;
    CrashedClips const crashed_;
    AgentLink& agent_;
    std::size_t index_ = 0;
    plan::WorkerJob staged_;
    std::unique_ptr<TrainData> data_;
};

struct StageParts {
    RankEnvironment const& self;
    TrainRanks const& ranks;
    AgentLink& agent;
    Trainer& trainer;
    StopVote& vote;
    Device device;
    RetryCount& retries;
    StoreCheckpointPeers* peers;  // none: rank 0 writes checkpoints alone
    FlightWatch& watch;
};

void report_rows(Manifest const& manifest, plan::WorkerJob const& job, AgentLink& agent) {
    for (std::string const& line : describe_skipped(manifest.skipped, job.config.data.manifest)) {
        agent.send(protocol::WorkerNotice{
            .kind = "clip_skipped", .severity = "warning", .step = 0, .detail = line});
    }
    for (std::string const& line : describe_sizes(manifest, job)) {
        agent.send(protocol::WorkerNotice{
            .kind = "clip_repaired", .severity = "warning", .step = 0, .detail = line});
    }
}

void report_data(TrainData const& data, plan::WorkerJob const& job, AgentLink& agent) {
    report_rows(data.manifest, job, agent);
    for (std::string const& line : describe_unused(data, job)) {
        agent.send(protocol::WorkerNotice{
            .kind = "data_unused", .severity = "warning", .step = 0, .detail = line});
    }
}

/// MMDiT's null caption is "" embedded; if the cache lacks it, zeros are used.
Result<void> report_null_caption(TrainData const& data, plan::WorkerJob const& job,
                                 AgentLink& agent) {
    if (job.config.run.job != "train") return {};
    OSORA_TRY(auto const shape, plan::sample_shape(job.config));
    if (shape.family != plan::ModelFamily::mmdit) return {};
    std::string missing = "there is no text.embeddings";
    if (data.text) {
        TextCache cache(data.text->path, data.text->index);
        OSORA_TRY(auto const null, cache.null_caption());
        if (null.embedding.defined() && null.pooled.defined()) return {};
        missing = data.text->path.string() +
                  (null.embedding.defined() ? " has no pooled vectors" : " has none of \"\"");
    }
    agent.send(protocol::WorkerNotice{.kind = "null_caption",
                                      .severity = "info",
                                      .step = 0,
                                      .detail = "zeros are used for the null caption, as " +
                                                missing +
                                                "; published weights know the embeddings of \"\""});
    return {};
}

/// Open-Sora's MMDiT reads what T5 makes of padding, in place of the zeros that osora fills in.
void report_unpadded(TrainData const& data, AgentLink& agent) {
    if (!data.fills_text) return;
    agent.send(protocol::WorkerNotice{
        .kind = "text_not_padded",
        .severity = "warning",
        .step = 0,
        .detail = fmt::format("{}: its captions are not padded; they are filled with zeros up to "
                              "{} tokens, where published MMDiT weights know T5's padding: for "
                              "those encode it with text.padded = true",
                              data.text->path.string(), data.text_tokens)});
}

/// As for clips that are trained on: the same on all ranks, with captions, named where they are not
/// used, and remembered for later starts.
Result<void> check_held_out(Evaluation const& evaluation, StageParts const& parts) {
    auto const& data = evaluation.data();
    auto const same = check_same_data(parts.ranks.all, summary_of(data.manifest, data.hash));
    if (same.has_error()) return Error(same.error()).in("data.eval_manifest");
    if (parts.self.rank != 0) return {};
    auto const captions = check_captions(data);
    if (captions.has_error()) return Error(captions.error()).in("data.eval_manifest");
    report_rows(data.manifest, evaluation.job(), parts.agent);
    auto const file = clips_read_path(evaluation.job());
    return file.empty() ? Result<void>() : remember_clips(data.manifest, file);
}

/// Its steps, and the end of a save in progress.
Result<TrainOutcome> run_loop(TrainLoop::Parts const& of_loop, plan::StepSpan const& steps,
                              StageParts const& parts) {
    TrainLoop loop(of_loop);
    auto outcome = loop.run(steps);
    // Before anything is taken apart, which may wait for peers again.
    if (outcome.has_error()) outcome = parts.watch.explain(outcome.error());
    // A rank that is gone will not write its part of a checkpoint.
    if (outcome.has_error() && parts.peers != nullptr) parts.peers->give_up();
    // One of several ranks is ended by the watch before (explain_limit_s), as its peers are.
    if (outcome.has_error())
        end_if_stuck(parts.agent, outcome.error(), {[&] { return loop.ends_save(); }});
    return outcome;
}

/// One stage of the run: its loader, its steps.
Result<TrainOutcome> run_stage(StageData& opened, plan::StageOfStep const& stage,
                               StageParts const& parts) {
    OSORA_TRY_VOID(opened.open(stage.index));
    plan::WorkerJob const& staged = opened.job();
    TrainData const& data = opened.data();
    OSORA_TRY_VOID(check_same_data(parts.ranks.all, summary_of(data.manifest, data.hash)));
    at::set_num_threads(std::max(1, staged.plan.chosen.threads_per_rank));
    if (parts.self.rank == 0) {
        report_data(data, staged, parts.agent);
        OSORA_TRY_VOID(report_null_caption(data, staged, parts.agent));
        report_unpadded(data, parts.agent);
    }
    parts.trainer.use(staged.config.optim, stage.rate);
    SourceSteps const steps{
        .rank = parts.ranks.dp_rank,
        .dp_size = staged.plan.chosen.dp_size,
        .start = static_cast<std::uint64_t>(stage.steps.first),
        .stop = static_cast<std::uint64_t>(stage.steps.last),
        .on_slow_clip = [&agent = parts.agent](std::string const& said) {
            agent.send(protocol::WorkerNotice{
                .kind = "clip_slow", .severity = "warning", .step = 0, .detail = said});
        }};
    OSORA_TRY(auto const source, make_step_source(data, staged, steps));
    auto const open_held_out = [&] {
        return Evaluation::open(staged, parts.ranks, source->host_bytes(), opened.crashed(),
                                LoadingSigns(parts.agent));
    };
    OSORA_TRY(auto const evaluation, open_in_time(wait_of(staged, parts.agent), open_held_out));
    if (evaluation != nullptr) OSORA_TRY_VOID(check_held_out(*evaluation, parts));
    OSORA_TRY(auto const tuner,
              PassTuner::open({staged, parts.ranks.all, parts.self.rank, parts.device, parts.agent,
                               std::filesystem::path(staged.run_dir) / "passes" /
                                   fmt::format("stage-{}.json", stage.index)},
                              data));
    auto outcome =
        run_loop({staged, parts.self, parts.ranks.leads, parts.ranks.dp_rank, data, parts.agent,
                  parts.trainer, *source, parts.vote, parts.device, parts.retries, evaluation.get(),
                  parts.peers, parts.watch.recorder().get(), tuner.get()},
                 stage.steps, parts);
    if (outcome.has_error()) {
        end_if_stuck(parts.agent, outcome.error(),
                     {[&] { return source->stop(kStopLimit_s); },
                      [&] { return evaluation == nullptr || evaluation->stop(kStopLimit_s); }});
    }
    return outcome;
}

/// Of the run from this step on. If the last attempt had done all steps, its last evaluation may
/// not have ended: the run is over with it, so it is made up for.
Result<TrainOutcome> run_stages(StageData& opened, int start_step, plan::WorkerJob const& job,
                                StageParts const& parts) {
    TrainOutcome outcome{start_step, false};
    int const steps = job.config.train.steps;
    if (start_step == steps) {
        auto const last = plan::stage_at(job, steps - 1);
        auto const staged = plan::job_of_stage(job, last.index);
        if (staged.config.data.eval_manifest.empty()) return outcome;
        return run_stage(opened, {last.index, {steps, steps}, last.rate}, parts);
    }
    while (outcome.steps < steps && !outcome.stopped) {
        auto stage = plan::stage_at(job, outcome.steps);
        stage.steps.first = outcome.steps;
        OSORA_TRY(outcome, run_stage(opened, stage, parts));
    }
    return outcome;
}

/// memory.rank_memory_gib, of passes on the CPU.
void cap_memory(plan::WorkerJob const& job, Device const& device) {
    auto const& most = job.config.memory.rank_memory_gib;
    auto* const counted = CountedAllocator::installed();
    if (device.is_gpu() || most.is_auto() || counted == nullptr) return;
    counted->set_cap(static_cast<std::int64_t>(*most.value * static_cast<double>(kGiB)));
}

/// train.self_check: what it found, or why it could not be done.
Result<SelfCheck> check_layout(plan::WorkerJob const& job, TrainRanks const& ranks,
                               Device const& device) {
    auto checked =
        self_check(job, ranks, device, [&](plan::WorkerJob const& small, RankGroups const& groups) {
            Notices notices;
            return make_objective(small, device, groups, notices);
        });
    if (checked.has_error()) return Error(checked.error()).in("train.self_check");
    return checked;
}

}  // namespace

Result<TrainOutcome> run_train_job(plan::WorkerJob const& job, RankEnvironment const& self,
                                   AgentLink& agent) {
    using protocol::Phase;
    at::set_num_threads(std::max(1, job.plan.chosen.threads_per_rank));
    if (job.config.train.deterministic) use_deterministic_kernels();
    if (job.config.debug.attention == "unfused") use_unfused_attention();
    agent.send(protocol::PhaseChanged{.phase = Phase::loading, .limit_s = 0});
    OSORA_TRY(Device const device, Device::choose(cuda_module_path(), self.local_rank));
    if (job.config.debug.kernels == "fused") use_kernels_of(device);
    FlightWatch watch({.run_dir = job.run_dir,
                       .rank = self.rank,
                       .world_size = self.world_size,
                       .attempt = self.attempt,
                       .timeout_s = job.config.faults.collective_timeout,
                       .end = [&agent](Error const& why) { end_now(agent, why); }});
    auto waiting = waiting_of(job);
    waiting.flight = watch.recorder();
    OSORA_TRY(auto const ranks,
              join_train_ranks(self, device, job.plan.chosen, std::move(waiting)));
    auto const& group = ranks.all;
    if (job.config.train.self_check) {
        OSORA_TRY(auto const checked, check_layout(job, ranks, device));
        if (!checked.passed()) return TrainOutcome{.failed_check = checked.text()};
        if (self.rank == 0) {
            agent.send(protocol::WorkerNotice{
                .kind = "self_check", .severity = "info", .step = 0, .detail = checked.text()});
        }
    }
    cap_memory(job, device);
    Notices notices;
    OSORA_TRY(auto objective, make_objective(job, device, ranks, notices, LoadingSigns(agent)));
    OSORA_TRY_VOID(choose_trainable(objective->parameters(), job.config.optim,
                                    static_cast<std::uint64_t>(job.config.train.seed)));
    Trainer trainer(job, std::move(objective), ranks, device);
    OSORA_TRY(auto crashed, agree_on_crashed(group, read_crashed_clips(job.run_dir)));
    StageData opened(job, self, std::move(crashed), agent);
    auto const data_of = [&](int step) -> Result<TrainData const*> {
        OSORA_TRY_VOID(opened.open(plan::stage_at(job, step).index));
        return &opened.data();
    };
    OSORA_TRY(int const start_step, restore_latest({job, self, group, agent, data_of}, trainer));
    auto facts = process_facts(device);
    facts["parameters"] = std::to_string(trainer.parameters().trainable_count());
    agent.send(protocol::WorkerHello{.rank = self.rank,
                                     .pid = static_cast<int>(::getpid()),
                                     .start_step = start_step,
                                     .facts = std::move(facts)});
    if (self.rank == 0 && start_step == 0) {
        for (std::string const& each : notices) {
            agent.send(protocol::WorkerNotice{
                .kind = "weights_converted", .severity = "warning", .step = 0, .detail = each});
        }
    }
    StopVote vote(group);
    RetryCount retries(device);
    std::unique_ptr<StoreCheckpointPeers> peers;
    if (trainer.is_sharded()) peers = std::make_unique<StoreCheckpointPeers>(*group, self);
    return run_stages(opened, start_step, job,
                      {self, ranks, agent, trainer, vote, device, retries, peers.get(), watch});
}

}  // namespace osora::worker
