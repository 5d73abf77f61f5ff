#include "worker/parallel/sharding/sharded_bucket.hpp"

#include "base/check.hpp"
#include "worker/model/storage_bytes.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <utility>

namespace osora::worker {
ShardedBucket::ShardedBucket(StepCollectives& collectives, at::Tensor values, Keeps keeps)
    : collectives_(collectives), keeps_(keeps), values_(std::move(values)) {
    std::int64_t const items = values_.numel(), part = items / collectives.ranks();
    OSORA_CHECK_EQ(part * collectives.ranks(), items);
    own_ = keeps.values ? values_.narrow(0, collectives.rank() * part, part)
                        : at::empty({part}, values_.options());
    own_gradient_ = at::zeros({part}, values_.options().dtype(at::kFloat));
    gradient_options_ =
        values_.options().dtype(keeps.gradient_type.value_or(values_.scalar_type()));
    if (keeps.gradients) gradients_ = at::zeros({items}, gradient_options_);
}

void ShardedBucket::adopt() {
    if (keeps_.values) return;
    at::NoGradGuard const no_grad;
    own_.copy_(values_.narrow(0, collectives_.rank() * own_.numel(), own_.numel()));
    release();
}

void ShardedBucket::start_gather() {
    if (!keeps_.values && !gathered_)
        set_storage_bytes(values_, static_cast<std::size_t>(values_.numel()) *
                                       static_cast<std::size_t>(values_.element_size()));
    gathered_ = true;
    gathering_ = collectives_.all_gather(values_, own_);
}

void ShardedBucket::finish_gather() {
    if (!gathering_) return;
    auto started = std::exchange(gathering_, std::nullopt);
    collectives_.wait(*started);
}

void ShardedBucket::release() {
    if (keeps_.values || !gathered_) return;
    finish_gather();
    set_storage_bytes(values_, 0);
    gathered_ = false;
}

at::Tensor const& ShardedBucket::gradients() {
    if (is_reducing()) finish_reduce();
    if (!gradients_.defined()) gradients_ = at::empty({values_.numel()}, gradient_options_);
    return gradients_;
}

void ShardedBucket::start_reduce() {
    reducing_ = collectives_.reduce_scatter(gradients());
    if (!keeps_.gradients) gradients_ = at::Tensor();
}

void ShardedBucket::finish_reduce() {
    auto started = std::exchange(reducing_, std::nullopt);
    collectives_.wait(*started);
    StepCollectives::take_sum(*started, own_gradient_, std::exchange(reduced_, true));
}

bool ShardedBucket::is_reduced() const {
    return reducing_ && reducing_->work->isCompleted();
}

}  // namespace osora::worker
