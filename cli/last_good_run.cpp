#include "cli/last_good_run.hpp"

#include "db/analysis/series_report.hpp"
#include "db/queries.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::cli {
namespace {

constexpr double kSlower = 1.03;  // and more than 4 of the good run's own spread

bool is_good(db::RunSummary const& run, db::RunSummary const& bad) {
    if (!run.measured || run.measured->steps_used < db::analysis::kStepsNeeded) return false;
    bool const same_size = run.run.nodes == bad.run.nodes && run.run.ranks == bad.run.ranks;
    return same_size && bad.measured->step_s_median > run.measured->step_s_median * kSlower;
}

}  // namespace

Result<std::string> last_good_run(db::Store& store, db::analysis::RunHistory const& bad) {
    auto const& record = bad.summary.run;
    OSORA_TRY(auto const runs, db::load_series(store, record.series));
    auto const of_bad = std::ranges::find_if(
        runs, [&](auto const& each) { return each.summary.run.uuid == record.uuid; });
    for (auto each = of_bad; each != runs.begin();) {
        --each;
        if (each->work == of_bad->work && is_good(each->summary, bad.summary)) {
            return each->summary.run.uuid;
        }
    }
    return Error{Errc::not_found,
                 fmt::format("run {}: no run before it in series {} did the same work at this size "
                             "and was faster; name one: osora bisect GOOD {}",
                             record.number, record.series, record.number)};
}

}  // namespace osora::cli
