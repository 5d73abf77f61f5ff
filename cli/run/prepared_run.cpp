// Each step prints its errors and returns the exit code; no step discards the result of an earlier
// one.
#include "cli/run/prepared_run.hpp"

#include "base/env.hpp"
#include "base/files/files.hpp"
#include "base/host_name.hpp"
#include "base/text/printable.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/command/state_folder.hpp"
#include "cli/plan/bad_hosts.hpp"
#include "cli/run/code_facts.hpp"
#include "cli/run/facts.hpp"
#include "cli/run/launch.hpp"
#include "cli/run/run_command.hpp"
#include "cli/run/run_secrets.hpp"
#include "cli/run/slurm/submit_slurm.hpp"
#include "plan/config/cross_checks.hpp"
#include "plan/config/notify_checks.hpp"
#include "protocol/clip_score.hpp"
#include "protocol/secret_key.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace osora::cli {
namespace {

int refuse(std::vector<plan::ConfigProblem> const& problems, bool json) {
    if (json) {
        print_json("validate", {{"ok", false}, {"problems", problems_json(problems)}});
    } else {
        cli::print(stderr, "{}", problem_list(problems));
    }
    return kExitUsage;
}

/// What a score run would find out on its nodes only.
Result<void> check_score(Context const& context, plan::RunConfig const& config,
                         std::filesystem::path const& base_dir) {
    if (config.run.job != "score") return {};
    std::error_code ignored;
    auto const output = base_dir / config.score.output;
    if (std::filesystem::exists(output, ignored))
        return invalid("score.output: " + output.string() +
                       " is there already; move it away or give another name");
    if (auto const folder = folder_of(output); !std::filesystem::is_directory(folder, ignored))
        return invalid("score.output: there is no folder " + folder.string());
    bool const text = std::ranges::find(config.score.scores, "text") != config.score.scores.end();
    auto const module = context.program_dir.parent_path() / "lib" / "libosora_text.so";
    if (text && !std::filesystem::exists(module, ignored))
        return invalid("score.scores: text: " + std::string(protocol::kNoTextReader));
    return {};
}

plan::ResolvedConfig with_layout(plan::ResolvedConfig resolved, plan::LayoutPlan const& chosen) {
    auto& parallel = resolved.config.parallel;
    parallel.tp_size.value = chosen.tp_size;
    parallel.sp_size.value = chosen.sp_size;
    parallel.pp_size.value = chosen.pp_size;
    return resolved;
}

}  // namespace

boost::system::result<PreparedRun, int> prepare_run(Context const& context,
                                                    plan::ConfigRequest const& request, bool json) {
    PreparedRun prepared;
    Submission& submission = prepared.submission;
    submission.resolved = plan::load_config(request);
    if (!submission.resolved.problems.empty()) return refuse(submission.resolved.problems, json);
    if (auto const given = check_secrets(submission.resolved.config); given.has_error()) {
        return fail(kExitUsage, given.error());
    }
    if (auto note = place_bad_hosts(context, submission.resolved.config); !note.empty()) {
        prepared.notes.push_back(std::move(note));
    }
    auto const cluster = local_cluster(context);
    auto const problems = plan_problems(submission.resolved, cluster);
    if (!problems.empty()) return refuse(problems, json);
    auto const path = variable_or(context.environment, "PATH", "");
    for (auto const& list : {plan::without_effect(submission.resolved),
                             plan::notify_warnings(submission.resolved, path),
                             plan::metrics_warnings(submission.resolved)}) {
        for (auto const& note : list) prepared.notes.push_back(plan::to_text(note));
    }
    submission.base_dir =
        request.base_dir.empty() ? plan::base_dir_of(request.run_file) : request.base_dir;
    auto const scored = check_score(context, submission.resolved.config, submission.base_dir);
    if (scored.has_error()) return fail(kExitUsage, scored.error());
    PlanInputs inputs{.cluster = cluster, .base_dir = submission.base_dir, .calibration = {}};
    auto planned = plan_run(context, submission.resolved, inputs);
    if (planned.has_error()) {
        auto const& error = planned.error();
        return fail(error.code == Errc::out_of_memory ? kExitBad : exit_code_for(error.code),
                    error);
    }
    if (!planned->warning.empty()) prepared.notes.push_back(planned->warning);
    prepared.planned = std::move(*planned);
    submission.plan = prepared.planned.decision;
    submission.user = variable_or(context.environment, "USER", std::to_string(::geteuid()));
    submission.host = host_name();
    auto const& config = submission.resolved.config;
    if (config.run.job != "rehearse") return prepared;
    prepared.trained = trained_run(context, config, prepared.planned);
    using Measured = std::vector<std::optional<plan::BucketCompute>>;
    submission.rehearsal = plan::rehearsal_compute(
        config, submission.plan, prepared.trained ? prepared.trained->compute : Measured());
    // The expected step time of that layout follows from the compute times that it was given.
    inputs.compute_times = submission.rehearsal;
    if (auto again =
            plan_run(context, with_layout(submission.resolved, submission.plan.chosen), inputs);
        again.has_value()) {
        submission.plan.predicted = again->decision.predicted;
        prepared.planned.decision.predicted = again->decision.predicted;
    }
    return prepared;
}

void print_notes(PreparedRun const& prepared) {
    for (auto const& note : prepared.notes) cli::print(stderr, "note: {}\n", note);
}

StartedRun start_run(Context const& context, PreparedRun prepared, StartOptions const& options) {
    auto const refused = [](int code, Error const& error) {
        return StartedRun{.exit_code = fail(code, error), .folder = {}};
    };
    auto const state = state_dir(context.environment);
    if (state.has_error()) return refused(kExitUsage, state.error());
    // Checked before anything is made: a run that cannot start leaves no files.
    auto const controller = controller_program(context);
    if (controller.has_error()) return refused(kExitUsage, controller.error());
    Environment environment = context.environment;
    for (auto const& [name, value] : prepared.submission.resolved.config.worker.env) {
        set_variable(environment, name, value);
    }
    if (auto const fits = check_size(environment); fits.has_error()) {
        return refused(kExitUsage, fits.error());
    }
    auto const worker = worker_program(context);
    auto const& job = prepared.submission.resolved.config.run.job;
    bool const without_worker =
        job == "exec" || (job == "probe" && prepared.submission.collectives.collectives.empty());
    if (worker.has_error() && !without_worker) return refused(kExitUsage, worker.error());
    prepared.submission.attached = options.attached;
    prepared.submission.facts = submission_facts(
        context.environment, worker.has_value() ? *worker : std::filesystem::path());
    if (job == "exec") {
        prepared.submission.facts.merge(
            code_facts(context.environment, prepared.submission.base_dir,
                       prepared.submission.resolved.config.worker.command));
    }
    prepared.submission.submitted_us = RealEnv().wall_us();
    if (auto const own = own_state(context, *state); own.has_error()) {
        return refused(exit_code_for(own.error().code), own.error());
    }
    auto key = protocol::secret_key(*state);
    if (key.has_error()) return refused(kExitBad, key.error());
    prepared.submission.secret_key = std::move(*key);
    auto run = create_run(*state, prepared.submission);
    if (run.has_error()) return refused(kExitBad, run.error());
    prepared.planned.header.run = run->name;
    if (options.json) {
        cli::print("{}\n", printable_json(protocol::encode(prepared.planned.decision)));
    } else if (!options.quiet) {
        cli::print(options.stream, "{}\n",
                   render_plan(prepared.planned.decision, prepared.planned.header));
        std::fflush(options.stream);
    }
    auto const& config = prepared.submission.resolved.config;
    int const code = is_queued(context, config) ? queue_and_follow(context, *run, config, options)
                                                : start_and_follow(context, *run, options);
    return {.exit_code = code, .folder = std::move(*run)};
}

}  // namespace osora::cli
