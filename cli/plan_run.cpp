// Gathers the planner's request.
#include "cli/plan_run.hpp"

#include "base/units.hpp"
#include "cli/plan_calibration.hpp"
#include "plan/config/cross_checks.hpp"
#include "plan/planner.hpp"
#include "plan/validate.hpp"
#include "topology/local_machine.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::cli {
namespace {

std::map<std::string, std::string> nccl_variables(Environment const& environment) {
    std::map<std::string, std::string> found;
    for (std::string const& entry : environment) {
        std::size_t const equals = entry.find('=');
        if (!entry.starts_with("NCCL_") || equals == std::string::npos) continue;
        found[entry.substr(0, equals)] = entry.substr(equals + 1);
    }
    return found;
}

std::string plural(std::int64_t count, std::string_view noun) {
    return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : "s");
}

std::string machine_line(plan::RunConfig const& config, topology::Node const& node) {
    std::string const memory =
        node.memory_bytes > 0 ? ", " + format_bytes(node.memory_bytes) : std::string();
    return fmt::format(
        "{}: {} on {}{}", config.resources.backend,
        plural(config.resources.gpus_per_node, node.gpus.empty() ? "CPU rank" : "GPU rank"),
        plural(node.cores, "core"), memory);
}

PlanHeader header_of(plan::RunConfig const& config, topology::Cluster const& cluster) {
    topology::Node const node = cluster.nodes.empty() ? topology::Node{} : cluster.nodes.front();
    double const gib = static_cast<double>(kGiB);
    return {.run = config.run.name,
            .job = config.run.job,
            .arch = config.run.job == "exec" ? "" : config.model.arch,
            .machine = machine_line(config, node),
            .gpu = !node.gpus.empty(),
            .gpu_memory_gib = node.gpus.empty() ? 0 : config.memory.gpu_memory_gib,
            .host_memory_gib = static_cast<double>(node.memory_bytes) / gib};
}

}  // namespace

topology::Cluster local_cluster() {
    topology::Node node = topology::read_local_machine();
    node.gpus.clear();
    return {.nodes = {std::move(node)}};
}

std::vector<plan::ConfigProblem> plan_problems(plan::ResolvedConfig const& resolved,
                                               topology::Cluster const& cluster) {
    auto problems = plan::unsupported(resolved);
    auto const named = [&problems](std::string const& key) {
        return std::ranges::any_of(problems, [&key](plan::ConfigProblem const& each) {
            return each.message.starts_with(key + " ") || each.message.starts_with(key + ":");
        });
    };
    for (auto const& each : plan::config_violations(resolved.config, resolved.origins, cluster)) {
        if (named(each.key)) continue;
        problems.push_back(plan::problem_of(resolved, each.key, each.message));
    }
    std::ranges::stable_sort(problems, {}, [](plan::ConfigProblem const& each) {
        return std::pair(each.where.layer, each.where.line);
    });
    return problems;
}

Result<std::filesystem::path> calibration_path(Context const& context) {
    OSORA_TRY(auto const state, state_dir(context.environment));
    return state / "calibration.json";
}

Result<PlannedRun> plan_run(Context const& context, plan::ResolvedConfig const& resolved,
                            topology::Cluster const& cluster,
                            std::optional<std::filesystem::path> const& calibration) {
    PlannedRun planned;
    planned.header = header_of(resolved.config, cluster);
    plan::PlanRequest request;
    request.config = resolved.config;
    request.origins = resolved.origins;
    request.cluster = cluster;
    request.environment = nccl_variables(context.environment);
    if (calibration) {
        OSORA_TRY(auto const loaded, load_calibration(*calibration));
        if (!loaded) {
            return Error{Errc::not_found, calibration->string() + ": no such calibration file"};
        }
        request.calibration = *loaded;
    } else {
        OSORA_TRY(auto const path, calibration_path(context));
        request.calibration = calibration_or_nominal(path, planned.header.gpu, &planned.warning);
    }
    OSORA_TRY(planned.decision, plan::make_plan(request));
    return planned;
}

}  // namespace osora::cli
