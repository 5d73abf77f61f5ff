// After a run: whether it was slower than the runs before it that do the same, and what to do then.
#pragma once

#include "cli/context.hpp"
#include "cli/runs.hpp"
#include "db/analysis/detection.hpp"

#include <string>
#include <vector>

namespace osora::cli {

struct RegressionWord {
    std::string text;        // lines for people; empty: no slower, or too few runs to tell
    int good = 0, bad = 0;   // runs to compare; 0: none
    bool confirmed = false;  // two of two; else one slow run, which may be an odd one
};

/// Pure: of the runs of a series, the word on `number`, when it is the newest of its group.
[[nodiscard]] RegressionWord regression_word(std::vector<db::analysis::SeriesRun> const& runs,
                                             int number);

/// What [bisect] auto asks for at the end of a run that went well: "off": nothing; "suggest": the
/// word; "run": osora bisect, whose baselines confirm or dismiss. History that cannot be read says
/// nothing.
void follow_up(Context const& context, RunFolder const& run, std::string const& series,
               std::string const& auto_mode);

}  // namespace osora::cli
