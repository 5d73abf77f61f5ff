// Signals are read, not handled: SIGUSR2 is --signal's warning, SIGTERM a preemption or scancel.
#include "daemon/backends/slurm/batch_step.hpp"

#include "base/files/files.hpp"
#include "base/process/process.hpp"
#include "daemon/backends/slurm/next_job.hpp"
#include "daemon/controller/stop_request.hpp"
#include "daemon/journal/journaled_status.hpp"
#include "daemon/service/supervision.hpp"
#include "protocol/environment_file.hpp"
#include "protocol/exit_codes.hpp"
#include "protocol/json.hpp"
#include "slurm/notation.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>

namespace osora::daemon {
namespace {

constexpr std::int64_t kPlanBytesMax = 8 << 20;

/// Blocks SIGUSR2 and SIGTERM and makes them readable; children start with no signal blocked.
Result<Descriptor> open_signals() {
    sigset_t wanted;
    ::sigemptyset(&wanted);
    for (int const signal : {SIGUSR2, SIGTERM, SIGINT}) ::sigaddset(&wanted, signal);
    ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
    Descriptor signals(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals.is_open()) return file_error(errno, "signalfd", "batch step");
    return signals;
}

class Batch {
public:
    Batch(BatchOptions const& options, Descriptor signals, Env& env, Logger& log)
        : options_(options), signals_(std::move(signals)), env_(env), log_(log) {}

    Result<int> run() {
        std::error_code none;
        auto const printed = std::filesystem::file_size(job_log(), none);
        printed_before_ = none ? 0 : static_cast<off_t>(printed);
        OSORA_TRY(auto const before, read_run_status(options_.paths.dir));
        bool resume = before.state == protocol::RunState::done;
        if (resume && before.verdict == protocol::Verdict::ok) return 0;
        Supervision supervision;
        while (true) {
            auto const child = start(resume);
            ExitStatus status;
            ControllerEnd end;
            if (child.has_value()) {
                watch(*child);
                status = reap(*child);
                end = end_of(status);
            } else {  // a node that is short of processes or memory may have them again
                end.not_started = "cannot start controller: " + child.error().message;
            }
            SupervisionStep const step = supervision.on_end(env_.now(), end);
            if (step.what != AfterEnd::restart) {
                if (child.has_error()) return child.error();
                return finish(status);
            }
            log_.warning("restarting the controller", {{"why", step.why}});
            resume = resume && !is_reopened_since(before.incarnations);
            using std::chrono::duration_cast;
            auto const pause = duration_cast<std::chrono::milliseconds>(step.delay);
            ::poll(nullptr, 0, static_cast<int>(pause.count()));
        }
    }

private:
    [[nodiscard]] std::string job_id() const {
        return variable_or(options_.environment, "SLURM_JOB_ID", "");
    }

    /// What the job prints, also in its earlier lives when it was requeued.
    [[nodiscard]] std::filesystem::path job_log() const {
        return options_.paths.dir / fmt::format("job-{}.log", job_id());
    }

    /// The end of what this life of the job has printed.
    [[nodiscard]] std::string last_printed() const {
        constexpr off_t kBytesMax = 64 << 10;
        Descriptor const file(::open(job_log().c_str(), O_RDONLY | O_CLOEXEC));
        if (!file.is_open()) return {};
        off_t const end = ::lseek(file.get(), 0, SEEK_END);
        off_t const begin = std::max(printed_before_, end - kBytesMax);
        if (begin >= end) return {};
        std::string text(static_cast<std::size_t>(end - begin), '\0');
        ssize_t const got = ::pread(file.get(), text.data(), text.size(), begin);
        text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        return text;
    }

    /// In its last minute a job may be cancelled, too.
    void look_for_scancel() {
        if (warning_ != slurm::JobWarning::time_limit) return;
        if (!slurm::says_cancelled(last_printed(), job_id())) return;
        log_.info("the job was cancelled before its time limit", {});
        warning_ = slurm::JobWarning::none;
    }

    /// Whether a controller has begun since. That the run is over says nothing: it may have been
    /// reopened and have ended again.
    [[nodiscard]] bool is_reopened_since(int incarnations) const {
        auto const status = read_run_status(options_.paths.dir);
        return status.has_value() && status->incarnations != incarnations;
    }

    Result<Child> start(bool resume) const {
        SpawnOptions spawning;
        spawning.program = options_.osorad;
        spawning.arguments = {"--one-run", options_.paths.dir.string()};
        if (resume) spawning.arguments.emplace_back("--resume");
        spawning.environment = options_.environment;
        spawning.working_directory = "/";
        return spawn(spawning);
    }

    [[nodiscard]] ControllerEnd end_of(ExitStatus const& status) const {
        std::error_code error;
        return {.known = true,
                .exit_code = status.exit_code,
                .signal = status.signal,
                .unclean_exit = std::filesystem::exists(options_.paths.controller_file(), error)};
    }

    void watch(Child const& child) {
        while (!has_ended(child)) {
            std::array<pollfd, 2> sources{
                {{child.pidfd.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}}};
            [[maybe_unused]] int const ready = ::poll(sources.data(), sources.size(), -1);
            signalfd_siginfo info{};
            while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
                on_signal(static_cast<int>(info.ssi_signo));
            }
        }
    }

    void on_signal(int signal) {
        bool const again = warned_ > 0 && signal != SIGUSR2;
        ++warned_;
        slurm::JobSignal const received{
            .is_warning = signal == SIGUSR2,
            .end_s = slurm::parse_time(variable_or(options_.environment, "SLURM_JOB_END_TIME", "")),
            .now_s = env_.wall_us() / 1'000'000};
        warning_ = slurm::warning_of(received, warning_);
        protocol::ControlStop stop;
        stop.now = again;
        stop.by_user = false;
        stop.reason = warning_ == slurm::JobWarning::time_limit   ? "the job's time is nearly over"
                      : warning_ == slurm::JobWarning::preemption ? "the job is preempted"
                                                                  : "the job was asked to end";
        log_.warning("signal from Slurm", {{"signal", signal}, {"meaning", stop.reason}});
        auto const asked = write_stop_request(options_.paths, stop);
        if (asked.has_error())
            log_.error("cannot write stop request", {{"why", asked.error().message}});
    }

    Result<int> finish(ExitStatus const& ended) {
        int const exit_code = ended.signal != 0 ? kExitInternal : ended.exit_code;
        look_for_scancel();
        NextJob const next{options_.paths, options_.environment, warning_, exit_code};
        auto const said = escalate(next, env_);
        // The next job enters this environment again.
        bool const is_last = said.has_error() || said->starts_with(kNoJobFollows);
        if (is_last) ::unlink(options_.paths.environment().c_str());
        if (said.has_value()) {
            log_.info("job ending", {{"exit_code", exit_code}, {"then", *said}});
        } else {
            log_.error("cannot start a next job", {{"why", said.error().message}});
        }
        return exit_code;
    }

    BatchOptions const& options_;
    Descriptor signals_;
    Env& env_;
    Logger& log_;
    slurm::JobWarning warning_ = slurm::JobWarning::none;
    int warned_ = 0;
    off_t printed_before_ = 0;  // bytes
};

}  // namespace

Result<int> run_batch(BatchOptions const& options, Env& env, Logger& log) {
    OSORA_TRY(auto signals, open_signals());
    return Batch(options, std::move(signals), env, log).run();
}

Error enter_environment(protocol::RunPaths const& paths, std::vector<std::string> const& command,
                        Environment const& here) {
    auto const text = read_file(paths.environment(), kPlanBytesMax);
    bool const is_gone = text.has_error() && text.error().code == Errc::not_found;
    if (text.has_error() && !is_gone) return text.error();
    // The file goes when the run ends; a job that somebody requeues after that has only Slurm's
    // environment.
    auto submitted = is_gone ? Result<Environment>(here) : protocol::decode_environment(*text);
    if (submitted.has_error()) return std::move(submitted).error().in(paths.environment().string());
    Environment const environment = protocol::entered(std::move(*submitted), here);
    std::vector<char const*> words;
    std::vector<char const*> variables;
    for (auto const& word : command) words.push_back(word.c_str());
    for (auto const& entry : environment) variables.push_back(entry.c_str());
    words.push_back(nullptr);
    variables.push_back(nullptr);
    ::execve(words.front(), const_cast<char* const*>(words.data()),
             const_cast<char* const*>(variables.data()));
    return file_error(errno, "start", command.front());
}

}  // namespace osora::daemon
