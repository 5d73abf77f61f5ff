#include "cli/run/run_measured.hpp"

#include "cli/command/history_access.hpp"
#include "db/store/queries.hpp"

namespace osora::cli {

Result<db::analysis::RunReport> report_of(Context const& context, RunFolder const& folder) {
    OSORA_TRY(auto const state, state_dir(context.environment));
    OSORA_TRY(auto const history, open_history(state));
    OSORA_TRY(auto const run, db::find_run(*history.store, folder.name));
    OSORA_TRY(auto const all, db::load_run(*history.store, run.run_id));
    return db::analysis::run_report(all, liveness_of(run));
}

}  // namespace osora::cli
