// The moments of backward come from the shape of a transformer, not from a measurement.
#include "worker/jobs/rehearse/rehearsal_plan.hpp"

#include <algorithm>
#include <map>

namespace osora::worker {
namespace {

/// "spatial_blocks.3" of "spatial_blocks.3.attn.qkv.weight"; "" outside the blocks.
std::string block_of(std::string const& name) {
    auto const blocks = name.find("blocks.");
    if (blocks == std::string::npos) return "";
    auto const end = name.find('.', blocks + 7);
    return end == std::string::npos ? "" : name.substr(0, end);
}

/// Share of backward that each parameter's gradient takes; they sum to 1.
std::vector<double> backward_shares(std::span<ParameterSize const> parameters) {
    std::map<std::string, double> block_items;
    double all_items = 0;
    for (auto const& each : parameters) {
        all_items += static_cast<double>(each.items);
        auto const block = block_of(each.name);
        if (!block.empty()) block_items[block] += static_cast<double>(each.items);
    }
    std::vector<double> shares;
    for (auto const& each : parameters) {
        auto const items = static_cast<double>(each.items);
        if (block_items.empty()) {
            shares.push_back(items / all_items);
            continue;
        }
        auto const block = block_items.find(block_of(each.name));
        shares.push_back(block == block_items.end()
                             ? 0.0
                             : items / block->second / static_cast<double>(block_items.size()));
    }
    return shares;
}

/// As GradReducer::start_full_buckets: a bucket waits for its parameters and for those before it.
std::vector<double> full_moments(BucketLayout const& layout, std::vector<double> const& shares) {
    std::vector<double> full_at(layout.bucket_items.size(), 0.0);
    double passed = 0;
    for (std::size_t i = shares.size(); i-- > 0;) {
        passed += shares[i];
        auto const& slot = layout.slots[i];
        for (std::size_t b = slot.first_bucket; b <= slot.last_bucket; ++b)
            full_at[b] = std::min(1.0, passed);
    }
    for (std::size_t b = 1; b < full_at.size(); ++b)
        full_at[b] = std::max(full_at[b], full_at[b - 1]);
    if (!full_at.empty()) full_at.back() = 1;
    return full_at;
}

}  // namespace

RehearsalPlan make_rehearsal_plan(std::span<ParameterSize const> parameters,
                                  RehearsalOptions const& options) {
    RehearsalPlan plan;
    plan.way = options.way;
    if (options.world_size < 2 || parameters.empty()) return plan;
    std::vector<std::int64_t> items;
    for (auto const& each : parameters) items.push_back(each.items);
    auto const layout = lay_out_buckets(
        items, bucket_items_of(options.grad_bucket_mib, options.item_bytes), options.way);
    plan.bucket_items = layout.bucket_items;
    plan.full_at = full_moments(layout, backward_shares(parameters));
    return plan;
}

std::vector<RehearsalOp> RehearsalPlan::step(plan::BucketCompute const& compute,
                                             int grad_accum_steps) const {
    std::vector<RehearsalOp> ops;
    int const passes = std::max(1, grad_accum_steps);
    double const forward_s = compute.forward_s / passes;
    double const backward_s = compute.backward_s / passes;
    double now = 0;
    for (int pass = 0; pass < passes; ++pass) {
        ops.push_back({.kind = RehearsalKind::forward, .until_s = now += forward_s});
        if (pass + 1 < passes)
            ops.push_back({.kind = RehearsalKind::backward, .until_s = now += backward_s});
    }
    auto const reduce = [&](std::size_t bucket, bool blocking) {
        ops.push_back({.kind = RehearsalKind::all_reduce,
                       .bucket = bucket,
                       .blocking = blocking,
                       .items = bucket_items[bucket]});
    };
    bool const early = way == ReduceWay::overlapped;
    for (std::size_t b = 0; early && b < bucket_items.size(); ++b) {
        ops.push_back({.kind = RehearsalKind::backward, .until_s = now + full_at[b] * backward_s});
        reduce(b, false);
    }
    if (!early || bucket_items.empty())
        ops.push_back({.kind = RehearsalKind::backward, .until_s = now + backward_s});
    ops.push_back({.kind = RehearsalKind::arrive});
    bool const one_by_one = way == ReduceWay::per_parameter && !bucket_items.empty();
    if (one_by_one) ops.push_back({.kind = RehearsalKind::barrier});
    for (std::size_t b = 0; !early && b < bucket_items.size(); ++b) reduce(b, one_by_one);
    ops.push_back({.kind = one_by_one ? RehearsalKind::barrier : RehearsalKind::wait});
    ops.push_back({.kind = RehearsalKind::optimizer, .until_s = compute.optimizer_s});
    return ops;
}

}  // namespace osora::worker
