// History is optional here: if it cannot be read, it counts as empty.
#include "cli/plan/earlier_runs.hpp"

#include "cli/command/history_access.hpp"
#include "cli/command/print.hpp"
#include "cli/command/state_folder.hpp"
#include "cli/plan/rehearsal_source.hpp"
#include "db/analysis/report/prediction_report.hpp"
#include "db/record/facts.hpp"
#include "db/store/queries.hpp"
#include "plan/activation_choice.hpp"
#include "plan/model/trained_model.hpp"
#include "protocol/json.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <system_error>

namespace osora::cli {
namespace {

constexpr int kListed = 100, kPassesLookedAt = 10, kPassesTaken = 3;
constexpr std::size_t kErrorsTaken = 20;

/// What is known of a run without reading its steps.
bool may_serve(db::RunSummary const& run, PlanHeader const& header) {
    if (run.run.job != "train" || !run.run.ended_us) return false;
    if (db::is_imported(run.run) || !run.plan || !run.measured) return false;
    // Trials have settings that are bad on purpose.
    if (trained_series(run.run.series) != run.run.series) return false;
    return run.measured->steps_used >= kMeasuredStepsMin && is_on_gpu(run) == header.gpu;
}
bool has_passes(db::RunSummary const& run, PlanHeader const& header) {
    auto const& layout = run.plan->chosen;
    return run.run.arch == header.arch && layout.tp_size * layout.sp_size * layout.pp_size == 1;
}

/// The parts of a run file that decide what a pass computes, and where.
db::Facts network_facts(db::Facts facts) {
    std::erase_if(facts, [](auto const& each) {
        std::string const& key = each.first;
        bool const kept = key.starts_with("model.") || key == "optim.precision" ||
                          key == "optim.lora_rank" || key.starts_with("optim.freeze");
        return !kept || key == "model.init";
    });
    return facts;
}
db::Facts machine_facts(db::Facts facts) {
    std::erase_if(facts, [](auto const& each) {
        return each.first != "resources.backend" && each.first != "slurm.partition";
    });
    return facts;
}

void add_error(db::RunSummary const& run, std::vector<double>& into) {
    double const predicted = run.plan->predicted.step_time_s;
    double const measured = run.measured->step_s_mix;
    if (!db::analysis::plan_covers(run)) return;
    if (predicted > 0 && measured > 0) into.push_back(std::abs(predicted / measured - 1));
}

/// As in a plan: `blocks` of all are what the run recomputed, if that is known.
std::string recompute_of(std::string const& planned, int blocks, int all) {
    auto const choice = plan::checked_recompute(planned);
    if (blocks < 0 || blocks == std::min<std::int64_t>(choice.first_blocks, all)) return planned;
    if (blocks == all) return "full";
    return blocks == 0 ? "none" : std::to_string(blocks);
}

void add_passes(db::RunSummary const& run, int blocks,
                std::vector<db::analysis::BucketWork> const& works,
                std::vector<plan::MeasuredPass>& into) {
    auto const& layout = run.plan->chosen;
    int cores = 0;
    for (auto const& node : run.nodes) cores += node.cores;
    for (db::PlannedBucket const& bucket : layout.buckets) {
        auto const work =
            std::ranges::find(works, bucket.label(), &db::analysis::BucketWork::bucket);
        if (work == works.end()) continue;
        int const accumulated = std::max(1, bucket.grad_accum_steps);
        // Ranks may have changed their passes: out of memory, or [tune] progressive.
        int const size =
            work->micro_batch_size > 0 ? work->micro_batch_size : bucket.micro_batch_size;
        int const samples = bucket.micro_batch_size * accumulated;
        int const passes = std::max(1, (samples + size - 1) / std::max(1, size));
        into.push_back(
            {.run = run.run.number,
             .height = bucket.height,
             .width = bucket.width,
             .num_frames = bucket.num_frames,
             .micro_batch_size = size,
             .ranks = run.run.ranks,
             .zero_stage = layout.zero_stage,
             .shard_size = layout.shard_size,
             .threads = layout.threads_per_rank,
             .cores = cores > 0 ? cores : run.run.ranks * layout.threads_per_rank,
             .recompute = recompute_of(layout.recompute, work->recomputed_blocks, blocks),
             .activation_store = layout.activation_store,
             .pass_s = (work->forward_s + work->backward_s) / passes,
             .optimizer_s = work->optimizer_s});
    }
}

}  // namespace

void use_earlier_runs(Context const& context, PlanHeader const& header,
                      plan::PlanRequest& request) {
    auto const state = state_dir(context.environment);
    if (state.has_error() || request.config.run.job != "train") return;
    std::vector<std::string> notes;
    std::error_code missing;
    if (!std::filesystem::is_directory(*state, missing)) return;
    if (!is_own_state(*state, notes)) return;  // who writes there says so
    for (auto const& note : notes) cli::print(stderr, "note: {}\n", note);
    auto const history = open_history(*state);
    if (history.has_error()) return;
    auto const runs = db::list_runs(*history->store, "", kListed);
    if (runs.has_error()) return;
    auto const own = db::flatten(protocol::to_json(request.config));
    auto const machine = machine_facts(own), network = network_facts(own);
    auto const shape = plan::sample_shape(request.config);
    int looked_at = 0, taken = 0;
    for (db::RunSummary const& run : *runs) {
        if (!may_serve(run, header)) continue;
        bool const for_passes =
            taken < kPassesTaken && looked_at < kPassesLookedAt && has_passes(run, header);
        bool const for_errors = request.past_errors.size() < kErrorsTaken;
        if (!for_passes && !for_errors) continue;
        auto const config = db::load_run_config(*history->store, run.run.run_id);
        if (config.has_error() || machine_facts(*config) != machine) continue;
        if (for_errors) add_error(run, request.past_errors);
        if (!for_passes) continue;
        ++looked_at;
        if (network_facts(*config) != network) continue;
        auto const works = db::load_bucket_work(*history->store, run.run.run_id);
        if (works.has_error()) continue;
        ++taken;
        add_passes(run, shape ? shape->blocks() : 0, *works, request.measured_passes);
    }
}

}  // namespace osora::cli
