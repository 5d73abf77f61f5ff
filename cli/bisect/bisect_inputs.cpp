#include "cli/bisect/bisect_inputs.hpp"

#include "base/host_name.hpp"
#include "cli/bisect/hybrid_config.hpp"
#include "cli/run/run_secrets.hpp"
#include "db/analysis/bucket_compute.hpp"
#include "db/store/queries.hpp"
#include "plan/config/config_files.hpp"
#include "plan/config/submitted_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace osora::cli {
namespace {

using db::analysis::BucketWork;

constexpr std::size_t kUuidDigits = 8;

/// Into side.config and side.base_dir.
Result<void> read_submitted(BisectSide& side) {
    auto const where = fmt::format("run {}", side.run.summary.run.number);
    auto const& events = side.run.events;
    auto const submitted =
        std::ranges::find(events, protocol::RunSubmitted::kType, &db::EventRecord::kind);
    if (submitted == events.end()) {
        return invalid("its run file is not in the history").in(where);
    }
    auto record = protocol::decode<protocol::RunSubmitted>(submitted->body);
    if (record.has_error()) return std::move(record).error().in(where);
    side.base_dir = record->base_dir;
    OSORA_TRY(auto typed, plan::submitted_run(std::move(*record)));
    side.config = std::move(typed.config);
    plan::make_paths_absolute(side.config, side.base_dir);
    return boost::system::in_place_value;
}

void take_variables(BisectSide const& from, std::set<std::string> const& names, Environment& into) {
    for (std::string const& name : names) {
        if (!is_trial_variable(name)) continue;
        auto const value = from.run.env.find(name);
        if (value == from.run.env.end()) {
            remove_variable(into, name);
        } else if (is_one_value(value->second) && !is_secret_digest(value->second)) {
            set_variable(into, name, value->second);
        }
    }
}

/// Compute time of a step of `run` in a bucket of the run file; 0: the run has not trained that
/// bucket.
double compute_time_s(db::RunHistory const& run, std::vector<BucketWork> const& works,
                      plan::BucketSection const& bucket) {
    if (!run.summary.plan) return 0;
    for (auto const& planned : run.summary.plan->chosen.buckets) {
        if (planned.resolution != bucket.resolution || planned.num_frames != bucket.num_frames) {
            continue;
        }
        auto const work = std::ranges::find(works, planned.label(), &BucketWork::bucket);
        if (work == works.end()) return 0;
        return work->forward_s + work->backward_s + work->optimizer_s;
    }
    return 0;
}

/// Files in the run's own folder differ for every run.
void leave_out_paths(db::RunHistory& run) {
    auto const& folder = run.summary.run.run_dir;
    if (folder.empty()) return;
    for (auto* facts : {&run.env, &run.software}) {
        std::erase_if(*facts, [&](auto const& fact) {
            return fact.second.find(folder) != std::string::npos;
        });
    }
}

}  // namespace

bool is_trial_variable(std::string_view name) {
    constexpr std::array<std::string_view, 10> kPrefixes{
        "NCCL_", "TORCH_", "GLOO_", "TP_", "UCX_", "FI_", "CUDA_", "OMP_", "MKL_", "KMP_"};
    return std::ranges::any_of(kPrefixes,
                               [&](std::string_view each) { return name.starts_with(each); });
}

Result<BisectSide> load_side(db::Store& store, std::string const& wanted, Imported imported) {
    OSORA_TRY(auto const record, db::find_run(store, wanted));
    if (db::is_imported(record) && imported == Imported::refused) {
        return Error{Errc::invalid_input,
                     fmt::format("run {0} ({1}) was imported: a trial would start its command, "
                                 "which is another machine's. osora diff compares it; --trust "
                                 "starts it, after a look at {2}",
                                 record.name, record.uuid.substr(0, kUuidDigits), record.run_dir)};
    }
    BisectSide side;
    OSORA_TRY(side.run, db::load_run(store, record.run_id));
    leave_out_paths(side.run);
    if (!side.run.summary.measured || side.run.summary.measured->steps_used == 0) {
        return invalid(
            fmt::format("run {}: no step after its warm-up is in the history", record.number));
    }
    OSORA_TRY_VOID(read_submitted(side));
    for (auto const& node : side.run.summary.nodes) side.hosts.push_back(node.hostname);
    std::ranges::sort(side.hosts);
    return side;
}

bool is_one_value(std::string const& fact) {
    return fact.find(" | ") == std::string::npos;  // db::merge_fact joins with it
}

Result<TrialStart> trial_start(BisectSide const& good, BisectSide const& bad,
                               TrialChoice const& choice, Environment const& environment,
                               std::vector<std::string> const& available) {
    OSORA_TRY(auto const config, hybrid_config(protocol::to_json(good.config),
                                               protocol::to_json(bad.config), choice.config_keys));
    TrialStart start;
    OSORA_TRY(start.config, protocol::from_json<plan::RunConfig>(config));
    restore_secrets(start.config, {good.run.summary.run.run_dir, bad.run.summary.run.run_dir});
    start.environment = environment;
    start.base_dir = good.base_dir;
    std::set<std::string> common;
    for (auto const* side : {&good, &bad}) {
        for (auto const& [name, value] : side->run.env) {
            if (!choice.variables.contains(name)) common.insert(name);
        }
    }
    take_variables(good, common, start.environment);
    take_variables(bad, choice.variables, start.environment);
    if (good.hosts == bad.hosts) return start;
    auto const& wanted = choice.hosts ? bad.hosts : good.hosts;
    start.config.faults.exclude_nodes.clear();
    for (std::string const& host : available) {
        if (!names_host(wanted, host)) {
            start.config.faults.exclude_nodes.push_back(host);
        }
    }
    return start;
}

void set_compute_times(BisectSide const& good, BisectSide const& bad, plan::RunConfig& config) {
    if (!config.rehearse.compute_s.is_auto()) return;
    auto const of_good = db::analysis::bucket_work(good.run.steps);
    auto const of_bad = db::analysis::bucket_work(bad.run.steps);
    for (auto& bucket : config.bucket) {
        if (!bucket.compute_s.is_auto()) continue;
        double work_s = compute_time_s(good.run, of_good, bucket);
        if (work_s <= 0) work_s = compute_time_s(bad.run, of_bad, bucket);
        if (work_s > 0) bucket.compute_s = work_s;
    }
}

}  // namespace osora::cli
