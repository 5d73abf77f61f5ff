// One loop over three sources: signals, the end of the controller, the journal.
#include "cli/run/follow/follow.hpp"

#include "base/host_name.hpp"
#include "base/text/printable.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/signals.hpp"
#include "cli/run/control_client.hpp"
#include "cli/run/follow/follow_output.hpp"
#include "cli/run/journal_tail.hpp"
#include "cli/run/run_command.hpp"
#include "protocol/steps/measurement.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>

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
        : run_(run), options_(options), tail_(run.paths.journal()), signals_(SignalSource::open()) {
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
            if (left_) return kExitInterrupted;
            send_stop();
            stop_when_timed();
            follow_job();
            bool const over = controller_is_gone();  // looked at before reading: then nothing can
                                                     // follow in the journal
            if (auto const read = read_journal(); read.has_error()) {
                return lose(read.error().message, kExitBad);
            }
            bool const news = view_.records > options_.known_records;
            if (news && view_.status.state == protocol::RunState::done && !goes_on())
                return finish();
            if (over) return lose(why_gone(), kExitUnreachable);
            output_->tick(view_, now());
        }
    }

private:
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
        // The most frequent records change no state, and copying a view is expensive.
        bool const silent =
            protocol::holds_measurement(record.event) || view_.records < options_.known_records;
        if (silent) return fold(view_, record);
        auto const before = view_;
        fold(view_, record);
        bool const said = interrupts_ > 0 && !options_.json &&
                          std::holds_alternative<protocol::StopRequested>(record.event);
        if (!said) output_->record(before, record, view_);
    }

    void on_signal(int signal) {
        if (signal == SIGWINCH)
            return output_->resized(columns_of(STDOUT_FILENO), rows_of(STDOUT_FILENO));
        ++interrupts_;
        if (!is_mine()) {
            output_->say(fmt::format(
                "detached; run {0} continues (osora watch {0}, osora cancel {0})", run_.number));
            left_ = true;
        } else if (interrupts_ == 1) {
            output_->say(options_.quiet ? "stopping (Ctrl-C again: now)"
                         : view_.status.exec
                             ? "stopping: the ranks got SIGTERM (Ctrl-C again: now)"
                             : "stopping after this step, with a checkpoint (Ctrl-C again: now)");
        } else if (interrupts_ == 2) {
            output_->say("stopping now");
        } else {
            output_->say("leaving; the controller ends the run by itself");
            left_ = true;
        }
    }

    /// Repeated until a controller has accepted it: it may not be listening yet.
    void send_stop() {
        if (interrupts_ == 0 || interrupts_ == sent_ || !is_mine()) return;
        if (options_.job != nullptr && view_.records <= options_.known_records) {
            auto const cancelled = options_.job->cancel_if_waiting();
            left_ = cancelled.has_error() || *cancelled;
            if (left_) {
                return output_->say(cancelled.has_error()
                                        ? cancelled.error().message
                                        : "the job was taken out of the queue; nothing has run");
            }
        }
        protocol::ControlStop stop{.now = interrupts_ > 1, .reason = "Ctrl-C"};
        auto const sent = send_command(run_.paths, stop);
        if (sent.has_value() || sent.error().code == Errc::invalid_input) sent_ = interrupts_;
    }

    /// A user program may train for days; a trial needs only its first steps.
    void stop_when_timed() {
        if (options_.enough_steps == 0 || stopped_as_timed_ || interrupts_ > 0) return;
        if (view_.recent_steps.empty()) return;
        if (first_step_ < 0) first_step_ = view_.recent_steps.front().step;
        if (view_.steps_done - first_step_ < options_.enough_steps) return;
        protocol::ControlStop stop{.reason =
                                       fmt::format("{} steps are enough", options_.enough_steps)};
        stopped_as_timed_ = send_command(run_.paths, stop).has_value();
    }

    /// Whether Ctrl-C stops the run; else it only detaches.
    [[nodiscard]] bool is_mine() const {
        return options_.controller != nullptr || (options_.job != nullptr && !options_.only_watch);
    }

    /// Shows the queue's state while the journal has no news.
    void follow_job() {
        if (options_.job == nullptr) return;
        bool const begun = view_.records > options_.known_records;
        options_.job->tick(begun && Clock::now() - heard_ < kSilenceBeforeAsking);
        if (begun) return output_->waiting("");
        if (auto const news = options_.job->news(!in_place_)) output_->say(*news);
        output_->waiting(options_.job->waiting());
    }

    /// A run whose job got a warning or lost its nodes continues in another job.
    bool goes_on() {
        if (options_.job == nullptr || interrupts_ > 0 || stopped_as_timed_ ||
            view_.status.verdict == protocol::Verdict::ok) {
            return false;
        }
        auto const deadline = Clock::now() + kEndingLimit;
        while (true) {
            bool const last_look = options_.job->over() || Clock::now() >= deadline;
            auto const before = options_.job->job().job_id;
            if (options_.job->has_follower()) {
                options_.known_records = view_.records;
                auto const id = options_.job->job().job_id;
                output_->say(fmt::format("{:<8} job {} {}", "slurm", id,
                                         id == before ? "is requeued" : "follows"));
                return true;
            }
            if (last_look) return false;
            wait();
            for (int const signal : signals_.take()) on_signal(signal);
            if (left_ || interrupts_ > 0) return false;
            options_.job->tick(false);
        }
    }

    bool controller_is_gone() {
        if (options_.job != nullptr) return options_.job->over().has_value();
        if (options_.controller != nullptr) return has_ended(options_.controller->child);
        if (Clock::now() - heard_ < kSilenceBeforeAsking) return false;
        heard_ = Clock::now();
        bool const here = view_.controller_host.empty() || view_.controller_host == host_name();
        return here && !has_controller(run_.paths);
    }

    std::string why_gone() {
        std::string text = "the controller is gone and has not ended the run";
        if (options_.job != nullptr) text = options_.job->over().value_or(text);
        if (options_.controller != nullptr) {
            auto const status = reap(options_.controller->child);
            text = fmt::format("the controller {} before the run was over", describe(status));
        }
        if (view_.records > 0) {
            return text +
                   fmt::format(
                       "\nits ranks end within 5 s; osora resume {} continues{}", run_.number,
                       view_.status.checkpoint_step < 0
                           ? " from the start"
                           : fmt::format(" from checkpoint {}", view_.status.checkpoint_step));
        }
        std::string const words = last_output_lines(run_);
        return words.empty() ? text : text + ":\n" + words;
    }

    int lose(std::string const& why, int exit_code) {
        output_->end(view_, why);
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
        }
        bool const well = stopped_as_timed_ && interrupts_ == 0;
        if (!well) output_->end(view_, "");
        return well ? kExitOk : view_.status.exit_code;
    }

    RunFolder run_;
    FollowOptions options_;
    JournalTail tail_;
    SignalSource signals_;
    std::unique_ptr<FollowOutput> output_;
    protocol::RunView view_;
    Clock::time_point heard_;  // the journal grew, or the controller answered
    int interrupts_ = 0;
    int sent_ = 0;  // interrupts that the controller has received
    int first_step_ = -1;
    bool stopped_as_timed_ = false;
    bool left_ = false;
    bool in_place_ = false;  // a terminal shows what it waits for, second by second
};

}  // namespace

int follow(Context const& context, RunFolder const& run, FollowOptions const& options) {
    return Follower(context, run, options).run();
}

}  // namespace osora::cli
