// Layers read tensors without values. When the gradient of one arrives, a tensor with memory gets
// one of zeros: backward has come to that layer.
#include "worker/jobs/rehearse/rehearsed_network.hpp"

#include "plan/model/model_sizes.hpp"
#include "worker/train/precision.hpp"
#include "worker/train/trainable.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

namespace osora::worker {
namespace {

using Clock = std::chrono::steady_clock;

void spin_until(Clock::time_point deadline) {
    while (Clock::now() < deadline) {}
}

int runs_of(std::shared_ptr<PipelineRanks> const& stages) {
    return stages ? stages->virtual_stages() : 1;
}

}  // namespace

void OwnWork::until(Clock::time_point deadline) const {
    if (threads == 0) {
        std::this_thread::sleep_until(deadline);
    } else if (threads > 1) {
        at::parallel_for(0, threads, 1, [deadline](auto, auto) { spin_until(deadline); });
    } else {
        spin_until(deadline);
    }
}

/// As soon as autograd can, like its own accumulation into leaves.
struct RehearsedNetwork::Arrival final : torch::autograd::Node {
    Arrival(RehearsedNetwork& network, at::Tensor with_memory)
        : Node(std::numeric_limits<std::uint64_t>::max()),
          network_(network),
          tensor_(std::move(with_memory)),
          accumulate_(torch::autograd::impl::grad_accumulator(tensor_)) {}

    torch::autograd::variable_list apply(torch::autograd::variable_list&& /*gradients*/) override {
        if (network_.exchanging_.counting) return {};
        network_.work();
        // Here, not as the next node: for a tensor on a GPU that would run in another thread,
        // beside the exchanges of this one.
        (*accumulate_)({at::zeros(tensor_.sizes(), tensor_.options().requires_grad(false))});
        return {};
    }
    [[nodiscard]] std::string name() const override { return "RehearsedArrival"; }

private:
    RehearsedNetwork& network_;
    at::Tensor tensor_;
    std::shared_ptr<torch::autograd::Node> accumulate_;
};

RehearsedNetwork::RehearsedNetwork(plan::WorkerJob const& job, RankGroups const& groups,
                                   OwnWork const& work, Device const& device)
    : buckets_(job.plan.chosen.buckets),
      stages_(groups.stages),
      own_work_(work),
      device_(device),
      exchanging_{.device = device.torch(), .before = [this] { this->work(); }},
      parameters_(at::TensorOptions()) {}

RehearsedNetwork::~RehearsedNetwork() = default;

Result<std::unique_ptr<RehearsedNetwork>> RehearsedNetwork::make(plan::WorkerJob const& job,
                                                                 RankGroups const& groups,
                                                                 OwnWork const& work,
                                                                 Device const& device) {
    auto made = std::make_unique<RehearsedNetwork>(job, groups, work, device);
    OSORA_TRY_VOID(made->build(job, groups));
    return made;
}

Result<void> RehearsedNetwork::build(plan::WorkerJob const& job, RankGroups const& groups) {
    auto const& chosen = job.plan.chosen;
    OSORA_TRY(auto const shape, plan::model_shape(job.config.model));
    OSORA_TRY(auto const recompute, plan::recompute_choice(chosen.recompute));
    auto const shared = [&](std::shared_ptr<SequenceRanks> const& ranks) {
        return ranks ? std::make_shared<RehearsedTokens>(ranks, exchanging_) : nullptr;
    };
    RehearsedLayers with{.type = scalar_type_of(chosen.precision),
                         .layers = {.linears = shared(groups.linears)},
                         .tokens = shared(groups.tokens),
                         .recompute = recompute};
    if (groups.stages) {
        with.layers.stages = std::make_shared<RehearsedStages>(groups.stages, exchanging_);
        with.layers.run_ends = chosen.run_ends;
    }
    OSORA_TRY(model_, rehearsed_model(shape, with));
    OSORA_TRY_VOID(choose_trainable(model_->parameters(), job.config.optim,
                                    static_cast<std::uint64_t>(job.config.train.seed)));
    bool const divides = chosen.zero_stage > 0 && groups.all && groups.all->world_size() > 1;
    parameters_ = model_->parameters().trainable_on(
        at::TensorOptions(with.type).device(device_.torch()), divides);
    parameters_.initialise([](NamedTensor const&, at::Tensor const& values) { values.zero_(); });
    lead_gradients();
    model_->parameters().add_gate(*this);
    exchanging_.counting = true;
    for (auto const& bucket : buckets_) flops_.push_back(count(bucket));
    exchanging_.counting = false;
    return {};
}

void RehearsedNetwork::lead_gradients() {
    auto const read = model_->parameters().trainable();
    auto const kept = parameters_.trainable();
    for (std::size_t i = 0; i < read.size(); ++i) {
        arrivals_.push_back(std::make_shared<Arrival>(*this, kept[i]));
        auto const place = arrivals_.back()->add_input_metadata(read[i]);
        torch::autograd::impl::set_gradient_edge(read[i], {arrivals_.back(), place});
    }
}

RehearsedNetwork::BucketFlops RehearsedNetwork::count(plan::BucketPlan const& bucket) {
    BucketFlops flops(static_cast<std::size_t>(runs_of(stages_)));
    std::vector<at::Tensor> ends;
    for (std::size_t run = 0; run < flops.size(); ++run) {
        if (stages_) stages_->enter(static_cast<int>(run));
        launched_.reset();
        ends.push_back(model_->forward(bucket, bucket.micro_batch_size));
        flops[run].forward = launched_.count();
    }
    for (std::size_t run = flops.size(); run-- > 0;) {
        launched_.reset();
        ends[run].backward();
        flops[run].backward = launched_.count();
    }
    return flops;
}

void RehearsedNetwork::begin_step(std::function<double()> waited_s) {
    start_ = Clock::now();
    waited_s_ = std::move(waited_s);
    synchronised_s_ = planned_s_ = 0;
}

/// `way`: forward or backward of the run of blocks.
void RehearsedNetwork::begin_pass(std::size_t bucket, int run, double PassFlops::*way,
                                  double step_s) {
    double all = 0;
    for (PassFlops const& each : flops_[bucket]) all += each.*way;
    all *= std::max(1, buckets_[bucket].grad_accum_steps);
    pass_flops_ = flops_[bucket][static_cast<std::size_t>(run)].*way;
    pass_s_ = all > 0 ? step_s * pass_flops_ / all : 0;
    launched_.reset();
}

void RehearsedNetwork::end_pass() {
    planned_s_ += pass_s_;
    work_until(planned_s_);
}

void RehearsedNetwork::work() {
    double const share = pass_flops_ > 0 ? std::min(1.0, launched_.count() / pass_flops_) : 0;
    work_until(planned_s_ + share * pass_s_);
}

void RehearsedNetwork::work_until(double planned_s) {
    if (device_.is_gpu()) {
        auto const before = Clock::now();
        device_.synchronize();
        synchronised_s_ += std::chrono::duration<double>(Clock::now() - before).count();
    }
    std::chrono::duration<double> const since_start(planned_s + waited_s_() + synchronised_s_);
    own_work_.until(start_ + std::chrono::duration_cast<Clock::duration>(since_start));
}

at::Tensor RehearsedNetwork::forward(std::size_t bucket, double step_s) {
    auto const& plan = buckets_[bucket];
    begin_pass(bucket, stages_ ? stages_->virtual_stage() : 0, &PassFlops::forward, step_s);
    at::Tensor const end = model_->forward(plan, plan.micro_batch_size);
    end_pass();
    return end;
}

void RehearsedNetwork::backward(std::size_t bucket, int virtual_stage, at::Tensor const& end,
                                double step_s) {
    begin_pass(bucket, virtual_stage, &PassFlops::backward, step_s);
    end.backward();
    end_pass();
}

void RehearsedNetwork::open(std::size_t unit) {
    if (!exchanging_.counting) parameters_.open_unit(unit);
}

void RehearsedNetwork::close(std::size_t unit, std::initializer_list<at::Tensor> outputs) {
    if (exchanging_.counting) return;
    work();
    parameters_.close_unit(unit, outputs);
}

}  // namespace osora::worker
