#include "cli/bisect/last_good_run.hpp"

#include "db/analysis/detection.hpp"
#include "db/store/queries.hpp"

#include <fmt/format.h>

namespace osora::cli {

Result<std::string> last_good_run(db::Store& store, db::analysis::RunHistory const& bad) {
    auto const& record = bad.summary.run;
    OSORA_TRY(auto runs, db::load_own_series(store, record.series));
    std::erase_if(runs, [&](auto const& each) {
        auto const& run = each.summary.run;
        return !run.ended_us && run.number != record.number;
    });
    for (auto const& group : db::analysis::run_groups(runs)) {
        int const good = db::analysis::good_run_of(group, record.number);
        if (good > 0) return std::to_string(good);
    }
    return Error{Errc::not_found,
                 fmt::format("run {}: no run before it in series {} did the same work at this size "
                             "and was faster; name one: osora bisect GOOD {}",
                             record.number, record.series, record.number)};
}

}  // namespace osora::cli
