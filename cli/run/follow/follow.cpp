// One loop over three sources: signals, the end of the controller, the journal.
#include "cli/run/follow/follow.hpp"

#include "base/host_name.hpp"
#include "base/text/printable.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/signals.hpp"
#include "cli/run/control_client.hpp"
#include "cli/run/follow/follow_core.hpp"
#include "cli/run/follow/follow_output.hpp"
#include "cli/run/journal_tail.hpp"
#include "cli/run/run_command.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <utility>

namespace osora::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr int kTickMilliseconds = 100;
constexpr auto kSilenceBeforeAsking = seconds(2);  // watch: how often to look for the controller
constexpr auto kEndingLimit = seconds(20);  // how long the controller may take to exit after the
                                            // run has ended

/// Only osora moves the cursor: text from outside has gone through printable() before.
void write_shown(std::string_view text, std::FILE* stream) {
    auto const shown = printable(text, "\n\t\r\x1b");
    std::fwrite(shown.data(), 1, shown.size(), stream);
}

class Follower {
public:
    Follower(Context const& context, RunFolder const& run, FollowOptions const& options)
        : run_(run),
          options_(options),
          core_(rules_of(run, options)),
          tail_(run.paths.journal()),
          signals_(SignalSource::open()),
          between_jobs_(options.between_jobs) {
        Write const write = [stream = options.stream](std::string_view text) {
            write_shown(text, stream);
            std::fflush(stream);
        };
        Expected const expected = expected_of(run);
        in_place_ = !options.json && !options.quiet && options.stream == stdout &&
                    context.terminal.interactive;
        Write const to_stderr = [](std::string_view text) { write_shown(text, stderr); };
        output_ = options.quiet  ? quiet_output(to_stderr)
                  : options.json ? json_output(write)
                  : in_place_    ? terminal_output(write, expected, context.terminal, options.nodes)
                                 : pipe_output(write, expected);
    }

    int run() {
        heard_ = Clock::now();
        while (true) {
            wait();
            for (int const signal : signals_.take()) on_signal(signal);
            if (core_.has_left()) return kExitInterrupted;
            send_stop();
            follow_job();
            bool const over = controller_is_gone();  // looked at before reading: then nothing can
                                                     // follow in the journal
            if (auto const read = read_journal(); read.has_error()) {
                return lose(read.error().message, kExitBad);
            }
            // A controller of the next job may have begun since that was looked up.
            if (core_.has_begun() && !core_.is_over()) between_jobs_ = false;
            if (core_.is_over() && !goes_on()) return finish();
            if (over) return lose(why_gone(), kExitUnreachable);
            output_->tick(core_.view(), now());
        }
    }

private:
    /// Ctrl-C stops a run whose controller or job this process started; else it only leaves it.
    static FollowRules rules_of(RunFolder const& run, FollowOptions const& options) {
        return {.number = run.number,
                .is_mine = options.controller != nullptr ||
                           (options.job != nullptr && !options.only_watch),
                .json = options.json,
                .quiet = options.quiet,
                .known_records = options.known_records,
                .enough_steps = options.enough_steps};
    }

    static Moment now() {
        auto const wall = std::chrono::system_clock::now().time_since_epoch();
        return {std::chrono::duration<double>(Clock::now().time_since_epoch()).count(),
                std::chrono::duration_cast<std::chrono::microseconds>(wall).count()};
    }

    void wait() {
        std::array<pollfd, 2> sources{{{signals_.descriptor(), POLLIN, 0}, {-1, POLLIN, 0}}};
        if (options_.controller != nullptr) sources[1].fd = options_.controller->child.pidfd.get();
        // Errors only shorten the wait.
        [[maybe_unused]] int const ready =
            ::poll(sources.data(), sources.size(), kTickMilliseconds);
    }

    Result<void> read_journal() {
        while (true) {
            OSORA_TRY(auto const records, tail_.read());
            if (records.empty()) return {};
            heard_ = Clock::now();
            for (auto const& record : records) take(record);
        }
    }

    void take(protocol::JournalRecord const& record) {
        if (!core_.is_shown(record)) return core_.fold(record);
        auto const before = core_.view();
        core_.fold(record);
        output_->record(before, record, core_.view());
    }

    void on_signal(int signal) {
        if (signal == SIGWINCH)
            return output_->resized(columns_of(STDOUT_FILENO), rows_of(STDOUT_FILENO));
        output_->say(core_.interrupt());
    }

    /// Until a controller has accepted it: it may not be listening yet.
    void send_stop() {
        auto const stop = core_.stop_due();
        if (!stop) return;
        if (options_.job != nullptr && core_.is_interrupted() && !core_.has_begun()) {
            auto const cancelled = options_.job->cancel_if_waiting();
            if (cancelled.has_error() || *cancelled) {
                core_.leave();
                return output_->say(cancelled.has_error()
                                        ? cancelled.error().message
                                        : "the job was taken out of the queue; nothing has run");
            }
        }
        auto const sent = send_command(run_.paths, *stop);
        bool const refused =
            sent.has_error() && core_.is_interrupted() && sent.error().code == Errc::invalid_input;
        if (sent.has_value() || refused) core_.stop_accepted();
    }

    /// Shows the queue's state while the journal has no news.
    void follow_job() {
        if (options_.job == nullptr) return;
        bool const begun = core_.has_begun();
        options_.job->tick(begun && Clock::now() - heard_ < kSilenceBeforeAsking);
        if (begun) return output_->waiting("");
        if (auto const news = options_.job->news(!in_place_)) output_->say(*news);
        output_->waiting(options_.job->waiting());
    }

    /// A run whose job got a warning or lost its nodes continues in another job.
    bool goes_on() {
        if (options_.job == nullptr || !core_.may_continue()) return false;
        if (std::exchange(between_jobs_, false)) {
            core_.continues();
            output_->say(job_text("follows"));
            return true;
        }
        auto const deadline = Clock::now() + kEndingLimit;
        while (true) {
            bool const last_look = options_.job->over() || Clock::now() >= deadline;
            auto const before = options_.job->job().job_id;
            if (options_.job->has_follower()) {
                core_.continues();
                bool const same = options_.job->job().job_id == before;
                output_->say(job_text(same ? "is requeued" : "follows"));
                return true;
            }
            if (last_look) return false;
            wait();
            for (int const signal : signals_.take()) on_signal(signal);
            if (core_.is_interrupted()) return false;
            options_.job->tick(false);
        }
    }

    [[nodiscard]] std::string job_text(std::string_view what) const {
        return fmt::format("{:<8} job {} {}", "slurm", options_.job->job().job_id, what);
    }

    bool controller_is_gone() {
        if (options_.job != nullptr) return options_.job->over().has_value();
        if (options_.controller != nullptr) return has_ended(options_.controller->child);
        if (Clock::now() - heard_ < kSilenceBeforeAsking) return false;
        heard_ = Clock::now();
        auto const& host = core_.view().controller_host;
        bool const here = host.empty() || host == host_name();
        return here && !has_controller(run_.paths);
    }

    std::string why_gone() {
        std::string text = "the controller is gone and has not ended the run";
        if (options_.job != nullptr) text = options_.job->over().value_or(text);
        if (options_.controller != nullptr) {
            auto const status = reap(options_.controller->child);
            text = fmt::format("the controller {} before the run was over", describe(status));
        }
        return core_.lost_text(std::move(text), last_output_lines(run_));
    }

    int lose(std::string const& why, int exit_code) {
        output_->end(core_.view(), why);
        return exit_code;
    }

    /// Waits until the controller has added the run to the history and no process is left.
    int finish() {
        auto const deadline = Clock::now() + kEndingLimit;
        if (options_.controller != nullptr) {
            while (!has_ended(options_.controller->child) && Clock::now() < deadline) wait();
            if (has_ended(options_.controller->child)) {
                [[maybe_unused]] auto const status = reap(options_.controller->child);
            }
            // It may have recorded after the end: what became of notifications.
            [[maybe_unused]] auto const rest = read_journal();
        }
        if (core_.is_timed()) return kExitOk;
        output_->end(core_.view(), "");
        return core_.view().status.exit_code;
    }

    RunFolder run_;
    FollowOptions options_;
    FollowCore core_;
    JournalTail tail_;
    SignalSource signals_;
    bool between_jobs_;  // until that is shown
    std::unique_ptr<FollowOutput> output_;
    Clock::time_point heard_;  // the journal grew, or the controller answered
    bool in_place_ = false;    // what is waited for shows on a terminal, second by second
};

}  // namespace

int follow(Context const& context, RunFolder const& run, FollowOptions const& options) {
    return Follower(context, run, options).run();
}

}  // namespace osora::cli
