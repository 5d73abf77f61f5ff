// What a person wants to see of a run, as a fold over its journal: `osora submit`, `status`,
// `watch` and the history show it. Pure; readers may feed it while the journal grows.
#pragma once

#include "protocol/run_status.hpp"
#include "protocol/steps/straggler.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace osora::protocol {

/// One training step over all ranks, merged from the chunks of the nodes.
struct StepView {
    int step = 0;
    int ranks = 0;                               // that have reported it
    int samples = 0;                             // summed over ranks
    double step_time_s = 0;                      // maximum over ranks
    double loss = 0, grad_norm = 0, lr = 0;      // mean over ranks
    double data_wait_s = 0, exposed_comm_s = 0;  // mean over ranks
    double least_comm_s = 0;                     // exposed, of the rank that waits least
    Arrivals arrivals;
    std::string bucket;
};

/// A node's last report: means over the steps of one chunk; NaN = not reported.
struct NodeView {
    int steps_done = 0;
    double step_time_s = 0;  // maximum over its ranks
    double arrival_s = 0;    // time until its latest rank arrived
    double exposed_comm_s = 0;
    int latest_rank = -1;
    std::int64_t rss_bytes = 0, peak_allocated_bytes = 0;  // maximum over its ranks
};

struct RankEnd {  // a rank that failed, in the order of the journal
    int attempt = 0, node = 0, rank = 0, exit_code = 0, signal = 0;
    bool oom_killed = false;
    std::string message;
    std::string cause;         // as a sentence
    std::string tail;          // end of its log; "" = not recorded
    bool secondary = false;    // it lost its peers: probably not the cause
    bool blames_host = false;  // FailureClass: its GPU is faulty
};

struct RunView {
    RunStatus status;  // state, verdict, cause, attempt, restarts, nodes, last checkpoint

    // As submitted.
    std::string run_uuid, run_name, job, user, host;
    int number = 0, nodes = 0, ranks_per_node = 0;
    int steps = 0;           // wanted; 0 = unknown (exec)
    std::int64_t clips = 0;  // job = "score": of its list; 0 = unknown
    bool attached = true;
    std::string controller_host, controller_boot_id;  // of the last ControllerStarted
    int controller_pid = 0;

    // Wall clock, microseconds since 1970; 0 = not yet. They may jump.
    std::int64_t submitted_us = 0;  // by the user, before it waited in a queue
    std::int64_t began_us = 0;      // first record of its controller: durations begin there
    std::int64_t first_step_us = 0, last_record_us = 0, ended_us = 0;
    std::int64_t checkpoint_us = 0;  // when the last checkpoint was completed
    double checkpoint_s = 0;         // how long it took
    std::int64_t checkpoint_bytes = 0;

    // Training. Rates are over recent_steps; 0 while there are none.
    int start_step = 0;           // first step of this attempt
    int steps_done = 0;           // = index of the next step
    std::int64_t clips_done = 0;  // job = "score": in all attempts, as reported
    double last_loss = 0;         // of the newest step
    double smooth_loss = 0;       // exponential mean, weight of a new step 0.1; across relaunches
    int smoothed_steps = 0;       // steps of this attempt below this one are in it
    double grad_norm = 0, lr = 0;
    std::string bucket;      // of the newest step
    double step_time_s = 0;  // median
    double samples_per_s = 0;
    double data_wait_share = 0, exposed_comm_share = 0;  // of the step, 0..1; NaN = not reported
    double rank_wait_share = 0;  // of exposed_comm_share: waiting for a slower rank
    bool has_loss = false;       // a user program may report none
    std::optional<Straggler> straggler;
    double eta_s = 0;                  // to the last step or clip, from the mean rate; 0 = unknown
    std::int64_t rss_bytes = 0;        // maximum over ranks, newest step
    std::vector<NodeView> node_views;  // of each node, in this attempt
    std::vector<std::shared_ptr<NodeHealth const>> node_health;  // newest of each node, or none
    std::vector<std::string> rank_cpus;  // bound to in this attempt; short when few are
    std::int64_t peak_rss_bytes = 0, peak_allocated_bytes = 0;  // maximum over ranks and steps
    std::deque<StepView> recent_steps;  // of this attempt, oldest first, at most kRecentSteps

    // Faults and notices: the newest kKept of each, with the count of all.
    std::deque<RankEnd> rank_ends;
    std::map<int, RankEnd> first_failures;  // by attempt: the first that is not secondary, or hangs
    std::deque<RunNotice> notices;
    std::map<std::string, int> notice_counts;  // by kind
    std::deque<HangDetected> hangs;
    std::deque<NodeLost> nodes_lost;

    std::uint64_t records = 0;  // folded so far
};

constexpr std::size_t kRecentSteps = 50;
constexpr std::size_t kKept = 64;

/// Folds one record in; the derived figures are up to date after each call.
void fold(RunView& view, JournalRecord const& record);

}  // namespace osora::protocol
