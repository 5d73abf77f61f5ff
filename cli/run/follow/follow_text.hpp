// The text of follow mode: the progress block, a line for each event, the summary. Pure: takes a
// view of the run and records, returns text.
#pragma once

#include "cli/text/terminal.hpp"
#include "protocol/run_view.hpp"

#include <optional>
#include <string>
#include <vector>

namespace osora::cli {

/// The plan's predictions, for comparison; 0 = unknown.
struct Expected {
    double step_time_s = 0;
    double gpu_memory_gib = 0;  // of one GPU; 0: CPU ranks
};
[[nodiscard]] Expected expected_of(protocol::json::value const& plan);

/// The two lines that a terminal updates in place, each at most `columns` wide: fields that do not
/// fit are left out, the least important first. Before the first step: what the run waits for.
[[nodiscard]] std::vector<std::string> progress_lines(protocol::RunView const& view,
                                                      Expected const& expected, std::int64_t now_us,
                                                      int columns);

/// The same in one line, for a pipe.
[[nodiscard]] std::string progress_line(protocol::RunView const& view, Expected const& expected);

/// Lines of one event. Remembers what was already printed.
class EventText {
public:
    /// `utc` prints times in UTC instead of local time.
    explicit EventText(bool utc = false) : utc_(utc) {}

    /// `before` and `after` are the views around `record`.
    [[nodiscard]] std::vector<std::string> lines(protocol::RunView const& before,
                                                 protocol::JournalRecord const& record,
                                                 protocol::RunView const& after);

private:
    [[nodiscard]] std::string at(std::int64_t wall_us, std::string const& text) const;
    [[nodiscard]] std::string running(protocol::RunView const& before, std::int64_t wall_us);
    void notice(std::vector<std::string>& lines, protocol::JournalRecord const& record,
                protocol::RunNotice const& event);

    bool utc_;
    std::int64_t down_since_us_ = 0;  // when the run last stopped running
    int steps_at_fault_ = 0;
    bool asked_ = false;                  // the next launch is the one that a user asked for
    std::map<std::string, int> notices_;  // number printed so far, by kind
};

/// The lines at the end of a run: how it ended, what is kept, what limited its steps.
[[nodiscard]] std::string summary(protocol::RunView const& view, Expected const& expected);

}  // namespace osora::cli
