// osora probe: runs job = "probe" like any other run, and shows its result.
#include "base/files/files.hpp"
#include "base/ids.hpp"
#include "cli/cluster/probe_text.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/plan/topology_source.hpp"
#include "cli/run/prepared_run.hpp"
#include "cli/run/slurm/slurm_job.hpp"
#include "plan/collective_request.hpp"
#include "protocol/json_file.hpp"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <random>

namespace osora::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kProbedNodesMax = 100'000;

/// Settings of the probe, which override the run file.
Result<plan::ConfigRequest> probe_request(Context const& context, Arguments const& arguments) {
    auto request = config_request(context, arguments);
    if (request.run_file.empty()) request.base_dir = std::filesystem::current_path();
    std::vector<std::string> sets{"run.job=probe", "run.name=probe", "worker.command=[]",
                                  "resources.spares=0", "faults.max_restarts=0"};
    sets.emplace_back(arguments.has("--collectives") ? "probe.before_start=always"
                                                     : "resources.gpus_per_node=1");
    bool const in_job = is_in_job(context.environment);
    if (auto const backend = arguments.value("--backend")) {
        sets.push_back("resources.backend=" + *backend);
    } else if (in_job && request.run_file.empty()) {
        sets.emplace_back("resources.backend=slurm");
    }
    OSORA_TRY(auto nodes, arguments.number("--nodes", 1, kProbedNodesMax));
    auto const given = variable_or(context.environment, "SLURM_JOB_NUM_NODES", "");
    if (nodes) {
        sets.push_back(fmt::format("resources.nodes={}", *nodes));
    } else if (in_job && !given.empty()) {
        sets.push_back("resources.nodes=" + given);
    }
    // The user's own settings come last and win.
    request.sets.insert(request.sets.begin(), sets.begin(), sets.end());
    return request;
}

struct SecondsRange {
    double otherwise = 0, min = 0, max = 0;
};
Result<double> seconds_of(Arguments const& arguments, std::string_view option,
                          SecondsRange const& range) {
    auto const text = arguments.value(option);
    if (!text) return range.otherwise;
    char* end = nullptr;
    double const value = std::strtod(text->c_str(), &end);
    if (text->empty() || *end != '\0' || !(value >= range.min && value <= range.max)) {
        return Error{Errc::invalid_input, fmt::format("{} {}: a number of seconds from {} to {}",
                                                      option, *text, range.min, range.max)};
    }
    return value;
}

/// Leaves by host name, from the topology that --topology names.
Result<std::map<std::string, std::string>> leaves_of(Context const& context,
                                                     std::string const& source) {
    OSORA_TRY(auto const cluster, load_topology(context, source));
    std::map<std::string, std::string> leaves;
    for (auto const& each : cluster.fabric.switches) {
        for (auto const& node : each.nodes) leaves.emplace(node, each.name);
    }
    if (leaves.empty()) {
        return Error{Errc::not_found, fmt::format("--topology {}: no switch has nodes", source)};
    }
    return leaves;
}

Result<topology::ProbeRequest> measurements_of(Context const& context, Arguments const& arguments) {
    topology::ProbeRequest request;
    OSORA_TRY(auto const matchings, arguments.number("--rounds", 1, kProbedNodesMax));
    OSORA_TRY(auto const streams, arguments.number("--streams", 1, 64));
    OSORA_TRY(auto const seed, arguments.number("--seed", 0, 1'000'000'000));
    request.matchings = matchings.value_or(request.matchings);
    request.streams = streams.value_or(request.streams);
    request.seed = seed ? static_cast<std::uint64_t>(*seed) : std::random_device{}();
    request.all_pairs = arguments.has("--all-pairs");
    OSORA_TRY(request.window_s,
              seconds_of(arguments, "--seconds",
                         {.otherwise = request.window_s, .min = 0.05, .max = 60}));
    if (auto const source = arguments.value("--topology")) {
        OSORA_TRY(request.leaves, leaves_of(context, *source));
    }
    for (auto const& path : arguments.all("--storage")) {
        request.storage_paths.push_back(std::filesystem::absolute(path).string());
    }
    request.token = make_token();
    return request;
}

/// Empty without --collectives.
Result<plan::CollectiveRequest> collectives_of(Arguments const& arguments,
                                               plan::RunConfig const& config) {
    plan::CollectiveRequest request;
    OSORA_TRY(double const limit_s,
              seconds_of(arguments, "--limit", {.otherwise = 40, .min = 1, .max = 3600}));
    if (!arguments.has("--collectives")) return request;
    auto const& resources = config.resources;
    request = plan::job_shaped_request(resources.nodes, resources.gpus_per_node);
    request.time_limit_s = limit_s;
    auto const valid =
        plan::check_collective_request(request, resources.nodes * resources.gpus_per_node);
    if (resources.nodes * resources.gpus_per_node < 2) {
        return Error{Errc::invalid_input,
                     "--collectives: one rank has none; give --nodes or resources.gpus_per_node"};
    }
    if (valid.has_error()) return Error(valid.error()).in("--collectives");
    return request;
}

/// Result of the workers or the probers; of a probe that was stopped before its collectives, only
/// the links.
Result<topology::ProbeResult> read_result(RunFolder const& run) {
    std::error_code ignored;
    auto const whole = run.paths.probe(), links = run.paths.probe_run().probe();
    bool const stopped = !std::filesystem::exists(whole, ignored);
    auto const& path = stopped && std::filesystem::exists(links, ignored) ? links : whole;
    return protocol::read_json_file<topology::ProbeResult>(path);
}

int show(Context const& context, RunFolder const& run, topology::ProbeResult const& result,
         std::optional<double> took_s) {
    bool const nothing =
        result.pairs.empty() && result.storage.empty() && result.collectives.empty();
    int const exit_code = nothing ? kExitUndecided : has_fault(result) ? kExitBad : kExitOk;
    if (!took_s) {
        auto members = protocol::object_to_json(result);
        members["run"] = run.number;
        members["run_dir"] = run.paths.dir.string();
        print_json("probe", members);
        return exit_code;
    }
    ProbeText how;
    how.seconds = *took_s;
    how.columns = std::clamp(context.terminal.columns, 40, 120);
    cli::print("{}", render_probe(result, how));
    return exit_code;
}

int run_probe(Context const& context, Arguments const& arguments) {
    auto const begin = Clock::now();
    bool const json = arguments.has("--json");
    auto const request = probe_request(context, arguments);
    if (request.has_error()) return fail(kExitUsage, request.error());
    auto measurements = measurements_of(context, arguments);
    if (measurements.has_error()) return fail(kExitUsage, measurements.error());
    auto prepared = prepare_run(context, *request, false);
    if (prepared.has_error()) return prepared.error();
    prepared->submission.probe = std::move(*measurements);
    auto collectives = collectives_of(arguments, prepared->submission.resolved.config);
    if (collectives.has_error()) return fail(kExitUsage, collectives.error());
    prepared->submission.collectives = std::move(*collectives);
    StartOptions const options{.quiet = true};
    auto const started = start_run(context, std::move(*prepared), options);
    if (started.folder.number == 0) return started.exit_code;
    auto const result = read_result(started.folder);
    if (result.has_error()) {
        return started.exit_code != kExitOk ? started.exit_code : fail(kExitBad, result.error());
    }
    double const took_s = std::chrono::duration<double>(Clock::now() - begin).count();
    int const answer =
        show(context, started.folder, *result, json ? std::nullopt : std::optional(took_s));
    return started.exit_code == kExitInterrupted ? kExitInterrupted : answer;
}

}  // namespace

CommandSpec probe_command() {
    return {
        .name = "probe",
        .summary = "measure the links between nodes, and their storage",
        .details =
            "Starts a small program on every node, which send to each other over TCP in rounds of "
            "disjoint pairs: five random ones, then pairs of leaf switches with one and with all "
            "their nodes, then what was slow once more, then further networks. A node, an uplink "
            "or a pair that is slow is named, with the figures that show it. --storage reads "
            "files, by one node alone and by all at once. --collectives also times the "
            "collectives of training with Gloo or NCCL, over all ranks and over groups of 2, 4, "
            "8, ... nodes: what plans and rehearsals on these nodes are predicted from.\n\n"
            "Nodes are those of the run file's [resources], [slurm] and [ssh], of this job inside "
            "one, or --nodes. Every sample is kept in the history. The exit code is 1 when "
            "something is slow or lost.",
        .example =
            "osora probe stage1.toml\n"
            "osora probe --backend slurm --nodes 16 --storage /data/clips\n"
            "osora probe stage1.toml --collectives\n"
            "salloc -N16 osora probe --json",
        .positionals = {run_file_positional(false)},
        .options = {{.name = "--nodes", .value = "N", .help = "So many nodes."},
                    {.name = "--backend",
                     .value = "NAME",
                     .help = "Short for --set resources.backend=NAME.",
                     .choices = "local|ssh|slurm"},
                    {.name = "--all-pairs",
                     .value = "",
                     .help = "Every pair of nodes: N - 1 rounds."},
                    {.name = "--rounds", .value = "N", .help = "Random rounds (5)."},
                    {.name = "--seconds", .value = "S", .help = "Of a transfer that count (0.4)."},
                    {.name = "--streams", .value = "N", .help = "TCP streams of a pair (4)."},
                    {.name = "--seed", .value = "N", .help = "Repeats the pairs of a probe."},
                    {.name = "--topology",
                     .value = "SOURCE",
                     .help = "Leaves of the nodes, for when Slurm does not report them: as osora "
                             "topology show takes it.",
                     .complete = Complete::file},
                    {.name = "--collectives",
                     .value = "",
                     .help = "Also times of collectives, with resources.gpus_per_node ranks a "
                             "node."},
                    {.name = "--limit",
                     .value = "S",
                     .help = "For all collectives (40); sizes that do not fit are left out."},
                    {.name = "--storage",
                     .value = "PATH",
                     .help = "Read these files, or those below this folder.",
                     .complete = Complete::file,
                     .repeated = true},
                    set_option(),
                    json_option()},
        .run = run_probe};
}

}  // namespace osora::cli
