#include "db/analysis/run_state.hpp"

#include <fmt/format.h>

namespace osora::db::analysis {

std::string ended_word(protocol::Verdict verdict) {
    using protocol::Verdict;
    if (verdict == Verdict::ok) return "done";
    bool const stopped = verdict == Verdict::cancelled || verdict == Verdict::preempted;
    return stopped ? "stopped" : "failed";
}

RunState state_of(RunRecord const& run, LivenessFacts const& liveness) {
    using protocol::Verdict;
    RunState state;
    if (run.ended_us) {
        state.word = boost::describe::enum_to_string(run.verdict, "?");
        state.cause = run.cause;
        state.good = run.verdict == Verdict::ok;
        state.status = ended_word(run.verdict);
    } else if (liveness.controller_alive) {
        state = {.word = "running", .cause = "", .over = false, .good = true};
    } else {
        state.word = boost::describe::enum_to_string(Verdict::controller_lost, "?");
        state.cause = liveness.folder_exists
                          ? fmt::format(
                                "the controller ended without saying why; osora resume {} "
                                "continues",
                                run.number)
                          : "no end is recorded, and the run's folder is gone";
        state.good = false;
        state.status = "lost";
    }
    return state;
}

}  // namespace osora::db::analysis
