// Gloo's own reduce_scatter sums whole tensors on every rank and cannot be polled; an all_to_all
// and a sum here move the same bytes in a third of its time (LibTorch 2.11).
#include "worker/parallel/step_collectives.hpp"

#include "worker/parallel/flight/flight_recorder.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <utility>

namespace osora::worker {

using Clock = CollectiveTimer::Clock;

namespace {

enum Kind : std::size_t { kAllReduce, kReduceScatter, kAllGather, kNorm, kBarrier };

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

StepCollectives::StepCollectives(Group group, std::string const& label) : group_(std::move(group)) {
    auto const add = [&](char const* name, char const* collective) {
        classes_.push_back({CollectiveTimer(label + name, collective, group_.device_backend())});
    };
    add("gradients all_reduce", "all_reduce");
    add("gradients reduce_scatter", "reduce_scatter");
    add("parameters all_gather", "all_gather");
    add("gradient norm", "all_reduce");
    add("gradients barrier", "barrier");
}

void StepCollectives::begin() {
    for (Class& each : classes_) {
        each.timer.begin();
        each.calls = 0;
        each.waited_s = 0;
    }
}

StepCollectives::Started StepCollectives::note(std::size_t kind, Clock::time_point start,
                                               c10::intrusive_ptr<c10d::Work> work,
                                               std::size_t bytes, std::vector<at::Tensor> tensors) {
    classes_[kind].timer.started(start, work, static_cast<std::int64_t>(bytes));
    ++classes_[kind].calls;
    return {kind, std::move(work), std::move(tensors)};
}

StepCollectives::Started StepCollectives::all_reduce(at::Tensor const& bucket) {
    FlightRecorder::Label const label("gradients");
    std::vector<at::Tensor> tensors{bucket};
    auto const start = Clock::now();
    auto work = group_.device_backend().allreduce(tensors);
    return note(kAllReduce, start, std::move(work), bucket.nbytes(), std::move(tensors));
}

StepCollectives::Started StepCollectives::reduce_scatter(at::Tensor const& bucket) {
    FlightRecorder::Label const label("gradients");
    auto& backend = group_.device_backend();
    at::Tensor input = bucket;
    bool const by_exchange = backend.getBackendName() != "nccl";
    at::Tensor received = by_exchange ? at::empty_like(bucket)
                                      : at::empty({bucket.numel() / ranks()}, bucket.options());
    std::vector<std::int64_t> even;
    auto const start = Clock::now();
    auto work = by_exchange ? backend.alltoall_base(received, input, even, even)
                            : backend._reduce_scatter_base(received, input);
    return note(kReduceScatter, start, std::move(work), bucket.nbytes(), {received, bucket});
}

void StepCollectives::take_sum(Started const& scattered, at::Tensor const& sum, bool add) {
    at::NoGradGuard const no_grad;
    at::Tensor const parts = scattered.tensors.front().view({-1, sum.numel()});
    if (parts.size(0) == 1) {
        add ? sum.add_(parts[0]) : sum.copy_(parts[0]);
    } else if (add) {
        for (at::Tensor const& part : parts.unbind()) sum.add_(part);
    } else {
        at::Tensor into = sum;
        at::sum_out(into, parts, at::IntArrayRef{0}, false, sum.scalar_type());
    }
}

StepCollectives::Started StepCollectives::all_gather(at::Tensor const& whole,
                                                     at::Tensor const& own) {
    FlightRecorder::Label const label("parameters");
    at::Tensor output = whole, input = own;
    auto const start = Clock::now();
    auto work = group_.device_backend()._allgather_base(output, input);
    return note(kAllGather, start, std::move(work), whole.nbytes(), {whole, own});
}

StepCollectives::Started StepCollectives::sum_norms(at::Tensor const& numbers) {
    FlightRecorder::Label const label("gradient norm");
    std::vector<at::Tensor> tensors{numbers};
    auto const start = Clock::now();
    auto work = group_.device_backend().allreduce(tensors);
    return note(kNorm, start, std::move(work), numbers.nbytes(), std::move(tensors));
}

void StepCollectives::wait(Started& started) {
    auto const start = Clock::now();
    started.work->wait();
    started.work.reset();
    classes_[started.kind].waited_s += seconds_since(start);
}

void StepCollectives::barrier() {
    FlightRecorder::Label const label("gradients");
    auto const start = Clock::now();
    auto started = note(kBarrier, start, group_.device_backend().barrier(), 0, {});
    wait(started);
}

double StepCollectives::waited_s() const {
    double sum = 0;
    for (Class const& each : classes_) sum += each.waited_s;
    return sum;
}

std::vector<protocol::CollectiveCost> StepCollectives::costs(double exposed_s) const {
    std::vector<protocol::CollectiveCost> costs;
    double const unknown_s = exposed_s - waited_s();
    for (std::size_t kind = 0; kind < classes_.size(); ++kind) {
        Class const& each = classes_[kind];
        if (each.calls == 0) continue;
        bool const gradients = kind == kAllReduce || kind == kReduceScatter;
        costs.push_back(each.timer.cost(each.waited_s + (gradients ? unknown_s : 0)));
    }
    return costs;
}

}  // namespace osora::worker
