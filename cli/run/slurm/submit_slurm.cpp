// Every node must see the run directory under the same name: osora cannot check that before the job
// runs, so it prints a note when the file system is local.
#include "cli/run/slurm/submit_slurm.hpp"

#include "base/files/files.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/run/follow/follow.hpp"
#include "cli/run/slurm/queued_run.hpp"
#include "cli/run/slurm/slurm_job.hpp"
#include "slurm/after_sbatch.hpp"
#include "slurm/job_script.hpp"
#include "slurm/stage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ctime>

namespace osora::cli {
namespace {

void say_shared_folder(std::filesystem::path const& dir) {
    auto const network = is_network_file_system(dir);
    if (network.has_error() || *network) return;
    cli::print(stderr,
               "note: {} must be seen by every node; if it is this machine's own, set "
               "OSORA_STATE_DIR to a shared folder\n",
               dir.string());
}

void print_estimate(Context const& context, std::string const& script) {
    auto const estimate = estimate_start(context, script);
    if (estimate.has_error()) {
        cli::print("start    not known: {}\n", estimate.error().message);
        return;
    }
    std::time_t const at = estimate->start_time;
    std::tm parts{};
    ::localtime_r(&at, &parts);
    std::string const partition =
        estimate->partition.empty() ? "" : ", partition " + estimate->partition;
    cli::print("start    estimated {:04}-{:02}-{:02} {:02}:{:02} on {}{}\n", parts.tm_year + 1900,
               parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
               estimate->node_list.empty() ? "nodes not chosen yet" : estimate->node_list,
               partition);
}

std::string cluster_for(plan::RunConfig const& config, Predecessor const& after) {
    return after.cluster.empty() ? slurm::cluster_asked_for(config.slurm.extra) : after.cluster;
}

Submitted queue(Context const& context, RunFolder const& run, plan::RunConfig const& config,
                Predecessor const& after) {
    auto const written = write_job_files(context, config, run, cluster_for(config, after));
    if (written.has_error()) return {.record = {}, .notice = {}, .error = written.error()};
    return submit_job(context, run, after, slurm::cluster_asked_for(config.slurm.extra));
}

}  // namespace

bool is_queued(Context const& context, plan::RunConfig const& config) {
    return config.resources.backend == "slurm" && !is_in_job(context.environment);
}

int queue_and_follow(Context const& context, RunFolder const& run, plan::RunConfig const& config,
                     StartOptions const& options) {
    auto const submitted = queue(context, run, config, options.after);
    auto const& record = submitted.record;
    std::error_code ignored;
    if (!record) {
        bool const fresh = options.known_records == 0 && !options.resume;
        if (fresh && !submitted.kept) std::filesystem::remove_all(run.paths.dir, ignored);
        return fail(submitted.error);
    }
    if (!submitted.notice.empty()) cli::print(stderr, "note: {}\n", submitted.notice);
    std::filesystem::remove(run.paths.stop_request(), ignored);
    std::filesystem::remove(run.paths.relaunch_request(), ignored);
    if (options.json) {
        print_json("run", {{"number", run.number},
                           {"name", run.name},
                           {"run_dir", run.paths.dir.string()},
                           {"slurm_job", record->job.job_id}});
    } else if (!options.quiet) {
        cli::print(options.stream, "{:<8} job {}{} submitted{}\n", "slurm", record->job.job_id,
                   record->job.cluster.empty() ? "" : " on cluster " + record->job.cluster,
                   record->after.empty() ? "" : ", starts after " + record->after);
        std::fflush(options.stream);
    }
    say_shared_folder(run.paths.dir);
    if (!options.attached) {
        if (options.json) return kExitOk;
        cli::print(options.stream,
                   "detached; follow it: osora watch {0}    stop it: osora cancel {0}\n",
                   run.number);
        return kExitOk;
    }
    QueuedRun job(context, run, *record);
    return follow(context, run,
                  {.json = options.json,
                   .quiet = options.quiet,
                   .job = &job,
                   .known_records = options.known_records,
                   .enough_steps = options.enough_steps,
                   .stream = options.stream});
}

void print_job_dry_run(Context const& context, plan::RunConfig const& config,
                       Predecessor const& after) {
    auto const& resources = config.resources;
    int const ranks = resources.nodes * resources.gpus_per_node;
    cli::print("ranks    0-{}: {} nodes x {}, node i has ranks {}i to {}i+{}\n", ranks - 1,
               resources.nodes, resources.gpus_per_node, resources.gpus_per_node,
               resources.gpus_per_node, resources.gpus_per_node - 1);
    if (after.job > 0) {
        cli::print("after    {}: {}\n", after.run,
                   fmt::join(slurm::stage_arguments(after.job, after.cluster), " "));
    }
    if (resources.spares > 0) cli::print("spares   {}\n", resources.spares);
    double const hours = slurm::gpu_hours(resources);
    if (hours > 0) {
        cli::print("cost     at most {:.1f} GPU-h: {} nodes x {} for {}\n", hours,
                   resources.nodes + resources.spares, resources.gpus_per_node,
                   resources.time_limit);
    } else {
        cli::print("cost     not known without resources.time_limit\n");
    }
    auto const state = state_dir(context.environment);
    if (state.has_error()) return;
    auto const run = next_run_folder(*state, config.run.name);
    if (run.has_error()) return;
    auto const script = job_script_for(context, config, run->paths.dir, cluster_for(config, after));
    if (script.has_error()) {
        cli::print("script   {}\n", script.error().message);
        return;
    }
    print_estimate(context, *script);
    cli::print("script   {}, given to sbatch:\n\n{}\n", run->paths.job_script().string(), *script);
    cli::print("dry run: nothing was submitted\n");
}

}  // namespace osora::cli
