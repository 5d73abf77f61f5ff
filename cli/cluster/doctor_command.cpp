// osora doctor: finds problems of this machine, of recorded machines, or of a run.
#include "cli/cluster/advice_inputs.hpp"
#include "cli/cluster/doctor_run.hpp"
#include "cli/cluster/doctor_text.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/history_access.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/plan/measured_network.hpp"
#include "db/store/queries.hpp"
#include "topology/doctor/collect.hpp"
#include "topology/doctor/rule.hpp"

#include "base/env.hpp"
#include "base/files/files.hpp"
#include "protocol/state_paths.hpp"

#include <fmt/format.h>

#include <optional>
#include <vector>

namespace osora::cli {
namespace {

namespace doctor = topology::doctor;
namespace fs = std::filesystem;

constexpr double kProbeAgeMax_s = 24 * 3600.0;

std::map<std::string, std::string> variables_of(Environment const& environment) {
    std::map<std::string, std::string> variables;
    for (std::string const& entry : environment) {
        auto const equals = entry.find('=');
        if (equals == std::string::npos) continue;
        variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }
    return variables;
}

/// Versions of runs that succeeded here. A history that cannot be read proves nothing.
std::vector<std::map<std::string, std::string>> proven_versions(fs::path const& state) {
    constexpr int kRunsMax = 20;
    std::vector<std::map<std::string, std::string>> proven;
    std::error_code error;
    if (!fs::exists(protocol::StatePaths{state}.history(), error)) return proven;
    auto const history = open_history(state);
    if (history.has_error()) return proven;
    auto const runs = db::list_runs(*history->store, "", kRunsMax);
    if (runs.has_error()) return proven;
    for (auto const& each : *runs) {
        if (each.run.verdict != protocol::Verdict::ok) continue;
        auto const loaded = db::load_run(*history->store, each.run.run_id);
        if (loaded.has_error()) continue;
        std::map<std::string, std::string> versions;
        for (auto const& [fact, name] : {std::pair{"torch", "libtorch"},
                                         {"nccl", "nccl"},
                                         {"cuda", "cuda"},
                                         {"driver", "driver"},
                                         {"ffmpeg", "ffmpeg"},
                                         {"colossalai", "colossalai"}}) {
            auto const found = loaded->software.find(fact);
            if (found != loaded->software.end()) versions[name] = found->second;
        }
        if (!versions.empty()) proven.push_back(std::move(versions));
    }
    return proven;
}

/// The file with the probe of the run, or of the recorded machines; nullopt: there is none.
std::optional<std::string> recorded_probe(std::optional<std::string> const& root,
                                          std::optional<RunFolder> const& run) {
    std::vector<fs::path> places;
    if (root) places.push_back(fs::path(*root) / "probe.json");
    if (run) places = {run->paths.probe(), run->paths.probe_run().probe()};
    std::error_code error;
    for (auto const& place : places) {
        if (fs::exists(place, error)) return place.string();
    }
    return std::nullopt;
}

/// The probe that belongs to the examined machines; for this machine the newest one that was kept,
/// whatever it measured. nullopt: there is none.
Result<std::optional<topology::ProbeResult>> probe_beside(fs::path const& state,
                                                          Arguments const& arguments,
                                                          std::optional<RunFolder> const& run) {
    auto const root = arguments.value("--root");
    auto file = arguments.value("--probe");
    if (!file) file = recorded_probe(root, run);
    if (file) {
        auto probe = read_probe_json(*file);
        if (probe.has_error()) return Error{Errc::invalid_input, probe.error().message};
        return std::optional(std::move(*probe));
    }
    if (root || run) return std::optional<topology::ProbeResult>();
    return probe_cache(state, RealEnv().wall_us()).newest({}, kProbeAgeMax_s);
}

Result<doctor::Evidence> collect(Context const& context, Arguments const& arguments) {
    doctor::Evidence evidence;
    auto const root = arguments.value("--root");
    auto const run = arguments.value("--run");
    OSORA_TRY(auto const state, state_dir(context.environment));
    if (root) {
        OSORA_TRY(evidence, doctor::read_evidence(*root));
    } else {
        evidence.proven = proven_versions(state);
    }
    std::optional<RunFolder> folder;
    if (run) {
        OSORA_TRY(folder, find_run(state, *run));
        OSORA_TRY_VOID(add_run_evidence(*folder, evidence));
    }
    if (!root) {
        auto here = doctor::read_this_node(variables_of(context.environment));
        auto const same = std::ranges::find(evidence.nodes, here.name, &doctor::NodeEvidence::name);
        if (same != evidence.nodes.end()) {
            // The run's ranks have their own settings and limits, not those of this shell.
            same->machine = std::move(here.machine);
            same->modules = std::move(here.modules);
            same->shm_bytes = here.shm_bytes;
            for (auto& [name, version] : here.versions) same->versions.emplace(name, version);
        } else if (!run) {
            evidence.nodes.push_back(std::move(here));
        }
    }
    OSORA_TRY(auto probe, probe_beside(state, arguments, folder));
    if (probe) evidence.probe = std::move(probe);
    return evidence;
}

protocol::json::object to_object(doctor::Finding const& finding) {
    return {{"severity", protocol::to_json(finding.severity)},
            {"where", finding.where},
            {"nodes", protocol::to_json(finding.nodes)},
            {"rule", finding.rule},
            {"title", finding.title},
            {"seen", protocol::bytes_to_json(finding.seen)},
            {"effect", finding.effect},
            {"fix", finding.fix},
            {"threads", protocol::to_json(finding.threads)}};
}

int run_doctor(Context const& context, Arguments const& arguments) {
    auto const evidence = collect(context, arguments);
    if (evidence.has_error()) {
        auto const& error = evidence.error();
        bool const nothing = error.code == Errc::not_found && !arguments.has("--run");
        int const other = exit_code_for(error.code);
        // Exit code 1 would say that there is a fault.
        return fail(nothing             ? kExitUndecided
                    : other == kExitBad ? kExitUsage
                                        : other,
                    error.message);
    }
    auto const diagnosis = doctor::diagnose(*evidence);
    if (arguments.has("--json")) {
        protocol::json::array findings;
        for (auto const& each : diagnosis.findings) findings.push_back(to_object(each));
        print_json("doctor", {{"findings", findings},
                              {"faults", diagnosis.count(doctor::Severity::fault)},
                              {"warnings", diagnosis.count(doctor::Severity::warning)},
                              {"rules_checked", diagnosis.rules_checked},
                              {"skipped", protocol::to_json(diagnosis.skipped)},
                              {"nodes", diagnosis.nodes}});
    } else {
        cli::print("{}", doctor_text(diagnosis));
    }
    return diagnosis.count(doctor::Severity::fault) > 0 ? kExitBad : kExitOk;
}

}  // namespace

CommandSpec doctor_command() {
    return {
        .name = "doctor",
        .summary = "what is wrong with this machine, a cluster or a run",
        .details =
            "Looks at the fabric, GPUs, limits, versions and inherited NCCL settings, and "
            "prints what is wrong, the worst first: what was seen, what it costs, what to do. "
            "Without options it looks at this machine. "
            "Logs are enough: hosts are distinguished by their lines, whatever srun -l, mpirun, "
            "torchrun, Ray or a container put in front. "
            "A rule that lacks its evidence is skipped and counted. Exit code 1 when there is "
            "a fault; warnings alone give 0; 3 when there was nothing to look at.",
        .example =
            "osora doctor\nosora doctor --root /srv/recorded --probe probe.json\n"
            "osora doctor --run 42",
        .positionals = {},
        .options =
            {{.name = "--run",
              .value = "RUN",
              .help = "Also a run: its facts, health and NCCL's lines in its logs.",
              .complete = Complete::run},
             {.name = "--root",
              .value = "DIR",
              .help = "Recorded machines instead of this one: a tree with proc/, sys/ and etc/, a "
                      "folder with one for each node, or logs alone (NCCL_DEBUG=INFO, dmesg).",
              .complete = Complete::folder},
             {.name = "--probe",
              .value = "FILE",
              .help =
                  "A probe's result; without it that of DIR, of the run, or the newest of today.",
              .complete = Complete::file},
             json_option()},
        .run = run_doctor};
}

}  // namespace osora::cli
