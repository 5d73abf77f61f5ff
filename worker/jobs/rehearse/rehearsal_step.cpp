// Own work takes wall time, not CPU time: a measured length already holds what the rank lost to
// Gloo's threads and to its neighbours, and would lose it a second time. It still spins, so that
// collectives must share the cores with it as they do with a model.
#include "worker/jobs/rehearse/rehearsal_step.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <chrono>
#include <exception>
#include <thread>

namespace osora::worker {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

Clock::time_point after(Clock::time_point start, double seconds) {
    return start +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

void spin_until(Clock::time_point deadline) {
    while (Clock::now() < deadline) {}
}

void work_until(Clock::time_point deadline, int threads) {
    if (threads == 0) {
        std::this_thread::sleep_until(deadline);
    } else if (threads > 1) {
        at::parallel_for(0, threads, 1, [deadline](auto, auto) { spin_until(deadline); });
    } else {
        spin_until(deadline);
    }
}

}  // namespace

/// One step in progress.
struct RehearsalStep::Player {
    RehearsalStep& step;
    std::function<void()> const& on_arrival;
    Clock::time_point start = Clock::now();
    Clock::time_point part_start = start;
    std::vector<StepCollectives::Started> pending = {};
    RehearsedStep times = {};

    double lap() {
        auto const now = Clock::now();
        return seconds_between(std::exchange(part_start, now), now);
    }

    void all_reduce(RehearsalOp const& op) {
        pending.push_back(step.collectives_->all_reduce(step.buckets_[op.bucket]));
        if (!op.blocking) return;
        step.collectives_->wait(pending.back());
        pending.pop_back();
    }

    void wait() {
        for (auto& started : pending) step.collectives_->wait(started);
        pending.clear();
        step.device_.synchronize();
    }

    void play(RehearsalOp const& op) {
        auto const work = [&](Clock::time_point from) {
            work_until(after(from, op.until_s), step.threads_);
        };
        switch (op.kind) {
            case RehearsalKind::forward:
                work(start);
                times.forward_s += lap();
                return;
            case RehearsalKind::backward:
                work(start);
                times.backward_s += lap();
                return;
            case RehearsalKind::arrive:
                times.backward_s += lap();  // starting the last bucket
                if (on_arrival) on_arrival();
                return;
            case RehearsalKind::all_reduce:
                return all_reduce(op);
            case RehearsalKind::barrier:
                if (step.collectives_) step.collectives_->barrier();
                return;
            case RehearsalKind::wait:
                return wait();
            case RehearsalKind::optimizer:
                wait();
                times.exposed_comm_s += lap();
                if (step.collectives_)
                    times.collectives = step.collectives_->costs(times.exposed_comm_s);
                work(part_start);
                times.optimizer_s += lap();
                return;
        }
    }
};

RehearsalStep::RehearsalStep(RehearsalPlan plan, std::optional<Group> group, Device const& device,
                             int threads)
    : plan_(std::move(plan)), device_(device), threads_(threads) {
    if (group && group->world_size() > 1) collectives_.emplace(std::move(*group));
    std::int64_t total = 0;
    for (std::int64_t const items : plan_.bucket_items) total += items;
    if (total == 0) return;
    // One flat tensor, cut into buckets, as the reducer's.
    at::Tensor const flat =
        at::zeros({total}, at::TensorOptions().dtype(at::kFloat).device(device_.torch()));
    std::int64_t at = 0;
    for (std::int64_t const items : plan_.bucket_items) {
        buckets_.push_back(flat.narrow(0, at, items));
        at += items;
    }
}

Result<RehearsedStep> RehearsalStep::run(plan::BucketCompute const& compute, int grad_accum_steps,
                                         std::function<void()> const& on_arrival) {
    // The step boundary: what LibTorch throws becomes an Error here.
    try {
        if (collectives_) collectives_->begin();
        Player player{*this, on_arrival};
        for (RehearsalOp const& op : plan_.step(compute, grad_accum_steps)) player.play(op);
        return player.times;
    } catch (std::exception const& error) {
        std::string const text = error.what();
        return Error{Errc::unreachable, "all_reduce: " + text.substr(0, text.find('\n'))};
    }
}

void RehearsalStep::work_for(double seconds) const {
    if (seconds > 0) work_until(after(Clock::now(), seconds), threads_);
}

}  // namespace osora::worker
