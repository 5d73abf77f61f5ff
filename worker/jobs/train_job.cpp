#include "worker/jobs/train_job.hpp"

#include "worker/jobs/check_captions.hpp"
#include "worker/jobs/job_parts.hpp"
#include "worker/jobs/objectives.hpp"
#include "worker/jobs/resume.hpp"
#include "worker/jobs/train_data.hpp"
#include "worker/jobs/train_loop.hpp"
#include "worker/train/trainable.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <unistd.h>

namespace osora::worker {
namespace {

Result<void> check_layout(RankEnvironment const& self, plan::LayoutPlan const& layout) {
    if (layout.dp_size != self.world_size) {
        return Error{Errc::invalid_input, fmt::format("the plan is for {} ranks, WORLD_SIZE is {}",
                                                      layout.dp_size, self.world_size)};
    }
    return {};
}

/// The data of one stage at a time, opened once: a checkpoint is held against what is then trained
/// on.
class StageData {
public:
    StageData(plan::WorkerJob const& job, RankEnvironment const& self) : job_(job), self_(self) {}

    /// Errors are those of open_train_data(), and of captions that are not cached.
    [[nodiscard]] Result<void> open(std::size_t index) {
        if (data_ && index_ == index) return {};
        data_.reset();
        staged_ = plan::job_of_stage(job_, index);
        OSORA_TRY(auto opened, open_train_data(staged_));
        if (self_.rank == 0) OSORA_TRY_VOID(check_captions(*opened));
        data_ = std::move(opened);
        index_ = index;
        return {};
    }
    [[nodiscard]] plan::WorkerJob const& job() const { return staged_; }
    [[nodiscard]] TrainData const& data() const { return *data_; }

private:
    plan::WorkerJob const& job_;
    RankEnvironment const& self_;
    std::size_t index_ = 0;
    plan::WorkerJob staged_;
    std::unique_ptr<TrainData> data_;
};

struct StageParts {
    RankEnvironment const& self;
    std::optional<Group> const& group;
    AgentLink& agent;
    Trainer& trainer;
    StopVote& vote;
    Device device;
};

void report_data(TrainData const& data, plan::WorkerJob const& job, AgentLink& agent) {
    for (SkippedRow const& row : data.manifest.skipped) {
        agent.send(
            protocol::WorkerNotice{.kind = "clip_skipped",
                                   .severity = "warning",
                                   .step = 0,
                                   .detail = fmt::format("{}:{}: {}: {}", job.config.data.manifest,
                                                         row.line, row.path, row.reason)});
    }
    for (std::string const& line : describe_unused(data, job)) {
        agent.send(protocol::WorkerNotice{
            .kind = "data_unused", .severity = "warning", .step = 0, .detail = line});
    }
}

/// One stage of the run: its loader, its steps.
Result<TrainOutcome> run_stage(StageData& opened, plan::StageOfStep const& stage,
                               StageParts const& parts) {
    OSORA_TRY_VOID(opened.open(stage.index));
    plan::WorkerJob const& staged = opened.job();
    TrainData const& data = opened.data();
    at::set_num_threads(std::max(1, staged.plan.chosen.threads_per_rank));
    if (parts.self.rank == 0) report_data(data, staged, parts.agent);
    parts.trainer.use(staged.config.optim, stage.rate);
    SourceSteps const steps{.rank = parts.self.rank,
                            .dp_size = staged.plan.chosen.dp_size,
                            .start = static_cast<std::uint64_t>(stage.steps.first),
                            .stop = static_cast<std::uint64_t>(stage.steps.last)};
    OSORA_TRY(auto const source, make_step_source(data, staged, steps));
    OSORA_TRY(auto const evaluation, Evaluation::open(staged, parts.self, parts.group));
    TrainLoop loop({staged, parts.self, data, parts.agent, parts.trainer, *source, parts.vote,
                    parts.device, evaluation.get()});
    return loop.run(stage.steps);
}

}  // namespace

Result<TrainOutcome> run_train_job(plan::WorkerJob const& job, RankEnvironment const& self,
                                   AgentLink& agent) {
    using protocol::Phase;
    OSORA_TRY_VOID(check_layout(self, job.plan.chosen));
    at::set_num_threads(std::max(1, job.plan.chosen.threads_per_rank));
    if (job.config.train.deterministic) use_deterministic_kernels();
    agent.send(protocol::PhaseChanged{.phase = Phase::loading, .limit_s = 0});
    OSORA_TRY(Device const device, Device::choose(cuda_module_path(), self.local_rank));
    OSORA_TRY(auto const group, join_ranks(self, device));
    OSORA_TRY(auto objective, make_objective(job, device, group));
    OSORA_TRY_VOID(choose_trainable(objective->parameters(), job.config.optim,
                                    static_cast<std::uint64_t>(job.config.train.seed)));
    Trainer trainer(job, std::move(objective), group, device);
    StageData opened(job, self);
    auto const data_hash = [&](int step) -> Result<std::uint64_t> {
        OSORA_TRY_VOID(opened.open(plan::stage_at(job, step).index));
        return opened.data().hash;
    };
    OSORA_TRY(int const start_step, restore_latest({job, self, group, agent, data_hash}, trainer));
    auto facts = process_facts(device);
    facts["parameters"] = std::to_string(trainer.parameters().trainable_count());
    agent.send(protocol::WorkerHello{.rank = self.rank,
                                     .pid = static_cast<int>(::getpid()),
                                     .start_step = start_step,
                                     .facts = std::move(facts)});
    StopVote vote(group);
    TrainOutcome outcome{start_step, false};
    while (outcome.steps < job.config.train.steps && !outcome.stopped) {
        auto stage = plan::stage_at(job, outcome.steps);
        stage.steps.first = outcome.steps;
        OSORA_TRY(outcome, run_stage(opened, stage, {self, group, agent, trainer, vote, device}));
    }
    return outcome;
}

}  // namespace osora::worker
