// The moments of backward come from the shape of a transformer, not from a measurement.
#include "worker/jobs/rehearse/rehearsed_network.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <map>
#include <string>
#include <thread>
#include <utility>

namespace osora::worker {
namespace {

using Clock = std::chrono::steady_clock;

/// "spatial_blocks.3" of "spatial_blocks.3.attn.qkv.weight"; "" outside the blocks.
std::string block_of(std::string const& name) {
    auto const blocks = name.find("blocks.");
    if (blocks == std::string::npos) return "";
    auto const end = name.find('.', blocks + 7);
    return end == std::string::npos ? "" : name.substr(0, end);
}

/// Share of a pass before each tensor, and 1 at the end.
std::vector<double> shares_before(std::vector<NamedTensor const*> const& trained) {
    std::map<std::string, double> block_items;
    double all_items = 0;
    for (auto const* each : trained) {
        auto const items = static_cast<double>(each->tensor.numel());
        all_items += items;
        auto const block = block_of(each->name);
        if (!block.empty()) block_items[block] += items;
    }
    std::vector<double> before{0};
    for (auto const* each : trained) {
        auto const items = static_cast<double>(each->tensor.numel());
        auto const block = block_items.find(block_of(each->name));
        double const share = block_items.empty() ? items / all_items
                             : block == block_items.end()
                                 ? 0
                                 : items / block->second / static_cast<double>(block_items.size());
        before.push_back(before.back() + share);
    }
    return before;
}

void spin_until(Clock::time_point deadline) {
    while (Clock::now() < deadline) {}
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

/// Reads nothing of the parameter; its gradient is zeros.
struct RehearsedNetwork::Touch : torch::autograd::Function<RehearsedNetwork::Touch> {
    using Variable = torch::autograd::Variable;

    static Variable forward(torch::autograd::AutogradContext* context, Variable const& x,
                            Variable const& /*parameter*/, std::int64_t network,
                            std::int64_t index) {
        context->saved_data["network"] = network;
        context->saved_data["index"] = index;
        return x.clone();
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   torch::autograd::variable_list gradients) {
        auto const index = static_cast<std::size_t>(context->saved_data["index"].toInt());
        auto* const network = reinterpret_cast<RehearsedNetwork*>(
            static_cast<std::intptr_t>(context->saved_data["network"].toInt()));
        network->backward(index);
        at::Tensor const& parameter = network->tensors_[index];
        return {gradients[0],
                at::zeros(parameter.sizes(), parameter.options().requires_grad(false)), Variable(),
                Variable()};
    }
};

RehearsedNetwork::RehearsedNetwork(Parameters const& trained, Options const& options)
    : options_(options),
      parameters_(at::TensorOptions().dtype(options.type).device(options.device.torch())) {
    std::vector<NamedTensor const*> sizes;
    for (NamedTensor const& each : trained.all())
        if (each.kind == TensorKind::trainable) sizes.push_back(&each);
    before_ = shares_before(sizes);
    parameters_.delay_memory(options.divides);
    for (NamedTensor const* each : sizes) {
        units_.push_back(trained.unit_of(*each));
        parameters_.enter_unit(units_.back());
        tensors_.push_back(parameters_.add(each->name, each->tensor.sizes()));
    }
    parameters_.initialise([](NamedTensor const&, at::Tensor const& values) { values.zero_(); });
}

void RehearsedNetwork::begin_step(std::function<double()> waited_s) {
    start_ = Clock::now();
    waited_s_ = std::move(waited_s);
    synchronised_s_ = 0;
}

void RehearsedNetwork::work(double planned_s) {
    if (options_.device.is_gpu()) {
        auto const before = Clock::now();
        options_.device.synchronize();
        synchronised_s_ += std::chrono::duration<double>(Clock::now() - before).count();
    }
    std::chrono::duration<double> const since_start(planned_s + waited_s_() + synchronised_s_);
    options_.work.until(start_ + std::chrono::duration_cast<Clock::duration>(since_start));
}

void RehearsedNetwork::backward(std::size_t index) {
    work(backward_begin_s_ + (1 - before_[index]) * backward_s_);
}

at::Tensor RehearsedNetwork::forward(double begin_s, double forward_s, double backward_s) {
    backward_begin_s_ = begin_s + forward_s;
    backward_s_ = backward_s;
    at::Tensor x = at::zeros({}, at::TensorOptions().device(options_.device.torch()));
    auto const self = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(this));
    std::size_t next = 0;
    for (std::size_t unit = 0; next < tensors_.size(); ++unit) {
        parameters_.open_unit(unit);
        std::size_t end = next;
        while (end < tensors_.size() && units_[end] <= unit) ++end;
        work(begin_s + before_[end] * forward_s);
        for (; next < end; ++next)
            x = Touch::apply(x, tensors_[next], self, static_cast<std::int64_t>(next));
        // As networks do: what embedders give is read by all blocks.
        if (unit == 0)
            parameters_.close_unit(unit, {});
        else
            parameters_.close_unit(unit, {x});
    }
    work(begin_s + forward_s);
    return x;
}

}  // namespace osora::worker
