// How ShardedParameters begins: which bucket each parameter is in, and its first values there.
#include "base/check.hpp"
#include "worker/model/parameters.hpp"
#include "worker/model/storage_bytes.hpp"
#include "worker/parallel/sharding/sharded_parameters.hpp"
#include "worker/parallel/with_peers.hpp"

#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace osora::worker {
namespace {

/// Alignment that suits vector instructions and cuBLAS.
constexpr std::int64_t kAlignBytes = 64;

std::vector<std::int64_t> items_of(std::vector<at::Tensor> const& parameters) {
    std::vector<std::int64_t> items;
    for (at::Tensor const& parameter : parameters) {
        OSORA_CHECK(parameter.scalar_type() == parameters.front().scalar_type());
        items.push_back(parameter.numel());
    }
    return items;
}

/// First parameters of units 0, 1, ...; of one without parameters the next one's.
std::vector<std::size_t> unit_starts(std::vector<std::size_t> const& units) {
    std::vector<std::size_t> starts{0};
    for (std::size_t i = 0; i < units.size(); ++i)
        while (starts.size() <= units[i]) starts.push_back(i);
    return starts;
}

}  // namespace

class ShardedParameters::Hook : public torch::autograd::PostAccumulateGradHook {
public:
    Hook(ShardedParameters& owner, std::size_t index) : owner_(owner), index_(index) {}
    void operator()(at::Tensor const&) override {
        if (!owner_.active_) return;
        with_peers("reduce_scatter of gradients", [&] { owner_.take(index_); });
    }

private:
    ShardedParameters& owner_;
    std::size_t index_;
};

ShardedParameters::ShardedParameters(TrainedSet set, ShardGroups groups,
                                     DataParallelOptions const& options, Parameters* network)
    : collectives_(std::move(groups.shards), options.label), options_(options), network_(network) {
    if (groups.copies) {
        first_copy_ = groups.copies->rank() == 0;
        between_copies_.emplace(std::move(*groups.copies), options.label + "copied ");
    }
    // A network that never announces what it reads next keeps everything.
    if (set.units.empty() || set.units.back() == 0)
        options_.zero_stage = std::min(2, options.zero_stage);
    move_in(set);
    if (network_ != nullptr) network_->add_gate(*this);
}

ShardedParameters::~ShardedParameters() {
    if (network_ != nullptr) network_->remove_gate(*this);
    for (Slot const& slot : slots_)
        torch::autograd::impl::post_acc_grad_hooks(slot.parameter).reset();
}

ShardLayout ShardedParameters::layout_of(TrainedSet const& set) const {
    auto const items = items_of(set.tensors);
    auto const element = static_cast<std::int64_t>(set.tensors.front().element_size());
    ShardLayoutOptions options{.bucket_items = bucket_items_of(options_.bucket_mib, element),
                               .shards = collectives_.ranks(),
                               .align_items = kAlignBytes / element,
                               .groups = {}};
    if (is_per_parameter()) {
        options.groups.resize(items.size());
        std::iota(options.groups.begin(), options.groups.end(), std::size_t{0});
    } else if (options_.zero_stage == 3) {
        options.groups = group_units(items, unit_starts(set.units), options.bucket_items);
    }
    return lay_out_shards(items, options);
}

/// A parameter of this unit is in these buckets.
void ShardedParameters::note_unit(std::size_t index, ShardLayout::Slot const& slot) {
    if (units_.size() <= index) units_.resize(index + 1);
    Unit& unit = units_[index];
    unit.first_bucket =
        unit.any ? std::min(unit.first_bucket, slot.first_bucket) : slot.first_bucket;
    unit.last_bucket = unit.any ? std::max(unit.last_bucket, slot.last_bucket) : slot.last_bucket;
    unit.any = true;
    for (std::size_t b = slot.first_bucket; b <= slot.last_bucket; ++b)
        last_unit_[b] = std::max(last_unit_[b], index);
}

/// In stage 3 buckets have separate storages; else they are pieces of `flat`, as a parameter may
/// span two of them.
void ShardedParameters::add_bucket(ShardLayout::Bucket const& bucket, at::Tensor const& flat,
                                   at::TensorOptions const& tensor_options) {
    bool const whole = flat.defined();
    ShardedBucket::Keeps const keeps{.values = whole,
                                     .gradients = options_.zero_stage == 1,
                                     .gradient_type = options_.reduce_type};
    buckets_.emplace_back(collectives_,
                          whole ? flat.narrow(0, bucket.offset, bucket.items)
                                : at::zeros({bucket.items}, tensor_options),
                          keeps);
}

/// The last parameter first: in stage 3 a bucket is cut down to this rank's part before the next
/// one gets memory.
void ShardedParameters::move_in(TrainedSet const& set) {
    at::NoGradGuard const no_grad;
    auto const& parameters = set.tensors;
    auto const layout = layout_of(set);
    auto const tensor_options = parameters.front().options().requires_grad(false);
    auto const& last = layout.buckets.back();
    at::Tensor const flat = options_.zero_stage < 3
                                ? at::zeros({last.offset + last.items}, tensor_options)
                                : at::Tensor();
    slots_.resize(parameters.size());
    last_unit_.resize(layout.buckets.size());
    for (std::size_t i = parameters.size(); i-- > 0;) {
        auto const& slot = layout.slots[i];
        while (buckets_.size() <= slot.last_bucket) {
            if (!buckets_.empty()) buckets_.back().adopt();
            add_bucket(layout.buckets[buckets_.size()], flat, tensor_options);
        }
        std::int64_t const offset = slot.offset - layout.buckets[slot.first_bucket].offset;
        at::Tensor const home =
            flat.defined() ? flat.narrow(0, slot.offset, slot.items)
                           : buckets_[slot.first_bucket].values().narrow(0, offset, slot.items);
        at::Tensor parameter = parameters[i];
        at::Tensor const values = home.view(parameter.sizes());
        if (has_memory(parameter))
            values.copy_(parameter.detach());
        else
            set.source->write_values(parameter, values);
        parameter.set_data(values);
        slots_[i] = {parameter, slot.first_bucket, slot.last_bucket, offset, false};
        note_unit(set.units[i], slot);
        torch::autograd::impl::set_post_acc_grad_hooks(parameter, std::make_unique<Hook>(*this, i));
    }
    buckets_.back().adopt();
    inner_end_ = std::ranges::find_if(units_, &Unit::any)->first_bucket;
    inner_first_ = units_.back().last_bucket + 1;
    missing_.resize(buckets_.size());
    add_pieces(layout);
}

void ShardedParameters::add_pieces(ShardLayout const& layout) {
    for (auto const& piece : layout.pieces(collectives_.rank())) {
        ShardedBucket const& bucket = buckets_[piece.bucket];
        at::Tensor const values = bucket.own().narrow(0, piece.at, piece.items);
        values.mutable_grad() = bucket.own_gradient().narrow(0, piece.at, piece.items);
        pieces_.push_back({piece.parameter, piece.first, values, first_copy_});
    }
}

}  // namespace osora::worker
