// Waits until a detached controller listens, so that a failure to start is reported.
#include "cli/run/started.hpp"

#include "base/files/files.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/run/control_client.hpp"
#include "cli/run/daemon_client.hpp"
#include "cli/run/follow/follow.hpp"
#include "plan/config/submitted_run.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <chrono>

namespace osora::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// A tiny run may be over before osora checks: an exit with 0 is not a failure to start.
bool came_up(Controller const& controller, RunFolder const& run) {
    constexpr auto kLimit = std::chrono::seconds(10);
    auto const deadline = Clock::now() + kLimit;
    while (Clock::now() < deadline) {
        if (has_controller(run.paths)) return true;
        pollfd ended{controller.child.pidfd.get(), POLLIN, 0};
        if (::poll(&ended, 1, 20) == 1) return reap(controller.child).exit_code == 0;
    }
    return false;
}

void say_network_file_system(RunFolder const& run) {
    auto const network = is_network_file_system(run.paths.dir);
    if (network.has_error() || !*network) return;
    auto const type = file_system_type(run.paths.dir);
    cli::print(stderr, "note: {} is on {}: locks and speed are that file system's\n",
               run.paths.dir.string(), type.has_value() ? *type : "a network file system");
}

int detach(RunFolder const& run, Controller const& controller, StartOptions const& options) {
    if (!came_up(controller, run)) {
        return fail(kExitBad, fmt::format("run {}: the controller did not start\n{}", run.number,
                                          last_output_lines(run)));
    }
    say_network_file_system(run);
    if (!options.json) {
        cli::print(options.stream,
                   "detached; follow it: osora watch {0}    stop it: osora cancel {0}\n",
                   run.number);
    }
    return kExitOk;
}

/// A run on Slurm has its controller inside its job.
bool is_for_daemon(RunFolder const& run) {
    auto const submitted = plan::read_submitted_run(run.paths);
    if (submitted.has_error() || submitted->config.resources.backend == "slurm") return false;
    return has_daemon(run.paths.state().dir);
}

/// The daemon answers before the controller has started.
bool has_begun(RunFolder const& run) {
    auto const deadline = Clock::now() + std::chrono::seconds(10);
    std::error_code error;
    while (!std::filesystem::exists(run.paths.journal(), error)) {
        if (Clock::now() >= deadline) return false;
        ::poll(nullptr, 0, 10);
    }
    return true;
}

int serve_and_follow(Context const& context, RunFolder const& run, StartOptions const& options) {
    auto const given = submit_to_daemon(context, run, options.resume);
    if (given.has_error()) {
        return fail(Error{given.error().code, "daemon: " + given.error().message});
    }
    if (!has_begun(run)) {
        return fail(kExitBad, fmt::format("run {}: the daemon's controller did not start\n{}",
                                          run.number, last_output_lines(run)));
    }
    if (options.attached) {
        return follow(context, run,
                      {.json = options.json,
                       .quiet = options.quiet,
                       .known_records = options.known_records,
                       .enough_steps = options.enough_steps,
                       .stream = options.stream});
    }
    if (!options.json) {
        cli::print(
            options.stream,
            "submitted to the daemon; follow it: osora watch {0}    stop it: osora cancel {0}\n",
            run.number);
    }
    return kExitOk;
}

}  // namespace

int start_and_follow(Context const& context, RunFolder const& run, StartOptions const& options) {
    if (options.json) {
        print_json(
            "run",
            {{"number", run.number}, {"name", run.name}, {"run_dir", run.paths.dir.string()}});
    }
    std::error_code ignored;  // a stop request that no controller has read was meant for the
                              // previous one
    std::filesystem::remove(run.paths.stop_request(), ignored);
    std::filesystem::remove(run.paths.relaunch_request(), ignored);
    if (is_for_daemon(run)) return serve_and_follow(context, run, options);
    auto controller =
        start_controller(context, run, {.attached = options.attached, .resume = options.resume});
    if (controller.has_error()) return fail(kExitBad, controller.error());
    if (!options.attached) return detach(run, *controller, options);
    return follow(context, run,
                  {.json = options.json,
                   .quiet = options.quiet,
                   .controller = &*controller,
                   .known_records = options.known_records,
                   .enough_steps = options.enough_steps,
                   .stream = options.stream});
}

}  // namespace osora::cli
