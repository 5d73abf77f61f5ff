// The table of divisibility rules, and the values nearest to a wrong one.
#include "plan/layout/divisibility.hpp"

#include "base/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

namespace osora::plan {
namespace {

/// One row: `divisor` must divide `total`. Rules are data, so that documentation and messages
/// cannot diverge.
struct Rule {
    std::string_view text;
    std::string_view key;
    std::string_view divisor_name;
    std::string_view total_name;
    int (*divisor)(Layout const&);
    std::int64_t (*total)(CutLimits const&);
};

constexpr std::array kRules{
    Rule{"heads % tp_size == 0", "parallel.tp_size", "tp_size", "heads",
         [](Layout const& l) { return l.tp_size; },
         [](CutLimits const& m) { return std::int64_t{m.heads}; }},
    Rule{"mlp_hidden % tp_size == 0", "parallel.tp_size", "tp_size", "mlp_hidden",
         [](Layout const& l) { return l.tp_size; },
         [](CutLimits const& m) { return std::int64_t{m.mlp_hidden}; }},
    // Ulysses exchanges heads for tokens, so both must divide; a ring leaves heads alone.
    Rule{"heads % (tp_size * sp_size) == 0", "parallel.sp_size", "tp_size * sp_size", "heads",
         [](Layout const& l) { return l.sp_kind == SpKind::ring ? 1 : l.tp_size * l.sp_size; },
         [](CutLimits const& m) { return std::int64_t{m.heads}; }},
    Rule{"tokens % sp_size == 0", "parallel.sp_size", "sp_size", "tokens",
         [](Layout const& l) { return l.sp_size; }, [](CutLimits const& m) { return m.tokens; }},
};

}  // namespace

SpKind sp_kind_of(std::string_view wanted, int heads, int tp_size, int sp_size) {
    if (wanted == "ring") return SpKind::ring;
    if (wanted == "ulysses") return SpKind::ulysses;
    return heads % (tp_size * sp_size) == 0 ? SpKind::ulysses : SpKind::ring;
}

std::string_view name_of(SpKind kind) {
    return kind == SpKind::ring ? "ring" : "ulysses";
}

bool same_cut(Layout const& a, Layout const& b) {
    return a.tp_size == b.tp_size && a.sp_size == b.sp_size && a.pp_size == b.pp_size;
}

CutLimits cut_limits(ModelShape const& shape, std::vector<std::int64_t> const& tokens_per_frame) {
    std::int64_t tokens = 0;
    for (std::int64_t const each : tokens_per_frame) tokens = std::gcd(tokens, each);
    return {.heads = shape.heads,
            .mlp_hidden = shape.mlp_hidden(),
            .blocks = shape.blocks(),
            .tokens = tokens > 0 ? tokens : 1};
}

std::vector<std::int64_t> nearest_divisors(std::int64_t total, std::int64_t wanted) {
    OSORA_CHECK_LE(1, total);
    std::vector<std::int64_t> found;
    for (std::int64_t below = std::min(wanted, total); below >= 1; --below) {
        if (total % below != 0) continue;
        found.push_back(below);
        break;
    }
    for (std::int64_t above = std::max<std::int64_t>(wanted + 1, 1); above <= total; ++above) {
        if (total % above != 0) continue;
        found.push_back(above);
        break;
    }
    return found;
}

std::vector<std::int64_t> nearest_multiples(std::int64_t unit, std::int64_t wanted) {
    OSORA_CHECK_LE(1, unit);
    std::int64_t const below = wanted > 0 ? wanted / unit * unit : 0;
    if (below < unit) return {unit};
    return {below, below + unit};
}

std::vector<LayoutViolation> layout_violations(Layout const& layout, CutLimits const& limits,
                                               int world_size) {
    std::vector<LayoutViolation> broken;
    for (Rule const& rule : kRules) {
        int const divisor = rule.divisor(layout);
        std::int64_t const total = rule.total(limits);
        OSORA_CHECK_LE(1, divisor);
        if (total % divisor == 0) continue;
        broken.push_back(
            {std::string(rule.text), std::string(rule.key),
             fmt::format("{} {}", rule.divisor_name, divisor),
             fmt::format("does not divide {} {}; nearest valid: {}", total, rule.total_name,
                         fmt::join(nearest_divisors(total, divisor), ", "))});
    }
    if (layout.pp_size > limits.blocks) {
        broken.push_back(
            {"pp_size <= blocks", "parallel.pp_size", fmt::format("pp_size {}", layout.pp_size),
             fmt::format("exceeds {} blocks; at most one stage per block", limits.blocks)});
    }
    if (layout.virtual_stages > 1 && layout.pp_size == 1) {
        broken.push_back({"virtual_stages == 1 without a pipeline", "parallel.virtual_stages",
                          fmt::format("virtual_stages {}", layout.virtual_stages),
                          "needs parallel.pp_size of at least 2; valid: 1"});
    } else if (layout.virtual_stages > 1 &&
               layout.virtual_stages * layout.pp_size > limits.blocks) {
        broken.push_back(
            {"virtual_stages * pp_size <= blocks", "parallel.virtual_stages",
             fmt::format("virtual_stages {}", layout.virtual_stages),
             fmt::format("times {} stages exceeds {} blocks; nearest valid: {}", layout.pp_size,
                         limits.blocks, std::max(1, limits.blocks / layout.pp_size))});
    }
    // dp is last: it takes what the others leave, and a remainder would idle ranks silently.
    int const product = layout.tp_size * layout.pp_size * layout.sp_size * layout.dp_size;
    if (product != world_size) {
        broken.push_back(
            {"tp_size * pp_size * sp_size * dp_size == world_size", "resources.gpus_per_node",
             "the sizes",
             fmt::format("multiply to {}, not to world_size {}", product, world_size)});
    }
    return broken;
}

}  // namespace osora::plan
