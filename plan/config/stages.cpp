#include "plan/config/stages.hpp"

#include "plan/config/cross_checks.hpp"
#include "plan/config/layer_reader.hpp"
#include "plan/config/read_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace osora::plan {
namespace {

constexpr std::array<std::string_view, 4> kStageSections{"bucket", "batch", "data", "optim"};
/// Keys of [optim] that determine the structure of weights and optimizer.
constexpr std::array<std::string_view, 6> kFixed{"name",      "precision",  "freeze",
                                                 "lora_rank", "lora_alpha", "lora_targets"};
constexpr std::array<std::string_view, 4> kRate{"lr", "lr_min", "lr_schedule", "warmup_steps"};

void complain_at(ResolvedConfig& resolved, Origin origin, toml::source_region const& region,
                 std::string message) {
    origin.line = static_cast<int>(region.begin.line);
    resolved.problems.push_back({std::move(origin), 0, std::move(message)});
}

/// 0 if it is missing or invalid.
int at_step_of(toml::table const& table, std::string const& path, Origin const& origin,
               ResolvedConfig& resolved) {
    int at_step = 0;
    constexpr SchemaRow kAtStep{.section = "stage", .key = "at_step", .doc = {}, .min = 1};
    auto const* step = table.get("at_step");
    if (step == nullptr) {
        complain_at(resolved, origin, table.source(), path + ": at_step is missing");
        return 0;
    }
    auto const wrong = [&](std::string const& why) {
        complain_at(resolved, origin, step->source(),
                    fmt::format("{}.at_step = {}: {}", path, shown(*step), why));
        return 0;
    };
    if (auto const complaint = read_value(*step, kAtStep, &at_step)) return wrong(*complaint);
    int const before = resolved.stages.empty() ? 0 : resolved.stages.back().at_step;
    if (at_step <= before) {
        return wrong(
            fmt::format("the stage before it begins at {}; nearest valid: {}", before, before + 1));
    }
    return at_step;
}

void check_changes(toml::table const& table, std::string const& path, Origin const& origin,
                   ResolvedConfig& resolved) {
    for (auto const& [section, node] : table) {
        if (section.str() == "at_step") continue;
        if (find_section(section.str()) != nullptr &&
            std::ranges::find(kStageSections, section.str()) == kStageSections.end()) {
            complain_at(resolved, origin, section.source(),
                        fmt::format("{}.{}: cannot change during a run; sections that can: "
                                    "bucket, batch, data, optim",
                                    path, section.str()));
        }
        auto const* keys = section.str() == "optim" ? node.as_table() : nullptr;
        if (keys == nullptr) continue;
        for (auto const& [key, value] : *keys) {
            if (std::ranges::find(kFixed, key.str()) == kFixed.end()) continue;
            complain_at(resolved, origin, key.source(),
                        fmt::format("{}.optim.{}: cannot change during a run", path, key.str()));
        }
    }
}

bool writes_rate(toml::table const& table) {
    auto const* optim = table["optim"].as_table();
    return optim != nullptr &&
           std::ranges::any_of(kRate, [&](std::string_view key) { return optim->contains(key); });
}

void read_stage(toml::table const& table, Origin const& origin, ResolvedConfig& resolved) {
    std::string const path = fmt::format("stage[{}]", resolved.stages.size());
    std::size_t const before = resolved.problems.size();
    ResolvedStage stage;
    stage.at_step = at_step_of(table, path, origin, resolved);
    stage.where = origin;
    stage.where.line = static_cast<int>(table.source().begin.line);
    stage.new_rate = writes_rate(table);
    check_changes(table, path, origin, resolved);
    bool const first = resolved.stages.empty();
    ResolvedConfig view;
    view.config = first ? resolved.config : resolved.stages.back().config;
    view.origins = first ? resolved.origins : resolved.stages.back().origins;
    view.run_file = resolved.run_file;
    LayerReader(view, origin, path + ".").read(table);
    bool const average = view.config.optim.ema_decay > 0;
    if (average != (resolved.config.optim.ema_decay > 0)) {
        auto problem = problem_of(view, "optim.ema_decay", "no average begins or ends in a stage");
        problem.message = fmt::format("{}.{}", path, problem.message);
        view.problems.push_back(std::move(problem));
    }
    bool const clean = view.problems.empty() && resolved.problems.size() == before;
    std::ranges::move(view.problems, std::back_inserter(resolved.problems));
    view.problems.clear();
    if (clean && before == 0) {
        check_keys(view);
        for (ConfigProblem& each : view.problems) {
            each.message = fmt::format("{}.{}", path, each.message);
            resolved.problems.push_back(std::move(each));
        }
    }
    stage.config = std::move(view.config);
    stage.origins = std::move(view.origins);
    resolved.stages.push_back(std::move(stage));
}

}  // namespace

void read_stages(StageTables const& stages, ResolvedConfig& resolved) {
    for (toml::node const& node : stages.tables) {
        if (auto const* table = node.as_table()) read_stage(*table, stages.origin, resolved);
    }
}

ResolvedConfig stage_view(ResolvedConfig const& resolved, std::size_t index) {
    ResolvedConfig view;
    view.config = resolved.stages[index].config;
    view.origins = resolved.stages[index].origins;
    view.run_file = resolved.run_file;
    return view;
}

}  // namespace osora::plan
