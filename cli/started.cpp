// A detached controller is waited for until it listens, so that one that cannot start is not
// hidden.
#include "cli/started.hpp"

#include "base/files.hpp"
#include "cli/control_client.hpp"
#include "cli/exit_code.hpp"
#include "cli/follow.hpp"
#include "cli/json_output.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <chrono>

namespace osora::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// A tiny run may be over before anybody has asked: an end with 0 is no failure to start.
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
    fmt::print(stderr, "note: {} is on {}: locks and speed are that file system's\n",
               run.paths.dir.string(), type.has_value() ? *type : "a network file system");
}

int detach(RunFolder const& run, Controller const& controller, bool json) {
    if (!came_up(controller, run)) {
        return fail(kExitBad, fmt::format("run {}: the controller did not start\n{}", run.number,
                                          last_words(run)));
    }
    say_network_file_system(run);
    if (!json) {
        fmt::print("detached; follow it: osora watch {0}    stop it: osora cancel {0}\n",
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
    auto controller =
        start_controller(context, run, {.attached = options.attached, .resume = options.resume});
    if (controller.has_error()) return fail(kExitBad, controller.error().message);
    if (!options.attached) return detach(run, *controller, options.json);
    return follow(
        context, run,
        {.json = options.json, .controller = &*controller, .known_records = options.known_records});
}

}  // namespace osora::cli
