#include "cli/trial/batch_space.hpp"

#include "cli/trial/tune_plan.hpp"
#include "plan/layout/batch_sizes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

namespace osora::cli {
namespace {

constexpr std::size_t kLayoutsMax = 4;

auto cut(plan::LayoutPlan const& l) {
    return std::tuple(l.tp_size, l.pp_size, l.sp_size, l.dp_size, l.virtual_stages, l.sp_kind,
                      l.zero_stage, l.shard_size);
}

std::vector<plan::LayoutPlan> layouts_of(plan::PlanDecision const& decision) {
    std::vector<plan::LayoutPlan> layouts{decision.chosen};
    for (auto const& each : decision.alternatives) {
        bool const known = std::ranges::any_of(
            layouts, [&](auto const& other) { return cut(other) == cut(each.layout); });
        if (!known && layouts.size() < kLayoutsMax) layouts.push_back(each.layout);
    }
    return layouts;
}

/// The largest micro-batch up to `wanted` that leaves the batch of the bucket as it is.
int micro_batch_for(plan::BucketPlan const& bucket, int dp_size, bool is_first, int wanted) {
    for (int size = wanted; size > 1; --size) {
        std::int64_t const unit =
            is_first ? std::int64_t{size} * dp_size : plan::batch_unit(dp_size, size);
        if (bucket.global_batch_size % unit == 0) return size;
    }
    return 1;
}

std::vector<int> micro_batches_at(BatchChoices const& choices, plan::BatchPoint const& point) {
    auto const& planned = choices.layouts.front().buckets;
    int const dp_size = choices.layouts[static_cast<std::size_t>(point.layout)].dp_size;
    std::vector<int> sizes;
    for (auto const& bucket : planned) {
        if (point.layout == 0 && point.micro_batch == choices.planned.micro_batch) {
            sizes.push_back(bucket.micro_batch_size);
            continue;
        }
        double const share = double{1} * bucket.global_batch_size /
                             planned.front().global_batch_size * point.micro_batch;
        sizes.push_back(
            micro_batch_for(bucket, dp_size, &bucket == planned.data(), static_cast<int>(share)));
    }
    return sizes;
}

std::string bucket_value(BatchChoices const& choices, std::vector<int> const& micro_batches) {
    std::string text;
    for (std::size_t i = 0; i < choices.buckets.size(); ++i) {
        auto const& bucket = choices.buckets[i];
        text += fmt::format(
            "{}{{ resolution = \"{}\", num_frames = {}, keep_prob = {}, "
            "micro_batch_size = {} }}",
            i > 0 ? ", " : "", bucket.resolution, bucket.num_frames,
            fmt::format("{:#}", bucket.keep_prob), micro_batches[i]);
    }
    return "[" + text + "]";
}

plan::TuneSettings layout_settings(plan::LayoutPlan const& layout) {
    plan::TuneSettings settings;
    auto const set = [&settings](char const* key, int value) {
        settings[fmt::format("parallel.{}", key)] = std::to_string(value);
    };
    set("tp_size", layout.tp_size);
    set("pp_size", layout.pp_size);
    set("sp_size", layout.sp_size);
    set("zero_stage", layout.zero_stage);
    if (layout.virtual_stages > 1) set("virtual_stages", layout.virtual_stages);
    if (!layout.pp_schedule.empty()) settings["parallel.pp_schedule"] = layout.pp_schedule;
    if (layout.shard_size > 0) set("shard_size", layout.shard_size);
    if (layout.sp_size > 1 && !layout.sp_kind.empty())
        settings["parallel.sp_kind"] = layout.sp_kind;
    return settings;
}

plan::TuneSettings settings_without_buckets(BatchChoices const& choices,
                                            plan::BatchPoint const& point) {
    auto const& layout = choices.layouts[static_cast<std::size_t>(point.layout)];
    plan::TuneSettings settings;
    if (layout.ranks() > 1) settings = layout_settings(layout);
    settings["batch.global_batch_size"] =
        std::to_string(choices.layouts.front().buckets.front().global_batch_size);
    if (choices.sets_recompute) {
        settings["memory.recompute"] = choices.recompute[static_cast<std::size_t>(point.recompute)];
    }
    return settings;
}

}  // namespace

BatchChoices batch_choices(plan::ResolvedConfig const& resolved,
                           plan::PlanDecision const& decision) {
    auto const& chosen = decision.chosen;
    BatchChoices choices;
    choices.layouts = layouts_of(decision);
    choices.micro_batches = {1};
    choices.buckets = resolved.config.bucket;
    choices.sets_recompute = !resolved.origins.contains("memory.recompute");
    choices.sets_micro_batch = std::ranges::all_of(
        choices.buckets, [](auto const& each) { return each.micro_batch_size.is_auto(); });
    if (choices.sets_recompute) choices.recompute = {"full", "selective", "none"};
    auto level = std::ranges::find(choices.recompute, chosen.recompute);
    if (level == choices.recompute.end()) {
        level = choices.recompute.insert(
            choices.recompute.begin() + (choices.sets_recompute ? 1 : 0), chosen.recompute);
    }
    choices.planned = {.recompute = static_cast<int>(level - choices.recompute.begin()),
                       .micro_batch = chosen.buckets.front().micro_batch_size};
    if (!choices.sets_micro_batch) {
        choices.micro_batches = {choices.planned.micro_batch};
        return choices;
    }
    int most = 1;
    for (auto const& layout : choices.layouts) {
        most = std::max(most, chosen.buckets.front().global_batch_size / layout.dp_size);
    }
    for (int size = 2; size <= most; size *= 2) choices.micro_batches.push_back(size);
    return choices;
}

plan::TuneSettings settings_of(BatchChoices const& choices, plan::BatchPoint const& point) {
    auto settings = settings_without_buckets(choices, point);
    if (choices.sets_micro_batch) {
        settings["bucket"] = bucket_value(choices, micro_batches_at(choices, point));
    }
    return settings;
}

std::string point_text(BatchChoices const& choices, plan::BatchPoint const& point) {
    auto const& layout = choices.layouts[static_cast<std::size_t>(point.layout)];
    std::string text = fmt::format("{} · {}", fmt::join(micro_batches_at(choices, point), ", "),
                                   choices.recompute[static_cast<std::size_t>(point.recompute)]);
    if (layout.ranks() == 1) return text;
    for (auto const& [name, size] :
         {std::pair("tp", layout.tp_size), std::pair("pp", layout.pp_size),
          std::pair("sp", layout.sp_size), std::pair("dp", layout.dp_size)}) {
        if (size > 1) text += fmt::format(" · {} {}", name, size);
    }
    if (layout.zero_stage > 0) text += fmt::format(" · ZeRO-{}", layout.zero_stage);
    return text;
}

std::string batch_lines(BatchChoices const& choices, plan::BatchPoint const& point) {
    std::string text = run_file_lines(settings_without_buckets(choices, point));
    if (!choices.sets_micro_batch) return text;
    auto const sizes = micro_batches_at(choices, point);
    for (std::size_t i = 0; i < choices.buckets.size(); ++i) {
        auto const& bucket = choices.buckets[i];
        text += fmt::format("[[bucket]]  # {} x {}\nmicro_batch_size = {}\n", bucket.resolution,
                            bucket.num_frames, sizes[i]);
    }
    return text;
}

}  // namespace osora::cli
