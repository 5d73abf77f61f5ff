// Finds steps in the output of one program, line by line: a bar is drawn several times, and a line
// may have figures of another line's step. Driven by StepIntake and `osora exec-steps`. Pure.
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
    /// Lines of another counter than the followed one before that other one is followed.
    static constexpr int kStrangersMax = 1000;
    /// Lines of an engine that are skipped between two of the trainer's own.
    static constexpr int kBareLinesMax = 20;

    /// The figures of a step that is complete now: from this line, or a bar before it.
    [[nodiscard]] std::optional<StepFigures> find(std::string_view line);
    /// Steps of earlier lines that find() understood only with its last line, oldest first: call
    /// until there is none, and use them before the result of find().
    [[nodiscard]] std::optional<StepFigures> earlier();
    static constexpr std::size_t kUnconfirmedMax = 200;  // of them, the newest
    /// Whether find() would examine the line closely. The line then counts as skipped: its content
    /// is not combined with other lines.
    [[nodiscard]] bool may_be(std::string_view line);
    /// There are no more lines: returns the step of the last bar.
    [[nodiscard]] std::optional<StepFigures> end();

private:
    struct PlainBar {
        double step = 0, time_s = 0;
        std::int64_t total = 0;
    };
    std::optional<StepFigures> take(FoundStep found);
    std::optional<StepFigures> take_bar(FoundStep found);
    bool is_followed(FoundStep const& found);
    bool is_printed_twice(FoundStep const& found);
    std::optional<FoundStep> plain_bar(std::string_view plain);
    void keep_unconfirmed(double count, std::int64_t total);
    void take_record(std::string_view plain);
    void resolve_time(StepFigures& figures);

    std::string counter_;  // the counter that is followed
    bool sure_ = false;
    int strangers_ = 0;
    double bare_step_ = -1;               // the newest line of an engine
    bool trainer_tells_ = false;          // ... it was reported again, with its figures
    int bare_lines_ = 0;                  // since then
    std::optional<StepFigures> pending_;  // of a bar that may be drawn again
    std::optional<PlainBar> bar_;         // the newest without a label and a loss
    std::deque<PlainBar> unconfirmed_;    // the newest bar without a label and a loss
    bool confirmed_ = false;              // ... are steps
    std::int64_t confirmed_total_ = 0;    // totals of such bars: a record of the trainer came after
                                          // one
    bool record_before_ = false;          // and no bar since
    std::optional<std::pair<double, double>> record_;      // loss and epoch of the newest
    bool bunched_ = false;                                 // records come late, several at once
    std::optional<std::pair<double, double>> last_maybe_;  // step, seconds
    bool maybe_is_step_ = false;
};

}  // namespace osora::plan
