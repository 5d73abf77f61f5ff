// The rounding rule, and the search for the smallest batch that amortises communication.
#include "plan/layout/batch_sizes.hpp"

#include "base/text/units.hpp"
#include "plan/layout/layout_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::plan {
namespace {

constexpr int kComparable = 4;

int given_micro(PlanContext const& context, std::size_t bucket) {
    return context.config.bucket[bucket].micro_batch_size.value_or(0);
}

std::int64_t unit_of(PlanContext const& context, std::size_t bucket) {
    return batch_unit(context.dp_size(), given_micro(context, bucket));
}

/// The smallest multiple of the first bucket's unit that gives at least one unit to every bucket
/// with clips, and is at least batch.min.
std::int64_t smallest_first(PlanContext const& context) {
    double least = context.config.batch.min;
    for (std::size_t i = 0; i < context.keys.size(); ++i) {
        if (context.clips[i] <= 0) continue;
        double const ratio = context.costs[i].forward_flops / context.costs[0].forward_flops;
        least = std::max(least, static_cast<double>(unit_of(context, i)) * ratio);
    }
    std::int64_t const unit = unit_of(context, 0);
    return std::max<std::int64_t>(
               1, static_cast<std::int64_t>(std::ceil(least / static_cast<double>(unit) - 1e-9))) *
           unit;
}

/// Share of exposed communication on comparable_ranks() ranks with separate cores.
double exposed_share(PlanContext const& context, std::int64_t first) {
    PlanContext wide = context;
    wide.ranks = comparable_ranks(context.dp_size()) * context.ranks_together();
    int const threads = std::max(1, context.config.resources.cpus_per_worker);
    wide.cores = wide.ranks * threads;
    auto const globals = equal_cost_globals(context, first);
    auto const shares = step_shares(wide, globals);
    auto const limit = rank_limit_bytes(wide, globals);
    double exposed = 0, total = 0;
    for (std::size_t i = 0; i < globals.size(); ++i) {
        auto const chosen = choose_micro_batch(wide, i, step_query(wide, i, threads),
                                               globals[i] / wide.dp_size(), limit);
        if (!chosen) continue;  // the search on the real ranks returns the reason
        exposed += shares[i] * chosen->time.exposed_comm_s;
        total += shares[i] * chosen->time.total_s();
    }
    return total > 0 ? exposed / total : 0;
}

/// The largest factor between a number's neighbouring divisors: 2 for 48, 173 for 173.
double widest_gap(std::int64_t number) {
    std::vector<std::int64_t> lower, upper;
    for (std::int64_t each = 1; each * each <= number; ++each) {
        if (number % each != 0) continue;
        lower.push_back(each);
        if (each * each != number) upper.push_back(number / each);
    }
    lower.insert(lower.end(), upper.rbegin(), upper.rend());
    double widest = 1;
    for (std::size_t i = 1; i < lower.size(); ++i)
        widest =
            std::max(widest, static_cast<double>(lower[i]) / static_cast<double>(lower[i - 1]));
    return widest;
}

/// The nearest number whose divisors leave no gap above kGapMost, at most kCostError away, else the
/// one with the least gap. A micro-batch is a divisor of it: with a prime it would be one sample,
/// or all.
std::int64_t divisible_near(double exact) {
    constexpr double kCostError = 0.04, kGapMost = 2.5;
    std::int64_t const nearest = std::max<std::int64_t>(1, std::llround(exact));
    std::int64_t best = nearest;
    double least = widest_gap(nearest);
    for (std::int64_t away = 1; least > kGapMost; ++away) {
        bool any = false;
        for (std::int64_t const each : {nearest + away, nearest - away}) {
            if (each < 1 || std::abs(static_cast<double>(each) / exact - 1) > kCostError) continue;
            any = true;
            double const gap = widest_gap(each);
            if (gap >= least) continue;
            best = each;
            least = gap;
        }
        if (!any) break;
    }
    return best;
}

GlobalBatches of_user(PlanContext const& context, int batch) {
    return {equal_cost_globals(context, batch),
            fmt::format("global batch {} of {}: set by you", format_count(batch),
                        context.bucket_name(0))};
}

}  // namespace

int comparable_ranks(int dp_size) {
    return kComparable % dp_size == 0 ? kComparable : dp_size;
}

std::int64_t batch_unit(int dp_size, int micro_batch_size) {
    return std::int64_t{comparable_ranks(dp_size)} * std::max(1, micro_batch_size);
}

std::vector<std::int64_t> equal_cost_globals(PlanContext const& context, std::int64_t first) {
    double const step = static_cast<double>(first) * context.costs[0].forward_flops;
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < context.keys.size(); ++i) {
        std::int64_t const unit = unit_of(context, i);
        double const exact = step / context.costs[i].forward_flops / static_cast<double>(unit);
        bool const open = given_micro(context, i) == 0;
        std::int64_t const units =
            open ? divisible_near(exact) : std::max<std::int64_t>(1, std::llround(exact));
        sizes.push_back(units * unit);
    }
    sizes[0] = first;
    return sizes;
}

GlobalBatches choose_global_batches(PlanContext const& context) {
    auto const& batch = context.config.batch;
    if (!batch.global_batch_size.is_auto()) {
        return of_user(context, *batch.global_batch_size.value);
    }
    std::int64_t const unit = unit_of(context, 0);
    if (context.settled_batch) {
        std::int64_t const first = (*context.settled_batch + unit - 1) / unit * unit;
        return {equal_cost_globals(context, first),
                fmt::format("global batch {}: as with what shares less", format_count(first))};
    }
    std::int64_t const last = std::max<std::int64_t>(batch.max / unit, 1) * unit;
    std::int64_t const least = std::min(smallest_first(context), last);
    double const target = batch.exposed_comm_target;
    std::int64_t first = least;
    while (first < last && exposed_share(context, first) > target) first += unit;
    double const share = exposed_share(context, first);
    int const ranks = comparable_ranks(context.dp_size()) * context.ranks_together();
    std::string reason;
    if (share > target) {
        reason = fmt::format(
            "global batch {}: batch.max; communication is {:.0f} % of a step on "
            "{} ranks",
            format_count(first), 100 * share, ranks);
    } else if (first == least) {
        reason = fmt::format(
            "global batch {}: the least that costs every bucket the same; "
            "communication {:.0f} % on {} ranks",
            format_count(first), 100 * share, ranks);
    } else {
        reason = fmt::format(
            "global batch {}: at {} communication is {:.0f} % of a step on {} "
            "ranks, here {:.0f} %",
            format_count(first), format_count(first - unit),
            100 * exposed_share(context, first - unit), ranks, 100 * share);
    }
    return {equal_cost_globals(context, first), std::move(reason)};
}

}  // namespace osora::plan
