// What the pages of `osora dashboard` show, as values: the router asks a view for them. The real
// view reads the history (history_view.hpp), tests have their own.
#pragma once

#include "base/result.hpp"
#include "cli/report/report_page.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace osora::cli {

constexpr int kRunsPerPage = 100;

struct RunRow {
    std::string id;  // in /run/ID: the number, of an imported run its uuid
    std::string name, series;
    std::string state;    // "running", "ended"
    std::string verdict;  // "ok", "oom"...; empty while it runs
    bool over = true, good = true;
    int steps_done = 0, steps_planned = 0;  // 0 planned: not known
    double step_time_s = NAN, samples_per_s = NAN;
    int nodes = 1;
    std::optional<std::int64_t> started_us = {}, ended_us = {};
};

struct RunFilter {
    std::string name = {};    // text in the run's name, in any case
    std::string series = {};  // the whole name of a series
    std::string state = {};   // a state or a verdict
    int page = 1;             // of kRunsPerPage runs
};

struct RunList {
    std::vector<RunRow> rows;
    int total = 0;  // on all pages of the filter
    int in_progress = 0;
    std::vector<std::string> states, series;  // that occur in the history, sorted
    std::vector<std::string> warnings;        // of reading the history

    [[nodiscard]] int pages() const {
        return std::max(1, (total + kRunsPerPage - 1) / kRunsPerPage);
    }
};

struct RunPage {
    ReportPage report;
    RunRow row;
};

class DashboardView {
public:
    virtual ~DashboardView() = default;
    /// The runs of one page, newest first.
    [[nodiscard]] virtual Result<RunList> runs(RunFilter const& filter) = 0;
    /// not_found names the nearest run; invalid_input: it may be several.
    [[nodiscard]] virtual Result<RunPage> run(std::string const& id) = 0;
    /// not_found names the nearest series.
    [[nodiscard]] virtual Result<ReportPage> series(std::string const& name) = 0;
    /// Two runs, or two lists of runs ("41,43"), compared.
    [[nodiscard]] virtual Result<ReportPage> diff(std::string const& a, std::string const& b) = 0;
};

}  // namespace osora::cli
