#include "worker/jobs/rehearse/rehearse_job.hpp"

#include "base/env.hpp"
#include "worker/jobs/job_parts.hpp"
#include "worker/jobs/rehearse/rehearsal_step.hpp"
#include "worker/jobs/train_data.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <thread>

namespace osora::worker {
namespace {

using Clock = std::chrono::steady_clock;

Result<void> check_rehearsal(plan::WorkerJob const& job) {
    auto const& chosen = job.plan.chosen;
    if (chosen.buckets.empty() || job.rehearsal.size() != chosen.buckets.size()) {
        return Error{Errc::invalid_input,
                     fmt::format("the plan has {} buckets, the rehearsal times of {}",
                                 chosen.buckets.size(), job.rehearsal.size())};
    }
    return {};
}

/// Which bucket of the run file a step trains on, and what workers call it.
class Buckets {
public:
    static Result<Buckets> open(plan::WorkerJob const& job) {
        Buckets buckets(job);
        if (job.config.data.manifest.empty()) return buckets;
        OSORA_TRY(buckets.data_, open_train_data(job));
        return buckets;
    }
    /// With a manifest the training's own order, else one after the other.
    [[nodiscard]] std::size_t entry(int step) const {
        if (!data_) return static_cast<std::size_t>(step) % job_->plan.chosen.buckets.size();
        return slot(step).entry;
    }
    [[nodiscard]] std::string name(int step) const {
        if (data_) return bucket_name(slot(step).key);
        auto const& plan = job_->plan.chosen.buckets[entry(step)];
        return fmt::format("{}x{}x{}", plan.height, plan.width, plan.num_frames);
    }

private:
    explicit Buckets(plan::WorkerJob const& job) : job_(&job) {}
    [[nodiscard]] plan::Bucket const& slot(int step) const {
        // Rank 0's bucket if the ranks' buckets differ: all ranks rehearse the same step.
        auto const& schedule = *data_->schedule;
        return schedule.buckets()[schedule.bucket_of(static_cast<std::uint64_t>(step), 0)];
    }

    plan::WorkerJob const* job_;
    std::unique_ptr<TrainData> data_;
};

class RehearseLoop {
public:
    struct Parts {
        plan::WorkerJob const& job;
        RankEnvironment const& self;
        TrainRanks const& ranks;
        AgentLink& agent;
        Buckets const& buckets;
        RehearsalStep& step;
        StopVote& vote;
        Device const& device;
    };
    explicit RehearseLoop(Parts const& parts) : parts_(parts) {}

    Result<TrainOutcome> run() {
        using protocol::Phase;
        int const steps = parts_.job.config.train.steps;
        parts_.agent.send(protocol::PhaseChanged{.phase = Phase::first_step, .limit_s = 0});
        for (int step = 0; step < steps; ++step) {
            OSORA_TRY(Vote const vote, one_step(step));
            if (step == 0)
                parts_.agent.send(protocol::PhaseChanged{.phase = Phase::step, .limit_s = 0});
            if (vote != Vote::go_on) return TrainOutcome{step + 1, step + 1 < steps};
        }
        parts_.agent.send(protocol::PhaseChanged{.phase = Phase::finishing, .limit_s = 0});
        return TrainOutcome{steps, false};
    }

private:
    [[nodiscard]] double wait_for_data() const {
        auto const& asked = parts_.job.config.rehearse;
        bool const mine = asked.data_wait_rank < 0 || asked.data_wait_rank == parts_.self.rank;
        if (!mine || asked.data_wait_s <= 0) return 0;
        auto const start = Clock::now();
        std::this_thread::sleep_for(std::chrono::duration<double>(asked.data_wait_s));
        return seconds_since(start);
    }

    Result<Vote> one_step(int number) {
        auto const start = Clock::now();
        std::size_t const entry = parts_.buckets.entry(number);
        auto const& plan = parts_.job.plan.chosen.buckets[entry];
        protocol::StepMetrics metrics;
        metrics.step = number;
        parts_.vote.begin(vote_of(parts_.agent.stop_order()));
        metrics.data_wait_s = wait_for_data();
        auto const arrived = [&] {
            metrics.arrival_s = seconds_since(start);
            parts_.agent.send(protocol::Arrived{.step = number});
        };
        OSORA_TRY(auto const times, parts_.step.run(entry, parts_.job.rehearsal[entry], arrived));
        OSORA_TRY(Vote const vote, parts_.vote.finish());
        metrics.step_time_s = seconds_since(start);
        metrics.bucket = parts_.buckets.name(number);
        metrics.forward_s = times.forward_s;
        metrics.backward_s = times.backward_s;
        metrics.exposed_comm_s = times.exposed_comm_s;
        metrics.optimizer_s = times.optimizer_s;
        metrics.other_s =
            std::max(0.0, metrics.step_time_s - metrics.data_wait_s - times.forward_s -
                              times.backward_s - times.exposed_comm_s - times.optimizer_s);
        metrics.loss = metrics.grad_norm = metrics.lr = std::numeric_limits<double>::quiet_NaN();
        metrics.samples = parts_.ranks.leads ? plan.global_batch_size / parts_.ranks.dp_size : 0;
        metrics.rss_bytes = resident_bytes();
        metrics.peak_allocated_bytes = parts_.device.peak_allocated_bytes();
        metrics.collectives = times.collectives;
        if (auto vote_cost = parts_.vote.cost()) {
            metrics.collectives.push_back(std::move(*vote_cost));
        }
        parts_.agent.send(metrics);
        return vote;
    }

    Parts parts_;
};

}  // namespace

Result<TrainOutcome> run_rehearse_job(plan::WorkerJob const& job, RankEnvironment const& self,
                                      AgentLink& agent) {
    OSORA_TRY_VOID(check_rehearsal(job));
    int const threads = std::max(1, job.plan.chosen.threads_per_rank);
    at::set_num_threads(threads);
    agent.send(protocol::PhaseChanged{.phase = protocol::Phase::loading, .limit_s = 0});
    OSORA_TRY(Device const device, Device::choose(cuda_module_path(), self.local_rank));
    OSORA_TRY(auto const ranks, join_train_ranks(self, device, job.plan.chosen, waiting_of(job)));
    OSORA_TRY(auto const buckets, Buckets::open(job));
    std::string const& own_work = job.config.rehearse.own_work;
    bool const sleeps = own_work == "sleep" || (own_work == "auto" && device.is_gpu());
    OSORA_TRY(auto const step,
              RehearsalStep::make(job, ranks, {.threads = sleeps ? 0 : threads}, device));
    agent.send(protocol::WorkerHello{.rank = self.rank,
                                     .pid = static_cast<int>(::getpid()),
                                     .start_step = 0,
                                     .facts = process_facts(device)});
    StopVote vote(ranks.all);
    return RehearseLoop({job, self, ranks, agent, buckets, *step, vote, device}).run();
}

}  // namespace osora::worker
