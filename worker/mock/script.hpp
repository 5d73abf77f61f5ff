// What osora-worker-mock is asked to do wrong: OSORA_MOCK_* variables, usually from `[worker] env`.
//
//   OSORA_MOCK_STEP_S=0.01      length of a step
//   OSORA_MOCK_OWN_S=0          longer by this where it trains: rehearsals do not show it
//   OSORA_MOCK_LOAD_S=0         time before the first step
//   OSORA_MOCK_FAIL=1:20:13     rank 1 exits with 13 when it begins step 20
//   OSORA_MOCK_SAYS=TEXT        and says this, not "asked to fail"
//   OSORA_MOCK_KILL=0:5         it kills itself (SIGKILL)
//   OSORA_MOCK_HANG=*:7         every rank stops at step 7 and says nothing more
//   OSORA_MOCK_SLOW=1:20:5      from step 20 on rank 1 works 5 ms longer in each step
//   OSORA_MOCK_OOM=0:3          it reports "out of GPU memory" and exits with 12
//   OSORA_MOCK_GARBAGE=0:3      it sends the agent bytes that are no frame
//   OSORA_MOCK_HOLD=20          before step 20 every rank waits for RUN_DIR/go, or to be stopped
//   OSORA_MOCK_CLOCK=steps      reported times are these, not measured; a step passes in 1 ms
//   OSORA_MOCK_IGNORE_TERM=1    SIGTERM does nothing
//   OSORA_MOCK_IGNORE_STOP=1    neither does the agent's StopWorker
//   OSORA_MOCK_LEAVE_CHILD=1    a child in its own session, which ignores SIGTERM, stays alive
//   OSORA_MOCK_PRINT=1          a line to stdout and one to stderr each step
//
// A fault with "@E" behind it happens in attempt E only: OSORA_MOCK_KILL=0:5@0.
#pragma once

#include "base/environment.hpp"
#include "base/result.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace osora::mock {

/// A place in a run where a fault happens.
struct Fault {
    std::optional<int> rank;     // nullopt: every rank
    std::optional<int> attempt;  // nullopt: every attempt
    int step = 0;
    int value = 0;

    [[nodiscard]] bool is_at(int now_rank, int now_attempt, int now_step) const {
        return rank.value_or(now_rank) == now_rank &&
               attempt.value_or(now_attempt) == now_attempt && step == now_step;
    }
};

/// "RANK:STEP[:VALUE][@ATTEMPT]", RANK may be "*".
[[nodiscard]] Result<Fault> parse_fault(std::string_view text);

struct Script {
    double step_s = 0.01;
    double own_s = 0;
    double load_s = 0;
    std::optional<Fault> fail, kill, hang, oom, garbage, slow;
    std::string says = "asked to fail";  // of `fail`
    std::optional<int> hold;             // step
    bool scripted_clock = false;
    bool ignore_term = false, ignore_stop = false, leave_child = false, print = false;
};

/// Compute time of `rank` in a step before it waits for the others.
[[nodiscard]] double work_s(Script const& script, int rank, int attempt, int step);
/// The same for the slowest of `world_size` ranks: the duration of the step.
[[nodiscard]] double slowest_work_s(Script const& script, int world_size, int attempt, int step);

/// invalid_input names the variable.
[[nodiscard]] Result<Script> read_script(Environment const& environment);

}  // namespace osora::mock
