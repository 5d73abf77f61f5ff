#include "daemon/controller/pre_launch_probe.hpp"

#include "base/files/files.hpp"
#include "base/files/own_folder.hpp"
#include "base/ids.hpp"
#include "plan/config/candidate_hosts.hpp"
#include "plan/nccl/nccl_env.hpp"
#include "protocol/json_file.hpp"
#include "topology/assignment.hpp"
#include "topology/probe/probe_cache.hpp"
#include "topology/probe/probe_summary.hpp"
#include "topology/probe_request.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

namespace osora::daemon {
namespace {

namespace fs = std::filesystem;

constexpr int kStopped = 130;
constexpr double kLimit_s = 60;

/// The user's settings, where there are some, else the defaults of a probe before a run.
Result<topology::ProbeRequest> request_of(PreLaunchProbe const& before) {
    std::error_code error;
    auto const path = before.paths.probe_request();
    if (fs::exists(path, error)) return protocol::read_json_file<topology::ProbeRequest>(path);
    topology::ProbeRequest request;
    request.token = make_token();
    request.seed = static_cast<std::uint64_t>(before.wall_us);
    request.limit_s = kLimit_s;
    return request;
}

/// The files of the probe's own run directory, inside that of the run.
Result<protocol::RunPaths> write_probe_run(PreLaunchProbe const& before, int nodes) {
    auto const paths = before.paths.probe_run();
    OSORA_TRY_VOID(make_own_folder(paths.dir, Parents::believed));
    plan::WorkerJob job;
    job.run_uuid = make_uuid();
    job.run_name = before.submission.run_name + "-probe";
    job.run_dir = paths.dir.string();
    job.base_dir = before.submission.base_dir;
    job.config = before.config;
    job.config.run.job = "probe";
    job.config.resources.nodes = nodes;
    job.config.resources.spares = 0;
    job.config.resources.gpus_per_node = 1;
    job.config.faults.max_restarts = 0;
    job.config.worker.command.clear();
    protocol::RunSubmitted submission = before.submission;
    submission.run_uuid = job.run_uuid;
    submission.run_name = job.run_name;
    submission.job = "probe";
    submission.nodes = nodes;
    submission.ranks_per_node = 1;
    submission.restarts_max = submission.steps = 0;
    submission.config = protocol::to_json(job.config);
    OSORA_TRY(auto const request, request_of(before));
    auto const write = [](fs::path const& path, auto const& what) {
        return write_file_atomic(path, protocol::encode(what) + "\n", kPrivate);
    };
    OSORA_TRY_VOID(write(paths.job(), job));
    OSORA_TRY_VOID(write(paths.plan(), job.plan));
    OSORA_TRY_VOID(write(paths.probe_request(), request));
    OSORA_TRY_VOID(write(paths.submission(), submission));
    return paths;
}

Result<topology::ProbeResult> measure(PreLaunchProbe const& before, int nodes) {
    OSORA_TRY(auto const paths, write_probe_run(before, nodes));
    OSORA_TRY(int const exit_code, before.run(paths));
    if (exit_code == kStopped) return Error{Errc::cancelled, "the probe was stopped"};
    auto result = protocol::read_json_file<topology::ProbeResult>(paths.probe());
    if (result.has_error() && exit_code != 0) {
        return Error{Errc::io, fmt::format("the probe ended with {} ({})", exit_code,
                                           paths.controller_log().string())};
    }
    return result;
}

}  // namespace

bool wants_probe(plan::RunConfig const& config, bool link_probe) {
    return config.resources.nodes > 1 && config.probe.before_start != "never" &&
           config.resources.backend != "local" && !link_probe &&
           (config.run.job != "score" || config.probe.before_start == "always");
}

Result<void> cache_probe(fs::path const& state, std::vector<std::string> hosts,
                         topology::ProbeResult const& result) {
    if (hosts.empty() || !topology::is_complete(result)) return {};
    auto const path =
        protocol::StatePaths{state}.probes() / topology::ProbeCache::name_of(std::move(hosts));
    auto kept = result;
    if (auto before = protocol::read_json_file<topology::ProbeResult>(path);
        before.has_value() && kept.collectives.empty()) {
        kept.collectives = std::move(before->collectives);
        kept.collectives_wall_us = before->collectives_wall_us;
    }
    OSORA_TRY_VOID(make_own_folder(path.parent_path(), Parents::believed));
    return write_file_atomic(path, protocol::encode(kept) + "\n", kPrivate);
}

std::vector<std::string> nodes_to_leave_out(topology::ProbeResult const& result,
                                            std::vector<std::string> const& hosts, int spares) {
    std::vector<std::string> names;
    for (auto const& finding : result.findings) {  // worst first
        if (static_cast<int>(names.size()) >= spares) break;
        if (finding.kind != "slow_node" || finding.nodes.size() != 1) continue;
        if (std::ranges::count(hosts, finding.nodes[0]) > 0) names.push_back(finding.nodes[0]);
    }
    return names;
}

PreLaunchProbeResult probe_before_launch(PreLaunchProbe const& before) {
    PreLaunchProbeResult probed;
    auto const hosts = plan::candidate_hosts(before.config, before.environment);
    auto const state = before.paths.state().dir;
    if (before.config.probe.before_start == "auto" && !hosts.empty()) {
        topology::ProbeCache const cache(protocol::StatePaths{state}.probes(),
                                         protocol::read_json_file<topology::ProbeResult>,
                                         before.wall_us);
        double const age_max_s = before.config.probe.max_age_h * 3600;
        probed.result = cache.newest({.names = hosts, .exactly = true}, age_max_s);
        if (probed.result) probed.age_s = std::max(cache.age_s(probed.result->wall_us), 1e-3);
    }
    if (!probed.result) {
        auto const begin = std::chrono::steady_clock::now();
        auto const nodes = std::max<std::size_t>(hosts.size(), 2);
        auto measured = measure(before, static_cast<int>(nodes));
        auto const took = std::chrono::steady_clock::now() - begin;
        probed.took_s = std::chrono::duration<double>(took).count();
        if (measured.has_error()) {
            probed.stopped = measured.error().code == Errc::cancelled;
            probed.failure = measured.error().message;
            return probed;
        }
        probed.result = std::move(*measured);
        probed.result->backend = before.config.resources.backend;
        // What cannot be saved is measured again.
        (void)cache_probe(state, hosts, *probed.result);
    }
    if (before.config.probe.exclude) {
        probed.exclude = nodes_to_leave_out(*probed.result, hosts, before.config.resources.spares);
    }
    return probed;
}

std::vector<plan::NcclSetting> settings_after(topology::ProbeResult const& result,
                                              plan::WorkerJob const& job,
                                              plan::Origins const& origins,
                                              Environment const& environment) {
    plan::NcclFacts facts;
    facts.probe = result;
    plan::add_probed_nodes(facts, result);
    // The plan knows whether ranks have GPUs: it has NCCL settings for them.
    bool const gpu = std::ranges::any_of(
        job.plan.nccl_env, [](plan::NcclSetting const& each) { return each.name == "NCCL_DEBUG"; });
    auto const variables = topology::communication_variables(environment);
    return plan::nccl_settings(
        plan::advice_inputs(job.config, origins, variables, std::move(facts), gpu));
}

std::string probe_sentence(PreLaunchProbeResult const& probed) {
    if (!probed.result) return "links were not measured: " + probed.failure;
    auto const& result = *probed.result;
    auto text = topology::probe_summary(result, probed.took_s, probed.age_s);
    for (auto const& finding : result.findings) {
        text += fmt::format("; {}: {}", finding.where, finding.evidence);
    }
    if (!probed.exclude.empty()) {
        text += fmt::format("; left out: {}", fmt::join(probed.exclude, ", "));
    }
    return text;
}

}  // namespace osora::daemon
