#include "cli/run/slurm/predecessor.hpp"

#include "cli/run/journal_tail.hpp"
#include "cli/run/slurm/job_status.hpp"
#include "cli/run/slurm/slurm_job.hpp"

#include <fmt/format.h>

namespace osora::cli {

Result<Predecessor> find_predecessor(std::filesystem::path const& state,
                                     std::string const& wanted) {
    auto const run = find_run(state, wanted);
    if (run.has_error()) return Error(run.error()).in("--after");
    auto const view = read_view(run->paths.journal());
    auto refused = [&](std::string const& why) {
        return Error{Errc::invalid_input, fmt::format("--after {}: {}", run->number, why)};
    };
    bool const ended = view.has_value() && view->status.state == protocol::RunState::done;
    if (ended && !awaits_next_job(*run, *view)) {
        if (view->status.verdict == protocol::Verdict::ok) return Predecessor{run->name, 0, ""};
        return refused(fmt::format("the run ended with {} ({}); osora resume {} continues it",
                                   view->status.cause.empty() ? "a failure" : view->status.cause,
                                   view->status.exit_code, run->number));
    }
    auto const record = read_job_record(run->paths);
    if (!record) return refused("the run is no job of Slurm, so that no job can wait for it");
    if (record->cancelled) return refused("the run was taken out of the queue");
    return Predecessor{run->name, record->job.job_id, record->job.cluster};
}

}  // namespace osora::cli
