#include "worker/parallel/sharding/grad_reducer.hpp"

#include "base/check.hpp"
#include "worker/memory/out_of_memory.hpp"
#include "worker/parallel/sharding/gradient_norm.hpp"
#include "worker/parallel/sharding/gradient_sums.hpp"
#include "worker/parallel/step_collectives.hpp"

#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <string>
#include <utility>

namespace osora::worker {

// A bucket is reduced when all its parameters are there and all buckets before it have been
// started: then every rank starts them in the same order, whatever the order of its backward pass.
struct GradReducer::Impl {
    struct Slot {
        at::Tensor travelling;  // of the buckets, shaped as the parameter
        at::Tensor gradient;    // the same, or in the type of the parameter: it holds more
        std::size_t first_bucket = 0, last_bucket = 0;
        bool ready = false;
    };
    struct Bucket {
        std::size_t parameters = 0, missing = 0;
        StepCollectives::Started reducing;
    };
    class Hook;

    Impl(std::vector<at::Tensor> params, std::optional<Group> joined, std::string const& label)
        : parameters(std::move(params)) {
        for (std::size_t i = 0; i < parameters.size(); ++i)
            pieces_.push_back({i, 0, parameters[i]});
        if (joined && joined->world_size() > 1) collectives.emplace(std::move(*joined), label);
    }

    void lay_out(DataParallelOptions const& options);
    void take(std::size_t index);
    void start_full_buckets();
    void start(std::size_t bucket);
    void reduce_one_by_one();
    Result<void> wait();

    std::vector<at::Tensor> parameters;
    std::vector<ParameterPiece> pieces_;
    std::optional<StepCollectives> collectives;  // nullopt: one rank
    ReduceWay way = ReduceWay::overlapped;
    std::vector<Slot> slots;  // one for each parameter; empty without collectives
    std::vector<Bucket> buckets;
    std::vector<at::Tensor> pieces;   // what travels, cut into buckets
    std::vector<at::Tensor> results;  // the same in the type of the parameters; empty: it stays
    bool active = false;              // between begin and finish
    bool abandoned = false;           // a pass of this step
    double scale = 1;
    at::Tensor scale_tensor;  // 0-d, what the copies multiply by
    std::size_t started = 0;  // buckets
    std::string failure;      // of starting a collective inside backward
};

/// Called by the autograd engine when a parameter's gradient of this backward pass is complete.
class GradReducer::Impl::Hook : public torch::autograd::PostAccumulateGradHook {
public:
    Hook(Impl& impl, std::size_t index) : impl_(impl), index_(index) {}
    void operator()(at::Tensor const&) override {
        if (impl_.active) impl_.take(index_);
    }

private:
    Impl& impl_;
    std::size_t index_;
};

void GradReducer::Impl::lay_out(DataParallelOptions const& options) {
    way = options.way;
    std::vector<std::int64_t> items;
    for (auto const& parameter : parameters) {
        OSORA_CHECK(parameter.scalar_type() == parameters.front().scalar_type());
        items.push_back(parameter.numel());
    }
    auto const item_bytes = static_cast<std::int64_t>(parameters.front().element_size());
    auto const layout =
        lay_out_buckets(items, bucket_items_of(options.bucket_mib, item_bytes), way);
    auto const own = parameters.front().options().requires_grad(false);
    auto const type = options.reduce_type.value_or(parameters.front().scalar_type());
    at::Tensor const flat = at::empty({layout.items()}, own.dtype(type));
    // The norm and the optimizer read sums in fp32 as they are.
    bool const stays = type == parameters.front().scalar_type() || type == at::kFloat;
    at::Tensor const result = stays ? flat : at::empty({layout.items()}, own);
    std::int64_t at = 0;
    for (std::int64_t const count : layout.bucket_items) {
        pieces.push_back(flat.narrow(0, at, count));
        if (!stays) results.push_back(result.narrow(0, at, count));
        at += count;
    }
    buckets.resize(pieces.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        auto const& slot = layout.slots[i];
        auto const place_in = [&](at::Tensor const& whole) {
            return whole.narrow(0, slot.offset, items[i]).view(parameters[i].sizes());
        };
        slots.push_back(
            {place_in(flat), place_in(result), slot.first_bucket, slot.last_bucket, false});
        for (std::size_t b = slot.first_bucket; b <= slot.last_bucket; ++b) ++buckets[b].parameters;
    }
    for (std::size_t i = 0; i < parameters.size(); ++i)
        torch::autograd::impl::set_post_acc_grad_hooks(parameters[i],
                                                       std::make_unique<Hook>(*this, i));
}

/// Copies and scales the gradient into its place, where the parameter keeps it from then on.
void GradReducer::Impl::take(std::size_t index) {
    auto& slot = slots[index];
    OSORA_CHECK(!slot.ready, "one backward pass between begin and finish");
    at::NoGradGuard const no_grad;
    at::Tensor& gradient = parameters[index].mutable_grad();
    if (gradient.defined())
        at::mul_out(slot.travelling, gradient, scale_tensor);
    else
        slot.travelling.zero_();
    gradient = slot.gradient;
    slot.ready = true;
    for (std::size_t b = slot.first_bucket; b <= slot.last_bucket; ++b) --buckets[b].missing;
    if (way == ReduceWay::overlapped) start_full_buckets();
}

void GradReducer::Impl::start(std::size_t bucket) {
    buckets[bucket].reducing = collectives->all_reduce(pieces[bucket]);
    started = bucket + 1;
}

void GradReducer::Impl::start_full_buckets() {
    try {
        while (started < buckets.size() && buckets[started].missing == 0 && failure.empty())
            start(started);
    } catch (std::exception const& error) {
        if (is_out_of_memory(error)) throw;
        failure = error.what();
    }
}

/// The known-bad way: nothing overlaps, and every rank waits for all others twice more a step.
void GradReducer::Impl::reduce_one_by_one() {
    try {
        collectives->barrier();
        for (std::size_t b = 0; b < buckets.size(); ++b) {
            start(b);
            collectives->wait(buckets[b].reducing);
        }
        collectives->barrier();
    } catch (std::exception const& error) {
        if (is_out_of_memory(error)) throw;
        failure = error.what();
    }
}

Result<void> GradReducer::Impl::wait() {
    if (way == ReduceWay::per_parameter)
        reduce_one_by_one();
    else
        start_full_buckets();
    for (std::size_t b = 0; b < started; ++b) {
        try {
            auto& reducing = buckets[b].reducing;
            if (reducing.work && failure.empty()) collectives->wait(reducing);
            reducing = {};
            at::NoGradGuard const no_grad;
            if (!results.empty()) results[b].copy_(pieces[b]);
        } catch (std::exception const& error) {
            if (is_out_of_memory(error)) throw;
            failure = error.what();
        }
    }
    if (failure.empty()) return {};
    return Error{Errc::unreachable,
                 "all_reduce of gradients: " + failure.substr(0, failure.find('\n'))};
}

GradReducer::GradReducer(std::vector<at::Tensor> parameters, std::optional<Group> group,
                         DataParallelOptions const& options)
    : impl_(std::make_unique<Impl>(std::move(parameters), std::move(group), options.label)) {
    OSORA_CHECK(!impl_->parameters.empty() && options.bucket_mib > 0);
    if (impl_->collectives) impl_->lay_out(options);
}

GradReducer::~GradReducer() {
    for (std::size_t i = 0; i < impl_->slots.size(); ++i)
        torch::autograd::impl::post_acc_grad_hooks(impl_->parameters[i]).reset();
}

std::vector<ParameterPiece> const& GradReducer::pieces() const {
    return impl_->pieces_;
}

double GradReducer::waited_s() const {
    return impl_->collectives ? impl_->collectives->waited_s() : 0;
}

std::vector<protocol::CollectiveCost> GradReducer::costs(double exposed_s) const {
    if (!impl_->collectives) return {};
    return impl_->collectives->costs(exposed_s);
}

at::Tensor GradReducer::norm() {
    if (impl_->slots.empty() && impl_->abandoned)
        return at::full({}, std::numeric_limits<float>::quiet_NaN(), at::kFloat);
    // Computed per tensor even if the gradients are in flat buckets: the fp32 sum over a long
    // bucket differs by 1e-5, and the norm must not depend on the number of ranks. Reduced
    // gradients have the same bits on every rank.
    return global_norm(gradients_of(impl_->parameters));
}

void GradReducer::begin_step() {
    impl_->abandoned = false;
    if (impl_->collectives) impl_->collectives->begin();
}

void GradReducer::begin(BackwardPass const& pass) {
    OSORA_CHECK(!impl_->active, "finish() ends what begin() started");
    if (pass.accumulates)
        for (at::Tensor const& parameter : impl_->parameters) sum_in_fp32(parameter);
    if (!pass.last) return;
    impl_->scale_tensor = at::scalar_tensor(pass.scale, at::kDouble);  // may fail: nothing began
    impl_->active = true;
    impl_->scale = pass.scale;
    impl_->started = 0;
    for (auto& slot : impl_->slots) slot.ready = false;
    for (auto& bucket : impl_->buckets) bucket.missing = bucket.parameters;
}

Result<void> GradReducer::finish() {
    if (!std::exchange(impl_->active, false)) return {};
    if (impl_->slots.empty()) {
        at::NoGradGuard const no_grad;
        // As with several ranks, which cannot know whether the others' passes reached it.
        for (at::Tensor& parameter : impl_->parameters)
            if (!parameter.grad().defined()) parameter.mutable_grad() = at::zeros_like(parameter);
        if (impl_->scale != 1) at::_foreach_mul_(gradients_of(impl_->parameters), impl_->scale);
        return {};
    }
    // Parameters that this backward pass did not reach: what earlier micro-batches left, or zero.
    for (std::size_t i = impl_->slots.size(); i-- > 0;)
        if (!impl_->slots[i].ready) impl_->take(i);
    return impl_->wait();
}

/// Buckets that have not been started become NaN.
Result<void> GradReducer::abandon() {
    impl_->abandoned = true;
    if (!std::exchange(impl_->active, false) || impl_->slots.empty()) return {};
    at::NoGradGuard const no_grad;
    for (std::size_t b = impl_->started; b < impl_->buckets.size(); ++b) {
        impl_->pieces[b].fill_(std::numeric_limits<double>::quiet_NaN());
        impl_->buckets[b].missing = 0;
    }
    for (std::size_t i = 0; i < impl_->slots.size(); ++i)
        impl_->parameters[i].mutable_grad() = impl_->slots[i].gradient;
    return impl_->wait();
}

}  // namespace osora::worker
