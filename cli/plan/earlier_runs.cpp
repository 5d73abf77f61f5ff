// History is optional here: if it cannot be read, it counts as empty.
#include "cli/plan/earlier_passes.hpp"

#include "cli/command/history_access.hpp"
#include "cli/command/print.hpp"
#include "cli/command/state_folder.hpp"
#include "cli/plan/rehearsal_source.hpp"
#include "db/record/facts.hpp"
#include "db/store/queries.hpp"
#include "protocol/json.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>

namespace osora::cli {
namespace {

constexpr int kListed = 50, kLookedAt = 10, kTaken = 3;

/// What is known of a run without reading its steps.
bool may_serve(db::RunSummary const& run, PlanHeader const& header) {
    if (run.run.job != "train" || run.run.arch != header.arch || !run.run.ended_us) return false;
    if (db::is_imported(run.run) || !run.plan || !run.measured) return false;
    // Trials have settings that are bad on purpose.
    if (trained_series(run.run.series) != run.run.series) return false;
    auto const& layout = run.plan->chosen;
    return run.measured->steps_used >= kMeasuredStepsMin && is_on_gpu(run) == header.gpu &&
           layout.tp_size * layout.sp_size * layout.pp_size == 1;
}

/// The part of a run file that decides what a pass computes, and where.
db::Facts network_facts(db::Facts facts) {
    std::erase_if(facts, [](auto const& each) {
        std::string const& key = each.first;
        bool const kept = key.starts_with("model.") || key == "optim.precision" ||
                          key == "optim.lora_rank" || key.starts_with("optim.freeze") ||
                          key == "resources.backend" || key == "slurm.partition";
        return !kept || key == "model.init";
    });
    return facts;
}

void add_passes(db::RunSummary const& run, std::vector<db::analysis::BucketWork> const& works,
                std::vector<plan::MeasuredPass>& into) {
    auto const& layout = run.plan->chosen;
    int cores = 0;
    for (auto const& node : run.nodes) cores += node.cores;
    for (db::PlannedBucket const& bucket : layout.buckets) {
        auto const work =
            std::ranges::find(works, bucket.label(), &db::analysis::BucketWork::bucket);
        if (work == works.end()) continue;
        into.push_back(
            {.run = run.run.number,
             .height = bucket.height,
             .width = bucket.width,
             .num_frames = bucket.num_frames,
             .micro_batch_size = bucket.micro_batch_size,
             .ranks = run.run.ranks,
             .zero_stage = layout.zero_stage,
             .shard_size = layout.shard_size,
             .threads = layout.threads_per_rank,
             .cores = cores > 0 ? cores : run.run.ranks * layout.threads_per_rank,
             .recompute = layout.recompute,
             .activation_store = layout.activation_store,
             .pass_s = (work->forward_s + work->backward_s) / std::max(1, bucket.grad_accum_steps),
             .optimizer_s = work->optimizer_s});
    }
}

}  // namespace

std::vector<plan::MeasuredPass> measured_passes(Context const& context,
                                                plan::RunConfig const& config,
                                                PlanHeader const& header) {
    std::vector<plan::MeasuredPass> passes;
    auto const state = state_dir(context.environment);
    if (state.has_error() || config.run.job != "train") return passes;
    std::vector<std::string> notes;
    std::error_code missing;
    if (!std::filesystem::is_directory(*state, missing)) return passes;
    if (!is_own_state(*state, notes)) return passes;  // who writes there says so
    for (auto const& note : notes) cli::print(stderr, "note: {}\n", note);
    auto const history = open_history(*state);
    if (history.has_error()) return passes;
    auto const runs = db::list_runs(*history->store, "", kListed);
    if (runs.has_error()) return passes;
    auto const wanted = network_facts(db::flatten(protocol::to_json(config)));
    int looked_at = 0, taken = 0;
    for (db::RunSummary const& run : *runs) {
        if (!may_serve(run, header)) continue;
        if (++looked_at > kLookedAt || taken == kTaken) break;
        auto const work = db::load_run_work(*history->store, run.run.run_id);
        if (work.has_error() || network_facts(work->config) != wanted) continue;
        ++taken;
        add_passes(run, work->buckets, passes);
    }
    return passes;
}

}  // namespace osora::cli
