// Gathers the planner's request.
#include "cli/plan/plan_run.hpp"
#include "base/text/text.hpp"
#include "cli/plan/cached_clips.hpp"

#include "base/env.hpp"
#include "base/files/files.hpp"
#include "base/text/units.hpp"
#include "cli/plan/cached_clips.hpp"
#include "cli/plan/earlier_runs.hpp"
#include "cli/plan/measured_network.hpp"
#include "cli/plan/plan_calibration.hpp"
#include "cli/plan/topology_source.hpp"
#include "plan/buckets/list_rows.hpp"
#include "plan/clip_statistics.hpp"
#include "plan/config/cross_checks.hpp"
#include "plan/model/cached_keep_probs.hpp"
#include "plan/model/trained_model.hpp"
#include "plan/planner.hpp"
#include "plan/validate.hpp"
#include "protocol/state_paths.hpp"
#include "topology/local_machine.hpp"
#include "topology/nccl/nccl_conf.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::cli {
namespace {

/// Settings that ranks inherit: on this machine including NCCL's own files, elsewhere only the
/// environment.
std::vector<topology::InheritedSetting> inherited_here(Context const& context, bool local) {
    auto settings =
        topology::read_inherited_settings(topology::communication_variables(context.environment),
                                          "/", variable_or(context.environment, "HOME", ""));
    if (!local) {
        std::erase_if(settings, [](topology::InheritedSetting const& each) {
            return !each.origin.starts_with("environment");
        });
    }
    return settings;
}

std::string machine_line(plan::RunConfig const& config, topology::Node const& node) {
    auto const& resources = config.resources;
    if (resources.nodes > 1) {
        std::string const where = resources.backend == "slurm" && !config.slurm.partition.empty()
                                      ? "slurm " + config.slurm.partition
                                      : resources.backend;
        return fmt::format("{}: {} nodes x {} = {} ranks", where, format_count(resources.nodes),
                           resources.gpus_per_node,
                           format_count(std::int64_t{resources.nodes} * resources.gpus_per_node));
    }
    std::string const memory =
        node.memory_bytes > 0 ? ", " + format_bytes(node.memory_bytes) : std::string();
    return fmt::format(
        "{}: {} on {}{}", config.resources.backend,
        counted(config.resources.gpus_per_node, node.gpus.empty() ? "CPU rank" : "GPU rank"),
        counted(node.cores, "core"), memory);
}

PlanHeader header_of(plan::RunConfig const& config, topology::Cluster const& cluster) {
    topology::Node const node = cluster.nodes.empty() ? topology::Node{} : cluster.nodes.front();
    double const gib = static_cast<double>(kGiB);
    return {.run = config.run.name,
            .job = config.run.job,
            .arch = config.run.job == "exec" || config.run.job == "score"
                        ? ""
                        : plan::trained_arch(config),
            .machine = machine_line(config, node),
            .gpu = !node.gpus.empty(),
            .gpu_memory_gib = node.gpus.empty() ? 0 : config.memory.gpu_memory_gib,
            .host_memory_gib = static_cast<double>(node.memory_bytes) / gib};
}

/// The sizes of clips in the manifest; nothing if it cannot be read or has no sizes. The worker
/// reports what is wrong with it.
Result<std::optional<plan::ClipStatistics>> clips_of(plan::RunConfig const& config,
                                                     std::filesystem::path const& base_dir) {
    constexpr std::size_t kRowsMax = 20'000;
    std::optional<plan::ClipStatistics> nothing;
    if (config.run.job == "exec" || config.run.job == "score" || config.data.manifest.empty())
        return nothing;
    auto const text = read_file(base_dir / config.data.manifest, plan::kListBytesMax);
    if (text.has_error()) return nothing;
    auto const shapes = plan::clip_shapes(*text, kRowsMax, config.data.columns);
    if (shapes.empty()) return nothing;
    OSORA_TRY(auto const shape, plan::sample_shape(config));
    OSORA_TRY(auto found, plan::clip_statistics(config, shape, shapes));
    return std::optional(std::move(found));
}

/// The clips of a run or of one of its stages: of its cache, or of its list.
Result<void> take_clips(plan::RunConfig const& config, PlanInputs const& inputs,
                        plan::PlanRequest& request) {
    auto const& latents = config.data.latents;
    request.latents.reset();
    if (inputs.assumed_latents) {
        OSORA_TRY(auto const shape, plan::sample_shape(config));
        request.latents = shape.vae;
    } else if (config.run.job == "train" && !latents.empty()) {
        auto const index = protocol::open_cache(inputs.base_dir / latents);
        if (index.has_error()) return Error(index.error()).in("data.latents");
        auto const checked = plan::check_keep_probs(config, *index);
        if (checked.has_error()) return Error(checked.error()).in("data.latents");
        request.clips = cached_clips(*index, config);
        request.latents = cached_compression(*index);
        return {};
    }
    OSORA_TRY(request.clips, clips_of(config, inputs.base_dir));
    return {};
}

/// The list of a score run.
Result<std::optional<plan::ListedWork>> listed_of(plan::RunConfig const& config,
                                                  std::filesystem::path const& base_dir) {
    if (config.run.job != "score") return std::optional<plan::ListedWork>();
    auto const path = base_dir / config.data.manifest;
    auto const text = read_file(path, plan::kListBytesMax);
    if (text.has_error()) return Error(text.error()).in("data.manifest");
    auto const listed = plan::listed_work(*text, config.data.columns);
    if (listed.has_error()) return Error(listed.error()).in(path.string());
    return std::optional(*listed);
}

std::vector<plan::ConfigProblem> problems_of_one(plan::ResolvedConfig const& resolved,
                                                 topology::Cluster const& cluster) {
    auto problems = plan::unsupported(resolved);
    auto const named = [&problems](std::string const& key) {
        return std::ranges::any_of(problems, [&key](plan::ConfigProblem const& each) {
            return each.message.starts_with(key + " ") || each.message.starts_with(key + ":");
        });
    };
    for (auto const& each : plan::config_violations(resolved.config, cluster)) {
        if (named(each.key)) continue;
        problems.push_back(plan::problem_of(resolved, each.key, each.message));
    }
    return problems;
}

plan::Layout cut_of(plan::LayoutPlan const& plan) {
    return {.tp_size = plan.tp_size,
            .pp_size = plan.pp_size,
            .sp_size = plan.sp_size,
            .dp_size = plan.dp_size};
}

/// Plans the run, and each [[stage]] as a separate run; `request` is that of the run.
Result<void> plan_all(plan::ResolvedConfig const& resolved, PlanInputs const& inputs,
                      plan::PlanRequest request, PlannedRun& planned) {
    OSORA_TRY(request.listed, listed_of(resolved.config, inputs.base_dir));
    OSORA_TRY(planned.decision, plan::make_plan(request));
    std::string const precision = request.config.optim.precision;
    for (std::size_t i = 0; i < resolved.stages.size(); ++i) {
        plan::ResolvedStage const& stage = resolved.stages[i];
        request.config = stage.config;
        request.origins = stage.origins;
        // A default that was adapted to the GPUs is the same in all stages.
        if (!stage.origins.contains("optim.precision")) {
            request.config.optim.precision = precision;
        }
        auto const taken = take_clips(stage.config, inputs, request);
        if (taken.has_error()) return Error(taken.error()).in(fmt::format("stage[{}]", i));
        auto decision = plan::make_plan(request);
        if (decision.has_error()) {
            return Error(decision.error()).in(fmt::format("stage[{}]", i));
        }
        planned.decision.stages.push_back({.at_step = stage.at_step,
                                           .chosen = std::move(decision->chosen),
                                           .predicted = std::move(decision->predicted)});
    }
    return {};
}

/// The rates of the plan, and the memory and precision of the GPUs that it is for.
Result<void> take_rates(Context const& context, PlanInputs const& inputs,
                        plan::PlanRequest& request, std::string& warning) {
    if (inputs.gpus) plan::plan_for_gpus(inputs.gpus->nodes, inputs.gpus->memory_bytes, request);
    if (inputs.calibration) {
        OSORA_TRY(auto const loaded, load_calibration(*inputs.calibration));
        if (!loaded) {
            return Error{Errc::not_found,
                         inputs.calibration->string() + ": no such calibration file"};
        }
        if (inputs.gpus && loaded->device != "gpu") {
            return Error{Errc::invalid_input, inputs.calibration->string() + ": measured on a " +
                                                  loaded->device + ", the plan is for GPUs"};
        }
        request.calibration = *loaded;
    } else if (!inputs.gpus) {
        OSORA_TRY(auto const path, calibration_path(context));
        auto const& nodes = request.cluster.nodes;
        bool const has_gpus = !nodes.empty() && !nodes.front().gpus.empty();
        request.calibration = calibration_or_nominal(path, has_gpus, &warning);
    }
    if (!inputs.gpus) plan::plan_for_own_gpus(plan::HardwareTable::built_in(), request);
    return {};
}

}  // namespace

topology::Cluster local_cluster(Context const& context, std::filesystem::path const& root) {
    topology::Node node = topology::read_local_machine(root);
    std::error_code ignored;
    auto const module = context.program_dir.parent_path() / "lib" / "libosora_cuda.so";
    if (!std::filesystem::exists(module, ignored)) node.gpus.clear();
    if (!node.gpus.empty()) {
        if (auto const machine = machine_of_osorad(context)) add_driver_facts(*machine, node);
    }
    // CUDA reads the list up to the first invalid entry; "" and "-1" hide every GPU.
    if (has_variable(context.environment, "CUDA_VISIBLE_DEVICES")) {
        auto const visible = variable_or(context.environment, "CUDA_VISIBLE_DEVICES", "");
        bool const none = visible.empty() || visible.starts_with('-');
        auto const listed = none ? 0 : std::ranges::count(visible, ',') + 1;
        node.gpus.resize(std::min(node.gpus.size(), static_cast<std::size_t>(listed)));
    }
    return {.nodes = {std::move(node)}};
}

std::vector<plan::ConfigProblem> plan_problems(plan::ResolvedConfig const& resolved,
                                               topology::Cluster const& cluster) {
    auto problems = problems_of_one(resolved, cluster);
    for (std::size_t i = 0; i < resolved.stages.size(); ++i) {
        for (auto& each : problems_of_one(plan::stage_view(resolved, i), cluster)) {
            // Reasons that a stage shares with an earlier one are not repeated.
            auto const said = [text = plan::to_text(each)](plan::ConfigProblem const& other) {
                return plan::to_text(other) == text;
            };
            if (std::ranges::none_of(problems, said)) problems.push_back(std::move(each));
        }
    }
    std::ranges::stable_sort(problems, {}, [](plan::ConfigProblem const& each) {
        return std::pair(each.where.layer, each.where.line);
    });
    return problems;
}

Result<std::filesystem::path> calibration_path(Context const& context) {
    OSORA_TRY(auto const state, state_dir(context.environment));
    return protocol::StatePaths{state}.calibration();
}

Result<PlannedRun> plan_run(Context const& context, plan::ResolvedConfig const& resolved,
                            PlanInputs const& inputs) {
    PlannedRun planned;
    plan::PlanRequest request;
    request.config = resolved.config;
    request.origins = resolved.origins;
    request.cluster = inputs.cluster;
    OSORA_TRY_VOID(take_rates(context, inputs, request, planned.warning));
    planned.header = header_of(request.config, request.cluster);
    bool const local = resolved.config.resources.backend == "local";
    request.nccl.inherited = {{"", inherited_here(context, local)}};
    if (!inputs.gpus) {
        request.network =
            measured_network(context, resolved.config, planned.header.gpu, RealEnv().wall_us());
    }
    if (!inputs.gpus && !inputs.calibration) {
        use_earlier_runs(context, planned.header, request);
    }
    request.compute_times = inputs.compute_times;
    OSORA_TRY_VOID(take_clips(resolved.config, inputs, request));
    OSORA_TRY_VOID(plan_all(resolved, inputs, request, planned));
    // Settings that all ranks share are fixed at the start: chosen for the stage that needs most of
    // them.
    int highest = planned.decision.chosen.zero_stage, lowest = highest;
    plan::Layout const first = cut_of(planned.decision.chosen);
    plan::Layout shares_most = first;
    bool alike = true, others_alike = true;
    for (plan::StagePlan const& stage : planned.decision.stages) {
        highest = std::max(highest, stage.chosen.zero_stage);
        lowest = std::min(lowest, stage.chosen.zero_stage);
        plan::Layout const cut = cut_of(stage.chosen);
        if (cut.dp_size < shares_most.dp_size) shares_most = cut;
        alike = alike && plan::same_cut(cut, first);
        others_alike = others_alike &&
                       stage.chosen.shard_size == planned.decision.chosen.shard_size &&
                       stage.chosen.pp_schedule == planned.decision.chosen.pp_schedule;
    }
    if (lowest == highest && alike && others_alike) return planned;
    request.zero_stage_min = highest;
    request.least_memory = true;
    request.cut = shares_most;
    OSORA_TRY_VOID(plan_all(resolved, inputs, request, planned));
    return planned;
}

}  // namespace osora::cli
