#include "worker/jobs/rehearse/rehearsal_step.hpp"

#include "worker/train/exchange_options.hpp"
#include "worker/train/pass_order.hpp"
#include "worker/train/step_boundary.hpp"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <utility>

namespace osora::worker {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

}  // namespace

struct RehearsalStep::Laps {
    std::function<double()> waited;
    Clock::time_point start = Clock::now();
    double waited_s = 0;

    double own() {
        auto const now = Clock::now();
        double const wall_s = seconds_between(std::exchange(start, now), now);
        double const before_s = std::exchange(waited_s, waited());
        return wall_s - (waited_s - before_s);
    }
};

RehearsalStep::RehearsalStep(plan::WorkerJob const& job, RankGroups const& groups,
                             OwnWork const& work, Device const& device,
                             std::unique_ptr<RehearsedNetwork> network)
    : work_(work),
      device_(device),
      network_(std::move(network)),
      ranks_(make_data_parallel(network_->parameters(), groups, exchange_options(job))),
      stages_(groups.stages),
      ranks_of_network_(groups.stages ? groups.network : nullptr) {
    for (auto const& each : {groups.tokens, groups.linears})
        if (each) sharing_.push_back(each);
    if (stages_) {
        sharing_.push_back(stages_);
        sharing_.push_back(ranks_of_network_);
    }
    for (auto const& bucket : job.plan.chosen.buckets)
        micro_batches_.push_back(std::max(1, bucket.grad_accum_steps));
}

Result<std::unique_ptr<RehearsalStep>> RehearsalStep::make(plan::WorkerJob const& job,
                                                           RankGroups const& groups,
                                                           OwnWork const& work,
                                                           Device const& device) {
    OSORA_TRY(auto network, RehearsedNetwork::make(job, groups, work, device));
    return std::make_unique<RehearsalStep>(job, groups, work, device, std::move(network));
}

void RehearsalStep::work_for(double seconds) const {
    auto const length = std::chrono::duration<double>(std::max(0.0, seconds));
    work_.until(Clock::now() + std::chrono::duration_cast<Clock::duration>(length));
}

double RehearsalStep::shared_s() const {
    double waited_s = 0;
    for (auto const& each : sharing_) waited_s += each->waited_s();
    return waited_s;
}

/// As Trainer::passes().
Result<void> RehearsalStep::passes(std::size_t bucket, plan::BucketCompute const& compute,
                                   std::function<void()> const& on_arrival, Laps& laps,
                                   RehearsedStep& times) {
    std::int64_t const count = micro_batches_[bucket];
    auto const order =
        stages_ ? pass_order({stages_->size(), stages_->virtual_stages(), stages_->is_eager()},
                             stages_->rank(), count)
                : pass_order({}, 0, count);
    std::map<std::pair<int, std::int64_t>, at::Tensor> ends;  // whose backward is to come
    for (StagePass const& pass : order) {
        std::pair const key(pass.virtual_stage, pass.micro_batch);
        bool const last = &pass == &order.back();
        if (pass.forward) {
            if (stages_) stages_->enter(pass.virtual_stage);
            ends[key] = network_->forward(bucket, compute.forward_s);
            times.forward_s += laps.own();
            continue;
        }
        ranks_->begin({.scale = 1, .last = last});
        network_->backward(bucket, pass.virtual_stage, ends.extract(key).mapped(),
                           compute.backward_s);
        times.backward_s += laps.own();
        if (last && on_arrival) on_arrival();
        OSORA_TRY_VOID(ranks_->finish());
    }
    // The loss, which the last stage has.
    if (ranks_of_network_) {
        auto const options = at::TensorOptions(at::kDouble).device(device_.torch());
        static_cast<void>(ranks_of_network_->all_gather(at::zeros({1}, options)));
    }
    return {};
}

/// As Trainer::attempt(): waiting is no part of the laps.
Result<RehearsedStep> RehearsalStep::step(std::size_t bucket, plan::BucketCompute const& compute,
                                          std::function<void()> const& on_arrival) {
    RehearsedStep times;
    auto const for_others = [this] { return ranks_->waited_s() + shared_s(); };
    Laps laps{[&] { return for_others() + network_->synchronised_s(); }};
    network_->parameters().clear_gradients();
    network_->begin_step(for_others);
    ranks_->begin_step();
    for (auto const& each : sharing_) each->begin_step();
    OSORA_TRY_VOID(passes(bucket, compute, on_arrival, laps, times));
    device_.synchronize();
    double const finished_s = laps.own();
    bool const gpu = device_.is_gpu();
    times.exposed_comm_s = gpu ? finished_s + network_->synchronised_s() : laps.waited_s;
    times.backward_s += gpu ? 0 : finished_s;
    static_cast<void>(ranks_->norm());
    double const waited_s = laps.waited_s, own_s = laps.own();
    times.exposed_comm_s += gpu ? own_s : std::max(0.0, laps.waited_s - waited_s);
    work_for(compute.optimizer_s);
    times.optimizer_s = laps.own();
    times.collectives = ranks_->costs(times.exposed_comm_s - shared_s());
    for (auto const& each : sharing_)
        std::ranges::move(each->costs(), std::back_inserter(times.collectives));
    double const published_s = ranks_->publish();
    times.exposed_comm_s += gpu ? 0 : published_s;
    return times;
}

Result<RehearsedStep> RehearsalStep::run(std::size_t bucket, plan::BucketCompute const& compute,
                                         std::function<void()> const& on_arrival) {
    return at_step_boundary("rehearsed step", [&] { return step(bucket, compute, on_arrival); });
}

}  // namespace osora::worker
