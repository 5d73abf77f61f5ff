// The steps of a run out of its journal, for programs that draw curves: each step once, as the last
// attempt ran it, over all its ranks. Pure.
#pragma once

#include "protocol/journal/run_events.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace osora::cli {

struct StepFigure {
    std::string_view name;    // in journals, and a column of CSV
    std::string_view tag;     // of TensorBoard, which groups tags by what precedes the slash
    bool is_maximum = false;  // over ranks; else the mean
};
inline constexpr std::array kStepFigures{
    StepFigure{"loss", "loss"},
    StepFigure{"lr", "lr"},
    StepFigure{"grad_norm", "grad_norm"},
    StepFigure{"step_time_s", "time/step_s", true},
    StepFigure{"data_wait_s", "time/data_wait_s"},
    StepFigure{"forward_s", "time/forward_s"},
    StepFigure{"backward_s", "time/backward_s"},
    StepFigure{"exposed_comm_s", "time/exposed_comm_s"},
    StepFigure{"optimizer_s", "time/optimizer_s"},
    StepFigure{"other_s", "time/other_s"},
    StepFigure{"rss_bytes", "memory/rss_bytes", true},
    StepFigure{"peak_allocated_bytes", "memory/peak_allocated_bytes", true}};

class StepSeries {
public:
    struct Figure {
        std::int64_t ranks = 0;  // that reported it; 0: none
        double value = std::numeric_limits<double>::quiet_NaN();
    };
    struct Row {
        int attempt = 0, ranks = 0, samples = 0;
        double wall_s = 0;  // its end, since 1970; steps of one record are spread by their times
        std::string bucket;
        std::array<Figure, kStepFigures.size()> figures{};

        /// Of all ranks; NaN: not known.
        [[nodiscard]] double samples_per_s() const;
    };
    struct Evaluation {
        double wall_s = 0, loss = 0;
    };

    void take(protocol::JournalRecord const& record);

    [[nodiscard]] std::map<int, Row> const& rows() const { return rows_; }
    /// By the steps that were done before it.
    [[nodiscard]] std::map<int, Evaluation> const& evaluations() const { return evaluations_; }

private:
    void take_steps(protocol::MergedSteps const& steps, double wall_s);

    std::map<int, Row> rows_;
    std::map<int, Evaluation> evaluations_;
};

[[nodiscard]] std::string csv_header();
/// A line for each step. `number`, `name`: of the run.
[[nodiscard]] std::string csv_rows(StepSeries const& series, int number, std::string_view name);

/// The bytes of a TensorBoard event file.
[[nodiscard]] std::string event_file(StepSeries const& series);

}  // namespace osora::cli
