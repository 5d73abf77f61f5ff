// Plans again with one change.
#include "plan/remedies.hpp"

#include "base/text/units.hpp"
#include "plan/validate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace osora::plan {
namespace {

using Planner = std::function<Result<PlanDecision>(PlanRequest const&)>;

struct Remedy {
    char const* text;
    /// Applies the change; false: it is already so.
    bool (*apply)(RunConfig&);
};

template <class T>
bool leave_open(AutoOr<T>& size) {
    bool const given = !size.is_auto();
    size.value.reset();
    return given;
}

constexpr Remedy kRemedies[] = {
    {"micro_batch_size = \"auto\" of each [[bucket]]",
     [](RunConfig& c) {
         bool given = false;
         for (BucketSection& bucket : c.bucket)
             given = leave_open(bucket.micro_batch_size) || given;
         return given;
     }},
    {"parallel.zero_stage = \"auto\"",
     [](RunConfig& c) { return leave_open(c.parallel.zero_stage); }},
    {"parallel.shard_size = \"auto\"",
     [](RunConfig& c) { return leave_open(c.parallel.shard_size); }},
    {"memory.offload_frozen = true",
     [](RunConfig& c) {
         bool const other = !c.memory.offload_frozen.value_or(false);
         c.memory.offload_frozen.value = true;
         return other;
     }},
    {"memory.recompute = \"auto\"", [](RunConfig& c) { return leave_open(c.memory.recompute); }},
    {"parallel.tp_size and sp_size = \"auto\"",
     [](RunConfig& c) {
         bool const tp = leave_open(c.parallel.tp_size);
         return leave_open(c.parallel.sp_size) || tp;
     }},
    {"parallel.pp_size = \"auto\"", [](RunConfig& c) { return leave_open(c.parallel.pp_size); }},
    {"memory.activation_store = \"offload\"",
     [](RunConfig& c) {
         bool const other = c.memory.activation_store.value_or("") != "offload";
         c.memory.activation_store.value = "offload";
         return other;
     }},
    {"memory.allow_lossy = true",
     [](RunConfig& c) {
         bool const other = !c.memory.allow_lossy && c.memory.activation_store.is_auto();
         c.memory.allow_lossy = true;
         return other;
     }},
};

bool fits(PlanRequest const& request, Planner const& plan_of) {
    return config_violations(request.config, request.cluster).empty() &&
           plan_of(request).has_value();
}

/// A memory limit of a rank, and its name for people.
struct Limit {
    double gib = 0;
    std::string text;  // with a placeholder for GiB
    std::function<void(PlanRequest&, double)> set;
};

std::optional<Limit> limit_of(PlanRequest const& request) {
    auto const bytes = [](double gib) {
        return static_cast<std::int64_t>(gib * static_cast<double>(kGiB));
    };
    if (auto const& given = request.config.memory.rank_memory_gib; !given.is_auto()) {
        return Limit{*given.value, "memory.rank_memory_gib = {}", [](PlanRequest& r, double gib) {
                         r.config.memory.rank_memory_gib.value = gib;
                     }};
    }
    if (request.cluster.nodes.empty()) return {};
    topology::Node const& node = request.cluster.nodes.front();
    auto const whole = static_cast<double>(kGiB);
    if (node.gpus.empty()) {
        return Limit{static_cast<double>(node.memory_bytes) / whole, "nodes of {} GiB",
                     [bytes](PlanRequest& r, double gib) {
                         for (auto& each : r.cluster.nodes) each.memory_bytes = bytes(gib);
                     }};
    }
    std::int64_t const known = node.gpus.front().memory_bytes;
    double const gib =
        known > 0 ? static_cast<double>(known) / whole : request.config.memory.gpu_memory_gib;
    return Limit{gib, "GPUs of {} GiB", [bytes](PlanRequest& r, double size) {
                     for (auto& each : r.cluster.nodes)
                         for (auto& gpu : each.gpus) gpu.memory_bytes = bytes(size);
                 }};
}

/// The smallest memory that fits, within 2 %, up to 64 times the available.
std::optional<std::string> more_memory(PlanRequest const& request, Planner const& plan_of) {
    auto const limit = limit_of(request);
    if (!limit || limit->gib <= 0) return {};
    auto const fits_at = [&](double gib) {
        PlanRequest more = request;
        limit->set(more, gib);
        return fits(more, plan_of);
    };
    double below = limit->gib, above = 2 * below;
    while (!fits_at(above)) {
        below = above;
        above *= 2;
        if (above > 64 * limit->gib) return {};
    }
    while (above > 1.02 * below) {
        double const middle = std::sqrt(above * below);
        (fits_at(middle) ? above : below) = middle;
    }
    double const rounded = above < 10 ? std::ceil(10 * above) / 10 : std::ceil(above);
    return fmt::format(fmt::runtime(limit->text), rounded);
}

}  // namespace

std::string what_would_fit(PlanRequest const& request, Planner const& plan_of) {
    std::vector<std::string> ways;
    for (Remedy const& remedy : kRemedies) {
        PlanRequest changed = request;
        if (remedy.apply(changed.config) && fits(changed, plan_of)) ways.emplace_back(remedy.text);
    }
    if (auto memory = more_memory(request, plan_of)) ways.push_back(std::move(*memory));
    if (ways.size() < 2) return ways.empty() ? "" : ways.front();
    std::string const last = std::move(ways.back());
    ways.pop_back();
    return fmt::format("{}, or {}", fmt::join(ways, ", "), last);
}

}  // namespace osora::plan
