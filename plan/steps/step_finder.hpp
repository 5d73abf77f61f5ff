// Steps in the output of one program, line after line: a bar is drawn several times, and what one
// line says may belong to the step of another. Driven by StepIntake and `osora exec-steps`. Pure.
#pragma once

#include "plan/steps/step_line.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace osora::plan {

class StepFinder {
public:
    /// Lines of another counter than the one that is followed, until that one is followed.
    static constexpr int kStrangersMax = 1000;
    /// Lines of an engine that are passed over between two of the trainer's own.
    static constexpr int kBareLinesMax = 20;

    /// The figures of a step that is complete now: of this line, or of a bar before it.
    [[nodiscard]] std::optional<StepFigures> find(std::string_view line);
    /// Steps of lines before, that find() has understood by its last line, the oldest first: to be
    /// asked for until there is none, and to be taken before what find() has given.
    [[nodiscard]] std::optional<StepFigures> earlier();
    static constexpr std::size_t kUnconfirmedMax = 200;  // of them, the newest
    /// Whether find() would look at the line closely. The line is then passed over: what it says is
    /// not put together with others.
    [[nodiscard]] bool may_be(std::string_view line);
    /// No line follows: the step of the last bar.
    [[nodiscard]] std::optional<StepFigures> end();

private:
    struct PlainBar {
        double step = 0, time_s = 0;
        std::int64_t total = 0;
    };
    std::optional<StepFigures> take(FoundStep found);
    std::optional<StepFigures> take_bar(FoundStep found);
    bool is_followed(FoundStep const& found);
    bool is_told_twice(FoundStep const& found);
    std::optional<FoundStep> plain_bar(std::string_view plain);
    void keep_unconfirmed(double count, std::int64_t total);
    void take_record(std::string_view plain);
    void resolve_time(StepFigures& figures);

    std::string counter_;  // that is followed
    bool sure_ = false;
    int strangers_ = 0;
    double bare_step_ = -1;               // of the newest line of an engine
    bool trainer_tells_ = false;          // ... it was told again, with its figures
    int bare_lines_ = 0;                  // since then
    std::optional<StepFigures> pending_;  // of a bar that may be drawn again
    std::optional<PlainBar> bar_;         // the newest without a label and a loss
    std::deque<PlainBar> unconfirmed_;    // before bar_, of the same total
    bool confirmed_ = false;              // ... are steps
    std::int64_t confirmed_total_ = 0;    // of such bars: a record of the trainer stood behind one
    bool record_before_ = false;          // and no bar since
    bool bunched_ = false;                // records come late, several at once
    std::optional<std::pair<double, double>> last_maybe_;  // step, seconds
    bool maybe_is_step_ = false;
};

}  // namespace osora::plan
