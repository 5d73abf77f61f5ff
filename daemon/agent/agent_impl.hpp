// Private to the agent core: its state.
#pragma once

#include "daemon/agent/agent_core.hpp"
#include "daemon/agent/worker_state.hpp"
#include "daemon/node/health_watch.hpp"
#include "protocol/steps/collective_reducer.hpp"
#include "protocol/steps/metric_reducer.hpp"
#include "protocol/steps/rank_matrix_builder.hpp"

#include <optional>
#include <set>

namespace osora::daemon {

class AgentCore::Impl {
public:
    Impl(AgentOptions options, Now now, Spill* spill);

    AgentActions handle(Now now, AgentInput const& input);
    [[nodiscard]] MonotonicTime next_deadline() const;
    [[nodiscard]] int workers_alive() const;

private:
    // agent_core.cpp: the controller, reports, the lease
    void on(ControllerConnected const& input);
    void on(ControllerDisconnected const& input);
    void on(ControllerDied const& input);
    void on(ControllerSaid const& input);
    void on(AgentTick const& input);
    void hear(protocol::Welcome const& message);
    void hear(protocol::Refused const& message);
    void hear(protocol::HeartbeatAck const& message);
    void hear(protocol::AckReports const& message);
    void hear(protocol::ReserveStore const& message);
    void hear(protocol::LaunchWorkers const& message);
    void hear(protocol::StopAttempt const& message);
    void hear(protocol::TakeStacks const& message);
    void hear(protocol::Dismiss const& message);
    void on(StacksReady const& input);
    void on(HealthSampled const& input);
    void on(StoreBound const& input);
    void act(AgentAction action);
    void report(protocol::FromAgent event);
    void send_reports();
    void beat();
    void take_metrics(bool partial);
    void take_collectives(bool partial);
    void count_dropped();
    void tell_dropped(bool partial);
    void add_notice(char const* kind, char const* severity, std::string detail);
    void check_deadlines();
    void forgive_own_pause();
    void sample_health();
    void warn_of_health(std::string const& what);
    void report_stopped();
    void leave(int exit_code, std::string why);
    [[nodiscard]] MonotonicTime lease() const;
    [[nodiscard]] MonotonicTime leaves_at() const;

    // agent_workers.cpp
    void on(WorkerSpawned const& input);
    void on(RanksNotBound const& input);
    void on(WorkerSaid const& input);
    void on(WorkerStepped const& input);
    void on(StepsLeftOut const& input);
    void on(OutputRead const& input);
    void on(WorkerExited const& input);
    void hear(int rank, protocol::WorkerHello const& message);
    void hear(int rank, protocol::PhaseChanged const& message);
    void hear(int rank, protocol::Arrived const& message);
    void hear(int rank, protocol::StepMetrics const& message);
    void hear(int rank, protocol::CheckpointSaved const& message);
    void hear(int rank, protocol::Evaluated const& message);
    void hear(int rank, protocol::WorkerNotice const& message);
    void hear(int rank, protocol::WorkerFailed const& message);
    void hear(int rank, protocol::WorkerFinished const& message);
    void hear(int rank, protocol::ProbeMeasured const& message);
    void launch(protocol::LaunchWorkers const& order);
    void stop(protocol::StopHow how, std::string const& reason);
    void end_run_soon();
    void tell_slow_end();
    void end_lease();
    void worker_failed(int rank, WorkerExited const& end);
    [[nodiscard]] bool ignores_stop(WorkerState const& worker) const;
    [[nodiscard]] bool is_consequence(WorkerExited const& end, WorkerState const& worker) const;
    void when_none_is_left();
    [[nodiscard]] WorkerState* worker_at(int attempt, int rank);

    AgentOptions options_;
    Now now_;  // of the call in progress
    MonotonicTime last_call_{};
    MonotonicTime due_ = kNever;                                      // next_deadline() at its end
    AgentActions actions_;                                            // of the call in progress
    bool welcomed_ = false, ever_welcomed_ = false, exited_ = false;  // welcomed: may report
    MonotonicTime last_word_{};                                       // from the controller
    MonotonicTime answer_due_{};  // for the welcome of this connection
    MonotonicTime next_beat_{};
    HealthWatch health_;
    MonotonicTime next_sample_ = kNever;     // kNever: the controller takes none
    std::optional<MonotonicTime> sampling_;  // when the pending sample was requested
    bool blind_ = false, has_gpus_ = false;  // has warned that no sample comes; one showed GPUs
    std::string gpu_fault_;                  // that samples showed during attempt_
    bool const spills_;
    ReportQueue reports_;

    int store_attempt_ = -1;  // bound or being bound
    std::optional<protocol::StoreReserved> store_;

    int attempt_ = -1;  // newest attempt that was started or stopped
    int first_rank_ = 0;
    std::vector<WorkerState> workers_;  // of attempt_, by local rank
    std::optional<protocol::MetricReducer> reducer_;
    std::optional<protocol::RankMatrixBuilder> matrices_;
    std::optional<protocol::CollectiveReducer> collectives_;
    MonotonicTime next_collectives_ = kNever, collectives_wait_{};  // next report, pause after it
    bool wants_matrices_ = false, wants_collectives_ = false;       // the controller wants them
    struct Dropped {
        std::uint64_t steps = 0, steps_of_ranks = 0;
        std::int64_t log_bytes = 0;
    };
    Dropped unheard_;   // dropped while no controller was connected
    Dropped too_fast_;  // in attempt_: came faster than they are read or accepted
    std::uint64_t reported_too_fast_ = 0;  // steps and bytes, at the last report of them
    MonotonicTime next_too_fast_ = kNever, too_fast_wait_{};  // next report, pause after it
    MonotonicTime printed_since_ = kNever;  // exec: since when its program has printed, in attempt_
    bool no_steps_reported_ = false;        // over the life of this agent
    std::set<std::string> said_;            // exec: figures reported in attempt_
    std::optional<protocol::LaunchWorkers> waiting_;  // until older workers have ended

    std::optional<protocol::StopHow> stop_;  // requested in attempt_
    MonotonicTime ordered_to_stop_{};  // when the workers got the order to stop after their step
    bool stop_reported_ = false;       // NodeStopped of attempt_
    bool relaunch_ = false;            // another attempt is to follow
    bool lease_ended_ = false;        // this attempt's workers were stopped because the lease ended
    MonotonicTime kill_at_ = kNever;  // SIGKILL
    MonotonicTime reap_at_ = kNever;  // processes that live then count as orphaned
    MonotonicTime slow_end_at_ = kNever;  // a notice names ranks that live then
    MonotonicTime stopped_by_ = kNever;   // NodeStopped waits for a sample, until then
    MonotonicTime idle_since_{};          // since when there are no workers
    std::optional<std::string> leaving_;  // dismissed or refused: exit when no worker is left
    int leaving_code_ = 0;
};

}  // namespace osora::daemon
