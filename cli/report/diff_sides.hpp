// The runs that `osora diff A B` compares, from the history.
#pragma once

#include "cli/report/report_page.hpp"
#include "db/analysis/history.hpp"
#include "db/store/store.hpp"

#include <string>
#include <vector>

namespace osora::cli {

struct DiffSides {
    std::vector<db::analysis::RunHistory> a, b;  // each has at least one run
};

/// Each name is a number, name, uuid or series, or several of them ("41,42,43"; at most 100).
/// invalid_input: an empty name, or a run that is named twice; not_found names the nearest run.
[[nodiscard]] Result<DiffSides> diff_sides(db::Store& store, std::string const& asked_a,
                                           std::string const& asked_b);

/// The page of these sides; whether their last runs are still in progress is looked up on the disk.
[[nodiscard]] ReportPage diff_page(DiffSides const& sides, std::string const& asked_a,
                                   std::string const& asked_b);

}  // namespace osora::cli
