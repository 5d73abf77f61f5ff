// controller.json identifies the controller, and is deleted when the controller exits cleanly.
#include "daemon/service/served_run.hpp"

#include "base/files/file_lock.hpp"
#include "base/files/files.hpp"
#include "daemon/journal/journaled_status.hpp"
#include "daemon/net/controller_file.hpp"
#include "daemon/net/stream.hpp"
#include "daemon/process/process_end.hpp"
#include "plan/config/submitted_run.hpp"
#include "protocol/environment_file.hpp"
#include "protocol/exit_codes.hpp"

#include <fcntl.h>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace osora::daemon {
namespace {

constexpr std::int64_t kEnvironmentFileBytesMax = 64 << 20;
constexpr std::chrono::milliseconds kFirstLook{20}, kLookEvery{1000};  // at the run's lock

std::string uuid_of(protocol::RunPaths const& paths) {
    auto const submission = plan::read_submission(paths);
    return submission.has_value() ? submission->run_uuid : "";
}

}  // namespace

ServedRun::ServedRun(ServedRunOptions options, Env& env, Logger& log)
    : options_(std::move(options)), env_(env), log_(log) {}

ProcessId ServedRun::living_controller() const {
    auto const file = read_controller_file(options_.paths, uuid_of(options_.paths));
    if (file.has_error() || file->boot_id != boot_id()) return {};
    ProcessId const process{.pid = file->pid, .start_ticks = file->start_ticks};
    return is_alive(process) ? process : ProcessId{};
}

Result<Environment> ServedRun::environment() const {
    auto const path = options_.paths.environment();
    auto const text = read_file(path, kEnvironmentFileBytesMax);
    if (text.has_error() && text.error().code == Errc::not_found) return options_.environment;
    if (text.has_error()) return text.error();
    auto environment = protocol::decode_environment(*text);
    if (environment.has_error()) return std::move(environment).error().in(path.string());
    return environment;
}

/// That the run is over says nothing: it may have been reopened and have ended again.
bool ServedRun::must_reopen() {
    if (!options_.reopen_after) return false;
    auto const status = read_run_status(options_.paths.dir);
    bool const reopened = status.has_value() && status->incarnations != *options_.reopen_after;
    if (reopened) options_.reopen_after.reset();
    return !reopened;
}

Result<Child> ServedRun::start() {
    auto const errors = options_.paths.dir / "controller.stderr";
    OSORA_TRY(auto const output, open_private(errors, O_WRONLY | O_TRUNC | O_APPEND));
    SpawnOptions spawning;
    spawning.program = options_.osorad;
    spawning.arguments = {"--one-run", options_.paths.dir.string(), "--supervised"};
    if (must_reopen()) spawning.arguments.emplace_back("--resume");
    OSORA_TRY(spawning.environment, environment());
    spawning.working_directory = "/";
    spawning.descriptors = {{output.get(), STDOUT_FILENO}, {output.get(), STDERR_FILENO}};
    spawning.death_signal = 0;  // it outlives this process
    spawning.new_session = true;
    return spawn(spawning);
}

bool ServedRun::is_over() {
    if (must_reopen()) return false;
    auto const status = read_run_status(options_.paths.dir);
    return status.has_value() && status->state == protocol::RunState::done;
}

std::string ServedRun::why_not_started(ExitStatus const& status) {
    if (status.signal != 0) return "";
    if (status.exit_code == kExitUnreachable) return "another process held the run's lock";
    // A run that failed ends with 1 as well.
    if (status.exit_code != 1 || is_over()) return "";
    return "the controller exited with 1 before the run was over: see controller.log";
}

boost::asio::awaitable<Descriptor> ServedRun::find_controller() {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    auto pause = kFirstLook;
    while (true) {
        controller_ = living_controller();
        Descriptor handle = open_process(controller_);
        if (handle.is_open() || !FileLock::is_held(options_.paths.lock())) co_return handle;
        if (pause == kFirstLook) {
            log_.info("waiting for the process that holds the run's lock",
                      {{"run", options_.paths.dir.filename().string()}});
        }
        timer.expires_after(pause);
        pause = std::min(pause * 2, kLookEvery);
        co_await timer.async_wait(kToken);
    }
}

boost::asio::awaitable<ControllerEnd> ServedRun::watch() {
    ControllerEnd end;
    std::string const name = options_.paths.dir.filename().string();
    Descriptor handle = co_await find_controller();
    if (handle.is_open()) {
        log_.info("controller found", {{"run", name}, {"pid", controller_.pid}});
        asio::posix::stream_descriptor ended(co_await asio::this_coro::executor, handle.release());
        while (is_alive(controller_)) {
            co_await ended.async_wait(asio::posix::stream_descriptor::wait_read, kToken);
        }
    } else {
        auto child = start();
        if (child.has_error()) {
            end.not_started = "cannot start controller: " + child.error().message;
            co_return end;
        }
        controller_ = child->id;
        log_.info("controller started", {{"run", name}, {"pid", controller_.pid}});
        std::function<void()> const nothing = [] {};
        ExitStatus const status = co_await wait_and_reap(std::move(*child), nothing);
        end.known = true;
        end.exit_code = status.exit_code;
        end.signal = status.signal;
        end.not_started = why_not_started(status);
    }
    controller_ = {};
    std::error_code error;
    end.unclean_exit = std::filesystem::exists(options_.paths.controller_file(), error);
    co_return end;
}

void ServedRun::forget_environment() const {
    std::error_code ignored;  // a resume writes it again
    std::filesystem::remove(options_.paths.environment(), ignored);
}

boost::asio::awaitable<void> ServedRun::run() {
    std::string const name = options_.paths.dir.filename().string();
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (true) {
        ControllerEnd const end = co_await watch();
        SupervisionStep const step = supervision_.on_end(env_.now(), end);
        if (step.what == AfterEnd::forget) {
            bool const refused = end.known && end.exit_code == kExitUsage;
            if (refused) {
                log_.error("the run cannot start: see its controller.log",
                           {{"run", name}, {"why", step.why}});
            } else {
                log_.info("run over", {{"run", name}, {"why", step.why}});
            }
            forget_environment();
            co_return;
        }
        if (step.what == AfterEnd::give_up) {
            log_.error("giving up the run", {{"run", name}, {"why", step.why}});
            forget_environment();
            co_return;
        }
        log_.warning("restarting controller", {{"run", name}, {"why", step.why}});
        ++restarts_;
        timer.expires_after(step.delay);
        co_await timer.async_wait(kToken);
    }
}

}  // namespace osora::daemon
