// Every rank starts its collectives in the same order, whatever the order of its backward pass:
// buckets are reduced in their own order, and in stage 3 reductions and gathers start at the
// borders of units, which every rank passes alike.
#include "worker/parallel/sharding/sharded_parameters.hpp"

#include "base/check.hpp"
#include "worker/memory/out_of_memory.hpp"
#include "worker/parallel/sharding/gradient_norm.hpp"
#include "worker/parallel/sharding/gradient_sums.hpp"
#include "worker/parallel/with_peers.hpp"

#include <ATen/ops/mul.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <utility>

namespace osora::worker {
namespace {

/// Reductions under way at a time in stages 2 and 3: each holds a bucket and what it receives.
constexpr std::size_t kInFlight = 4;

}  // namespace

void ShardedParameters::begin_step() {
    if (!std::exchange(counting_, false)) collectives_.begin();
    if (between_copies_) between_copies_->begin();
    for (ShardedBucket& bucket : buckets_) bucket.begin_step();
}

void ShardedParameters::begin(BackwardPass const& pass) {
    OSORA_CHECK(!active_, "finish() ends what begin() started");
    // In stage 1 earlier passes accumulate in autograd's own gradients; else each is reduced, and
    // added to this rank's part in fp32.
    bool const reduces = pass.last || options_.zero_stage > 1;
    if (pass.accumulates && options_.zero_stage == 1)
        for (Slot const& slot : slots_) sum_in_fp32(slot.parameter);
    if (reduces) scale_ = at::scalar_tensor(pass.scale, at::kDouble);  // may fail: nothing began
    active_ = reduces;
    last_pass_ = pass.last;
    if (!active_) return;
    started_ = 0;
    std::ranges::fill(missing_, std::size_t{0});
    for (Slot& slot : slots_) {
        slot.taken = false;
        for (std::size_t b = slot.first_bucket; b <= slot.last_bucket; ++b) ++missing_[b];
    }
}

/// Copies and scales the gradient into its buckets, and drops it.
void ShardedParameters::take(std::size_t index) {
    Slot& slot = slots_[index];
    OSORA_CHECK(!slot.taken, "one backward pass between begin and finish");
    at::NoGradGuard const no_grad;
    at::Tensor& gradient = slot.parameter.mutable_grad();
    at::Tensor const flat = gradient.defined() ? gradient.reshape(-1) : at::Tensor();
    std::int64_t const items = slot.parameter.numel();
    std::int64_t at = slot.offset;
    for (std::int64_t done = 0, b = static_cast<std::int64_t>(slot.first_bucket); done < items;
         ++b) {
        ShardedBucket& bucket = buckets_[static_cast<std::size_t>(b)];
        at::Tensor const& into = bucket.gradients();
        std::int64_t const count = std::min(items - done, into.numel() - at);
        at::Tensor target = into.narrow(0, at, count);
        if (flat.defined())
            at::mul_out(target, flat.narrow(0, done, count), scale_);
        else
            target.zero_();
        --missing_[static_cast<std::size_t>(b)];
        done += count;
        at = 0;
    }
    gradient = at::Tensor();
    slot.taken = true;
    bool const at_borders = options_.zero_stage == 3;
    if (overlaps() && !at_borders) start_full_buckets();
}

/// Parameters that this pass did not reach: what earlier passes left, or zero.
void ShardedParameters::take_rest_of(std::size_t bucket) {
    if (missing_[bucket] == 0) return;
    for (std::size_t i = slots_.size(); i-- > 0;) {
        Slot const& slot = slots_[i];
        if (!slot.taken && slot.first_bucket <= bucket && bucket <= slot.last_bucket) take(i);
    }
}

/// Of the reductions in flight; one may already be finished, to make room for the next pass.
void ShardedParameters::finish_oldest() {
    std::size_t const bucket = in_flight_.front();
    ShardedBucket& oldest = buckets_[bucket];
    in_flight_.pop_front();
    if (oldest.is_reducing()) finish_reduce(bucket);
}

/// In the last pass the sums of the copies' passes are added between the copies.
void ShardedParameters::finish_reduce(std::size_t bucket) {
    buckets_[bucket].finish_reduce();
    if (!between_copies_ || !last_pass_) return;
    sums_.push_back(between_copies_->all_reduce(buckets_[bucket].own_gradient()));
}

void ShardedParameters::finish_sums() {
    for (; !sums_.empty(); sums_.pop_front()) between_copies_->wait(sums_.front());
}

/// With copies all ranks start the collectives of both groups in one order, as NCCL asks for: a
/// reduction is not finished early because it happens to be done.
void ShardedParameters::reduce(std::size_t bucket) {
    bool const one_group = !between_copies_;
    std::size_t const most = options_.zero_stage == 1 && one_group ? buckets_.size() : kInFlight;
    while (!in_flight_.empty() &&
           (in_flight_.size() >= most || (one_group && buckets_[in_flight_.front()].is_reduced())))
        finish_oldest();
    buckets_[bucket].start_reduce();
    in_flight_.push_back(bucket);
    started_ = bucket + 1;
}

void ShardedParameters::start_full_buckets() {
    while (started_ < buckets_.size() && missing_[started_] == 0) reduce(started_);
}

Result<void> ShardedParameters::finish() {
    if (!std::exchange(active_, false)) return {};
    try {
        if (is_per_parameter()) collectives_.barrier();
        for (std::size_t b = started_; b < buckets_.size(); ++b) {
            take_rest_of(b);
            if (started_ <= b) reduce(b);  // else the last of the rest has started it
            while (!overlaps() && !in_flight_.empty()) finish_oldest();
            if (b < inner_end_) buckets_[b].release();
        }
        while (!in_flight_.empty()) finish_oldest();
        finish_sums();
        if (is_per_parameter()) collectives_.barrier();
    } catch (std::exception const& error) {
        if (is_out_of_memory(error)) throw;
        std::string const why = error.what();
        return Error{Errc::unreachable,
                     "reduce_scatter of gradients: " + why.substr(0, why.find('\n'))};
    }
    return {};
}

/// Buckets that have not been started become NaN.
Result<void> ShardedParameters::abandon() {
    if (options_.zero_stage == 3)
        return Error{Errc::out_of_memory, "peers gather parameters in each pass (zero_stage 3)"};
    if (!active_) return {};
    at::NoGradGuard const no_grad;
    for (Slot& slot : slots_) {
        slot.parameter.mutable_grad() = at::Tensor();
        slot.taken = true;
    }
    for (std::size_t b = started_; b < buckets_.size(); ++b) {
        buckets_[b].gradients().fill_(std::numeric_limits<double>::quiet_NaN());
        missing_[b] = 0;
    }
    return finish();
}

at::Tensor ShardedParameters::norm() {
    return with_peers("norm of gradients", [&] {
        std::vector<at::Tensor> gradients;
        for (ParameterPiece const& piece : pieces_) gradients.push_back(piece.values.grad());
        at::Tensor const square = global_norm(gradients).to(at::kDouble).square().view({1});
        auto started = collectives_.sum_norms(square);
        collectives_.wait(started);
        return square.sqrt().to(at::kFloat).select(0, 0);
    });
}

/// In the order in which the next forward pass reads them.
double ShardedParameters::publish() {
    collectives_.begin();
    counting_ = true;
    with_peers("all_gather of parameters", [&] {
        if (is_per_parameter()) collectives_.barrier();
        for (std::size_t b = buckets_.size(); b-- > 0;) {
            if (options_.zero_stage == 3) {
                buckets_[b].release();
                continue;
            }
            buckets_[b].start_gather();
            if (!overlaps() || units_.size() == 1) buckets_[b].finish_gather();
        }
        if (is_per_parameter()) collectives_.barrier();
    });
    return collectives_.waited_s();
}

double ShardedParameters::waited_s() const {
    return collectives_.waited_s() + (between_copies_ ? between_copies_->waited_s() : 0);
}

std::vector<protocol::CollectiveCost> ShardedParameters::costs(double exposed_s) const {
    if (!between_copies_) return collectives_.costs(exposed_s);
    double const between_s = between_copies_->waited_s();
    auto costs = collectives_.costs(exposed_s - between_s);
    std::ranges::move(between_copies_->costs(between_s), std::back_inserter(costs));
    return costs;
}

/// Stage 3: the buckets of the unit, and the start of the next one on the way.
void ShardedParameters::gather_for(std::size_t unit, bool backward) {
    Unit const& needed = units_[unit];
    auto const start = [&](std::size_t b) {
        if (!buckets_[b].is_gathered()) buckets_[b].start_gather();
    };
    for (std::size_t b = needed.first_bucket; b <= needed.last_bucket; ++b) start(b);
    if (overlaps() && backward && needed.last_bucket + 1 < buckets_.size())
        start(needed.last_bucket + 1);
    if (overlaps() && !backward && needed.first_bucket > 0) start(needed.first_bucket - 1);
    for (std::size_t b = needed.first_bucket; b <= needed.last_bucket; ++b)
        buckets_[b].finish_gather();
}

void ShardedParameters::open(std::size_t unit) {
    if (unit >= units_.size() || !units_[unit].any) return;
    with_peers("all_gather of parameters", [&] {
        if (options_.zero_stage == 3) return gather_for(unit, false);
        for (std::size_t b = units_[unit].first_bucket; b <= units_[unit].last_bucket; ++b)
            buckets_[b].finish_gather();
    });
}

void ShardedParameters::close(std::size_t unit, std::initializer_list<at::Tensor> outputs) {
    if (options_.zero_stage < 3 || unit >= units_.size() || !units_[unit].any) return;
    for (std::size_t b = units_[unit].first_bucket; b <= units_[unit].last_bucket; ++b)
        if (last_unit_[b] == unit && b >= inner_first_ && b < inner_end_) buckets_[b].release();
    for (at::Tensor const& output : outputs) {
        if (!output.requires_grad()) continue;
        output.register_hook([this, unit](at::Tensor const&) { enter_backward(unit); });
    }
}

/// The gradient of a unit's output has arrived: all later units have finished their backward pass.
void ShardedParameters::enter_backward(std::size_t unit) {
    with_peers("collectives of backward", [&] {
        if (active_ && overlaps()) {
            for (std::size_t b = started_; b < units_[unit].first_bucket; ++b) {
                take_rest_of(b);
                reduce(b);
                buckets_[b].release();
            }
        }
        // A pass aside (stored_objective.hpp) reduces nothing; the next one gathers what is needed.
        for (std::size_t b = inner_first_; !active_ && b < units_[unit].first_bucket; ++b)
            buckets_[b].release();
        gather_for(unit, true);
    });
}

}  // namespace osora::worker
