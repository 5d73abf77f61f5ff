// FLOPs of a bucket's sample, and equal-cost batch sizes.
#include "plan/buckets/cost.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace osora::plan {
namespace {

std::int64_t ceil_div(std::int64_t value, std::int64_t divisor) {
    return (value + divisor - 1) / divisor;
}

}  // namespace

std::int64_t latent_frames(DitSizes const& sizes, int num_frames) {
    std::int64_t const chunk = sizes.temporal_chunk > 0 ? sizes.temporal_chunk : num_frames;
    std::int64_t const whole = num_frames / chunk;
    return whole * ceil_div(chunk, sizes.temporal_compression) +
           ceil_div(num_frames % chunk, sizes.temporal_compression);
}

TokenGrid token_grid(DitSizes const& sizes, BucketKey const& key) {
    auto side = [&sizes](int pixels) {
        return ceil_div(ceil_div(pixels, sizes.spatial_compression), sizes.patch_side);
    };
    return {.frames = ceil_div(latent_frames(sizes, key.num_frames), sizes.patch_frames),
            .per_frame = side(key.height) * side(key.width)};
}

double forward_flops(DitSizes const& sizes, BucketKey const& key) {
    TokenGrid const grid = token_grid(sizes, key);
    auto const frames = static_cast<double>(grid.frames);
    auto const per_frame = static_cast<double>(grid.per_frame);
    double const c = sizes.hidden;
    double const pairs = sizes.depth;
    double const text = sizes.text_tokens;
    // Per token and block: qkv 3, out 1, cross query 1, cross out 1, MLP 2 * ratio, in units of
    // C^2.
    double const linear = 2 * (6 + 2 * sizes.mlp_ratio) * c * c * 2 * pairs;
    double const attention = 4 * c * pairs * (per_frame + frames + 2 * text);
    double const text_keys = 4 * c * c * text * 2 * pairs;
    return frames * per_frame * (linear + attention) + text_keys;
}

Result<std::vector<std::int64_t>> equal_cost_batches(std::span<BucketKey const> keys,
                                                     DitSizes const& sizes, BatchRule const& rule) {
    if (keys.empty()) return Error{Errc::invalid_input, "batch sizes: no bucket"};
    if (rule.multiple < 1 || rule.dp_size < 1) {
        return Error{Errc::invalid_input,
                     fmt::format("batch sizes: multiple {} and dp_size {} must be >= 1",
                                 rule.multiple, rule.dp_size)};
    }
    std::int64_t const unit =
        std::lcm(static_cast<std::int64_t>(rule.multiple), static_cast<std::int64_t>(rule.dp_size));
    std::int64_t const wanted = rule.global_batch_size;
    if (wanted < 1 || wanted % unit != 0) {
        std::int64_t const low = std::max<std::int64_t>(wanted / unit * unit, unit);
        std::int64_t const high = std::max<std::int64_t>(ceil_div(wanted, unit) * unit, unit);
        return Error{Errc::not_divisible,
                     fmt::format("global_batch_size {} is not a positive multiple of {} (dp_size "
                                 "{}, multiple {}); nearest valid: {}{}",
                                 wanted, unit, rule.dp_size, rule.multiple, low,
                                 high == low ? "" : fmt::format(", {}", high))};
    }
    double const step_flops = static_cast<double>(wanted) * forward_flops(sizes, keys[0]);
    std::vector<std::int64_t> batches;
    for (BucketKey const& key : keys) {
        double const exact = step_flops / forward_flops(sizes, key);
        auto const units = std::llround(exact / static_cast<double>(unit));
        batches.push_back(std::max<std::int64_t>(units, 1) * unit);
    }
    batches[0] = wanted;
    return batches;
}

}  // namespace osora::plan
