#include "worker/jobs/rehearse/rehearsal_step.hpp"

#include "worker/train/step_boundary.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace osora::worker {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

}  // namespace

RehearsalStep::RehearsalStep(Parameters const& trained, RankGroups const& groups,
                             RehearsalOptions const& options)
    : options_(options) {
    bool const divides = options.ranks.zero_stage > 0 && groups.all && groups.all->world_size() > 1;
    network_ = std::make_unique<RehearsedNetwork>(
        trained, RehearsedNetwork::Options{options.type, divides, options.work, options.device});
    ranks_ = make_data_parallel(network_->parameters(), groups, options.ranks);
}

void RehearsalStep::work_for(double seconds) const {
    auto const length = std::chrono::duration<double>(std::max(0.0, seconds));
    options_.work.until(Clock::now() + std::chrono::duration_cast<Clock::duration>(length));
}

/// As Trainer::passes() and attempt(): waiting is no part of the laps.
Result<RehearsedStep> RehearsalStep::step(plan::BucketCompute const& compute, int grad_accum_steps,
                                          std::function<void()> const& on_arrival) {
    RehearsedStep times;
    auto lap_start = Clock::now();
    double waited_s = 0;
    auto const waited = [&] { return ranks_->waited_s() + network_->synchronised_s(); };
    auto const own_lap = [&] {
        auto const now = Clock::now();
        double const wall_s = seconds_between(std::exchange(lap_start, now), now);
        double const before_s = std::exchange(waited_s, waited());
        return wall_s - (waited_s - before_s);
    };
    network_->parameters().clear_gradients();
    network_->begin_step([this] { return ranks_->waited_s(); });
    ranks_->begin_step();
    int const passes = std::max(1, grad_accum_steps);
    double const forward_s = compute.forward_s / passes, backward_s = compute.backward_s / passes;
    for (int pass = 0; pass < passes; ++pass) {
        bool const last = pass + 1 == passes;
        at::Tensor const end =
            network_->forward(pass * (forward_s + backward_s), forward_s, backward_s);
        times.forward_s += own_lap();
        ranks_->begin({.scale = 1, .last = last});
        end.backward();
        times.backward_s += own_lap();
        if (last && on_arrival) on_arrival();
        OSORA_TRY_VOID(ranks_->finish());
    }
    options_.device.synchronize();
    double const finished_s = own_lap();
    bool const gpu = options_.device.is_gpu();
    times.exposed_comm_s = gpu ? finished_s + network_->synchronised_s() : waited_s;
    times.backward_s += gpu ? 0 : finished_s;
    static_cast<void>(ranks_->norm());
    double const norm_s = gpu ? own_lap() : std::max(0.0, ranks_->waited_s() - waited_s);
    static_cast<void>(own_lap());
    times.exposed_comm_s += norm_s;
    work_for(compute.optimizer_s);
    times.optimizer_s = own_lap();
    times.collectives = ranks_->costs(times.exposed_comm_s);
    double const published_s = ranks_->publish();
    times.exposed_comm_s += gpu ? 0 : published_s;
    return times;
}

Result<RehearsedStep> RehearsalStep::run(plan::BucketCompute const& compute, int grad_accum_steps,
                                         std::function<void()> const& on_arrival) {
    return at_step_boundary("rehearsed step",
                            [&] { return step(compute, grad_accum_steps, on_arrival); });
}

}  // namespace osora::worker
