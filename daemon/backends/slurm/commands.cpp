#include "daemon/backends/slurm/commands.hpp"

#include "base/log/log_sinks.hpp"
#include "base/text/printable.hpp"
#include "daemon/backends/slurm/batch_step.hpp"
#include "daemon/backends/slurm/sweep.hpp"
#include "protocol/exit_codes.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace osora::daemon {

SlurmCommands::SlurmCommands(CLI::App& app)
    : enter_(app.add_subcommand("enter", "Run a command in a submitted run's environment")),
      batch_(app.add_subcommand("batch", "The batch step of a run's Slurm job")),
      sweep_(app.add_subcommand("sweep",
                                "Kill a run's orphaned processes on this host; order on stdin")) {
    for (CLI::App* each : {enter_, batch_}) {
        each->add_option("RUN_DIR", run_dir_)->required();
    }
    enter_->add_option("COMMAND", command_)->required();
}

int SlurmCommands::batch(std::filesystem::path const& osorad) const {
    auto const sink = make_stderr_sink(LogFormat::logfmt, LogLevel::info);
    RealEnv env;
    Logger log(*sink, env);
    std::error_code error;
    protocol::RunPaths const paths{std::filesystem::canonical(run_dir_, error)};
    if (error) {
        log.error("no run directory", {{"path", run_dir_.string()}, {"why", error.message()}});
        return kExitUsage;
    }
    BatchOptions const options{paths, osorad, current_environment()};
    auto const exit_code = run_batch(options, env, log);
    if (exit_code.has_value()) return *exit_code;
    log.error("cannot load run", {{"why", exit_code.error().message}});
    return 1;
}

std::optional<int> SlurmCommands::run(std::filesystem::path const& osorad) const {
    if (batch_->parsed()) return batch(osorad);
    if (enter_->parsed()) {
        protocol::RunPaths const paths{run_dir_};
        auto const why = enter_environment(paths, command_, current_environment());
        fmt::print(stderr, "osorad: {}\n", printable(why.message, "\n\t"));
        return kExitUsage;
    }
    if (!sweep_->parsed()) return {};
    auto const sink = make_stderr_sink(LogFormat::logfmt, LogLevel::warning);
    RealEnv const env;
    Logger log(*sink, env);
    return sweep_host(log);
}

}  // namespace osora::daemon
