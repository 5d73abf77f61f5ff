// What the end of a worker means: one table from exit status to verdict (docs/rfc/001,
// docs/contract.md section 4). Pure.
#pragma once

#include "protocol/exit_codes.hpp"
#include "protocol/journal/run_events.hpp"

#include <string>
#include <string_view>

namespace osora::protocol {

/// NodeLost.why of a node that went silent; other values are free text.
inline constexpr std::string_view kFellSilent = "fell silent";

constexpr int kFreeRetriesMax = 5;  // of a run

struct FailureClass {
    Verdict verdict = Verdict::internal;
    bool retry = false;  // relaunch from the last checkpoint while restarts are left
    /// A rank that lost its peers: probably a secondary failure, whose cause is the failure of
    /// another rank.
    bool secondary = false;
    bool do_not_requeue = false;  // osora exits with 93, whatever the verdict
    /// No fault of the run, and gone in the next attempt: it costs no restart, kFreeRetriesMax
    /// times.
    bool costs_no_restart = false;
    bool blames_host = false;  // hardware of the rank's node: another host would do
    friend bool operator==(FailureClass const&, FailureClass const&) = default;
};

/// `exec`: exit codes of the user's program have no meaning except 0, 93, 126 and 127; the end of
/// its output tells a rank that lost its peers, or found MASTER_PORT taken, from one that failed
/// itself.
[[nodiscard]] FailureClass classify_failure(RankFailed const& failed, bool exec);

/// "rank 1 on node 0 was killed by signal 9", "rank 3 on node 1 exited with 13 (data): clip 7 ...".
[[nodiscard]] std::string describe(RankFailed const& failed, bool exec);
[[nodiscard]] std::string describe(NodeLost const& lost);
[[nodiscard]] std::string describe(HangDetected const& hang);

/// osora's exit code for a run that ended like this (docs/contract.md section 4).
[[nodiscard]] int exit_code_of(FailureClass const& failure_class);

}  // namespace osora::protocol
