#include "worker/parallel/grad_reducer.hpp"

#include "base/check.hpp"
#include "worker/parallel/gradient_collectives.hpp"

#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

namespace osora::worker {

// A bucket is reduced when all its parameters are there and all buckets before it have been
// started: then every rank starts them in the same order, whatever the order of its backward pass.
struct GradReducer::Impl {
    struct Slot {
        at::Tensor gradient;  // view of flat, shaped as the parameter
        std::size_t first_bucket = 0, last_bucket = 0;
        bool ready = false;
    };
    struct Bucket {
        std::size_t parameters = 0, missing = 0;
        c10::intrusive_ptr<c10d::Work> work;
    };
    class Hook;

    Impl(std::vector<at::Tensor> params, std::optional<Group> joined)
        : parameters(std::move(params)) {
        if (joined && joined->world_size() > 1) collectives.emplace(std::move(*joined));
    }

    void lay_out(ReduceOptions const& options);
    void take(std::size_t index);
    void start_full_buckets();
    void start(std::size_t bucket);
    void reduce_one_by_one();
    Result<ReduceStats> wait();

    std::vector<at::Tensor> parameters;
    std::optional<GradientCollectives> collectives;  // nullopt: one rank
    ReduceWay way = ReduceWay::overlapped;
    std::vector<Slot> slots;  // one for each parameter; empty without collectives
    std::vector<Bucket> buckets;
    std::vector<at::Tensor> pieces;  // flat, cut into buckets
    bool active = false;             // between begin and finish
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

void GradReducer::Impl::lay_out(ReduceOptions const& options) {
    way = options.way;
    std::vector<std::int64_t> items;
    for (auto const& parameter : parameters) {
        OSORA_CHECK(parameter.scalar_type() == parameters.front().scalar_type());
        items.push_back(parameter.numel());
    }
    auto const item_bytes = static_cast<std::int64_t>(parameters.front().element_size());
    auto const layout =
        lay_out_buckets(items, bucket_items_of(options.bucket_mib, item_bytes), way);
    at::Tensor const flat =
        at::empty({layout.items()}, parameters.front().options().requires_grad(false));
    std::int64_t at = 0;
    for (std::int64_t const count : layout.bucket_items) {
        pieces.push_back(flat.narrow(0, at, count));
        at += count;
    }
    buckets.resize(pieces.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        auto const& slot = layout.slots[i];
        slots.push_back({flat.narrow(0, slot.offset, items[i]).view(parameters[i].sizes()),
                         slot.first_bucket, slot.last_bucket, false});
        for (std::size_t b = slot.first_bucket; b <= slot.last_bucket; ++b) ++buckets[b].parameters;
    }
    for (std::size_t i = 0; i < parameters.size(); ++i)
        torch::autograd::impl::set_post_acc_grad_hooks(parameters[i],
                                                       std::make_unique<Hook>(*this, i));
}

/// Copies and scales the gradient into its place, where the parameter keeps it from now on.
void GradReducer::Impl::take(std::size_t index) {
    auto& slot = slots[index];
    OSORA_CHECK(!slot.ready, "one backward pass between begin and finish");
    at::NoGradGuard const no_grad;
    at::Tensor& gradient = parameters[index].mutable_grad();
    if (gradient.defined())
        at::mul_out(slot.gradient, gradient, scale_tensor);
    else
        slot.gradient.zero_();
    gradient = slot.gradient;
    slot.ready = true;
    for (std::size_t b = slot.first_bucket; b <= slot.last_bucket; ++b) --buckets[b].missing;
    if (way == ReduceWay::overlapped) start_full_buckets();
}

void GradReducer::Impl::start(std::size_t bucket) {
    buckets[bucket].work = collectives->all_reduce(pieces[bucket]);
    started = bucket + 1;
}

void GradReducer::Impl::start_full_buckets() {
    try {
        while (started < buckets.size() && buckets[started].missing == 0 && failure.empty())
            start(started);
    } catch (std::exception const& error) {
        failure = error.what();
    }
}

/// The known-bad way: nothing overlaps, and every rank waits for all others twice more a step.
void GradReducer::Impl::reduce_one_by_one() {
    try {
        collectives->barrier();
        for (std::size_t b = 0; b < buckets.size(); ++b) {
            start(b);
            buckets[b].work->wait();
        }
        collectives->barrier();
    } catch (std::exception const& error) {
        failure = error.what();
    }
}

Result<ReduceStats> GradReducer::Impl::wait() {
    auto const begin = std::chrono::steady_clock::now();
    if (way == ReduceWay::per_parameter)
        reduce_one_by_one();
    else
        start_full_buckets();
    ReduceStats stats;
    for (std::size_t b = 0; b < started; ++b) {
        try {
            auto const work = std::exchange(buckets[b].work, nullptr);
            if (failure.empty()) work->wait();
        } catch (std::exception const& error) {
            failure = error.what();
        }
        ++stats.collectives;
        stats.bytes += static_cast<std::int64_t>(pieces[b].nbytes());
    }
    if (!failure.empty())
        return Error{Errc::unreachable,
                     "all_reduce of gradients: " + failure.substr(0, failure.find('\n'))};
    std::chrono::duration<double> const waited = std::chrono::steady_clock::now() - begin;
    stats.exposed_wait_s = waited.count();
    return stats;
}

GradReducer::GradReducer(std::vector<at::Tensor> parameters, std::optional<Group> group,
                         ReduceOptions const& options)
    : impl_(std::make_unique<Impl>(std::move(parameters), std::move(group))) {
    OSORA_CHECK(!impl_->parameters.empty() && options.bucket_mib > 0);
    if (impl_->collectives) impl_->lay_out(options);
}

GradReducer::~GradReducer() {
    if (impl_ == nullptr) return;
    for (std::size_t i = 0; i < impl_->slots.size(); ++i)
        torch::autograd::impl::post_acc_grad_hooks(impl_->parameters[i]).reset();
}
GradReducer::GradReducer(GradReducer&&) noexcept = default;

std::vector<at::Tensor> const& GradReducer::buckets() const {
    return impl_->pieces;
}

std::vector<protocol::CollectiveCost> GradReducer::costs(double exposed_s) const {
    if (!impl_->collectives) return {};
    return impl_->collectives->costs(exposed_s);
}

void GradReducer::begin(double scale) {
    OSORA_CHECK(!impl_->active, "finish() ends what begin() started");
    impl_->active = true;
    impl_->scale = scale;
    impl_->started = 0;
    if (impl_->collectives) impl_->collectives->begin();
    impl_->scale_tensor = at::scalar_tensor(scale, at::kDouble);
    for (auto& slot : impl_->slots) slot.ready = false;
    for (auto& bucket : impl_->buckets) bucket.missing = bucket.parameters;
}

Result<ReduceStats> GradReducer::finish() {
    OSORA_CHECK(impl_->active, "begin() comes first");
    impl_->active = false;
    if (impl_->slots.empty()) {
        if (impl_->scale == 1) return ReduceStats{};
        at::NoGradGuard const no_grad;
        std::vector<at::Tensor> gradients;
        for (auto const& parameter : impl_->parameters)
            if (parameter.grad().defined()) gradients.push_back(parameter.grad());
        if (!gradients.empty()) at::_foreach_mul_(gradients, impl_->scale);
        return ReduceStats{};
    }
    // Parameters that this backward pass did not reach: what earlier micro-batches left, or zero.
    for (std::size_t i = impl_->slots.size(); i-- > 0;)
        if (!impl_->slots[i].ready) impl_->take(i);
    return impl_->wait();
}

}  // namespace osora::worker
