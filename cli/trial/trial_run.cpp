#include "cli/trial/trial_run.hpp"

#include "base/env.hpp"
#include "cli/run/prepared_run.hpp"
#include "cli/run/run_measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace osora::cli {

std::vector<std::string> trial_settings(std::string const& job, std::string const& series,
                                        int steps) {
    return {
        "run.job=" + job,         "run.name=" + series,     fmt::format("train.steps={}", steps),
        "checkpoint.every=0",     "checkpoint.resume=none", "probe.before_start=never",
        "faults.max_restarts=0",  "notify.on=[]",           "daemon.metrics=\"\"",
        "train.self_check=false", "tune.progressive=false"};
}

namespace {

bool is_out_of_memory(db::analysis::RunReport const& report) {
    return report.state.word == "oom" || std::ranges::any_of(report.notices, [](auto const& each) {
               return each.kind == "memory_retry";
           });
}

}  // namespace

TrialEnd trial_end(std::string run, int exit_code, double command_s,
                   Result<db::analysis::RunReport> const& report) {
    TrialEnd end{.wall_s = command_s, .exit_code = exit_code, .run = std::move(run)};
    if (report.has_value()) {
        end.ranks = report->run.run.ranks;
        // A run's report begins with its controller, which a queue lets wait.
        if (std::isfinite(report->wall_s)) end.wall_s = std::min(command_s, report->wall_s);
        end.ran_out_of_memory = is_out_of_memory(*report);
    }
    if (exit_code != kExitOk) {
        end.failure = fmt::format("run {} ended with {}", end.run, exit_code);
        return end;
    }
    if (report.has_error()) {
        end.exit_code = kExitBad;
        end.failure = report.error().message;
        return end;
    }
    end.step_s = report->measured.step_s_mix;
    end.split = rehearsal_split(*report);
    end.peak_memory_gib = report->memory_gib.measured;
    end.samples_per_step = report->measured.samples_per_s * end.step_s;
    if (!std::isfinite(end.step_s) || end.step_s <= 0) {
        end.exit_code = kExitUndecided;
        end.failure = fmt::format("run {} has no step that counts", end.run);
    }
    return end;
}

TrialEnd run_trial(Context const& context, plan::ConfigRequest const& request) {
    auto prepared = prepare_run(context, request, false);
    if (prepared.has_error()) return {.exit_code = prepared.error(), .failure = "is not valid"};
    StartOptions options;
    options.quiet = true;
    auto const& config = prepared->submission.resolved.config;
    if (config.run.job == "exec") options.enough_steps = config.train.steps;
    options.stream = stderr;
    auto const begin_us = RealEnv().wall_us();
    auto const started = start_run(context, std::move(*prepared), options);
    double const command_s = static_cast<double>(RealEnv().wall_us() - begin_us) / 1e6;
    return trial_end(started.folder.name, started.exit_code, command_s,
                     report_of(context, started.folder));
}

}  // namespace osora::cli
