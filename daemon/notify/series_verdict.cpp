#include "daemon/notify/series_verdict.hpp"

#include "db/analysis/detection.hpp"
#include "db/store/queries.hpp"
#include "db/store/store.hpp"

namespace osora::daemon {

Result<std::optional<SlowerRun>> slower_than_series(protocol::RunPaths const& paths,
                                                    std::string const& series, int number) {
    using db::analysis::changepoint::GateState;
    std::optional<SlowerRun> slower;
    auto const runs_folder = paths.dir.parent_path();
    if (runs_folder.filename() != "runs") return slower;
    db::StoreOptions options;
    options.busy_wait = std::chrono::milliseconds(1000);
    OSORA_TRY(auto const store,
              db::Store::open(db::history_file(runs_folder.parent_path()), options));
    OSORA_TRY(auto runs, db::load_own_series(*store, series));
    (void)db::analysis::take_unfinished(runs);
    for (auto& group : db::analysis::run_groups(runs)) {
        if (group.numbers.empty() || group.numbers.back() != number) continue;
        auto const newest = db::analysis::detect(std::move(group)).newest;
        if (newest.value == GateState::suspect) slower = {"suspected", newest.reason};
        if (newest.value == GateState::confirmed) slower = {"confirmed", newest.reason};
        break;
    }
    return slower;
}

}  // namespace osora::daemon
