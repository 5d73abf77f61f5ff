// Private to the agent core: its state.
#pragma once

#include "daemon/agent/agent_core.hpp"
#include "daemon/node/health_watch.hpp"
#include "protocol/steps/collective_reducer.hpp"
#include "protocol/steps/metric_reducer.hpp"
#include "protocol/steps/rank_matrix_builder.hpp"

#include <cstddef>
#include <optional>
#include <set>

namespace osora::daemon {

struct WorkerState {
    bool alive = false;
    bool done = false;      // ended well
    bool stopped = false;   // WorkerFinished::stopped
    bool finished = false;  // said WorkerFinished
    bool failed = false;    // reported
    bool speaks = false;    // exec: has told of a step
    int pid = 0, steps = 0;
    int step_when_told = -1;      // to stop after its step
    std::string failure_message;  // of WorkerFailed
    std::string cpus;             // bound to
    protocol::RankHeartbeat heartbeat;
    MonotonicTime last_heard{};
};

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
    void beat();
    void take_metrics(bool partial);
    void take_collectives(bool partial);
    void count_dropped();
    void tell_dropped(bool partial);
    void warn_of_steps(char const* kind, char const* severity, std::string detail);
    void check_deadlines();
    void sample_health();
    void warn_of_health(std::string const& what);
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
    void end_lease();
    void worker_failed(int rank, WorkerExited const& end);
    [[nodiscard]] bool ignores_stop(WorkerState const& worker) const;
    [[nodiscard]] bool is_consequence(WorkerExited const& end, WorkerState const& worker) const;
    void when_none_is_left();
    [[nodiscard]] WorkerState* worker_at(int attempt, int rank);

    AgentOptions options_;
    Now now_;                // of the call in progress
    AgentActions actions_;   // of the call in progress
    bool welcomed_ = false;  // reports may be sent
    bool ever_welcomed_ = false, exited_ = false;
    MonotonicTime last_word_{};   // of the controller
    MonotonicTime answer_due_{};  // to the hello of this connection
    MonotonicTime next_beat_{};
    HealthWatch health_;
    MonotonicTime next_sample_ = kNever;     // while the controller takes them
    std::optional<MonotonicTime> sampling_;  // asked then, not answered yet
    bool blind_ = false;                     // said that no answer comes

    bool const spills_;
    ReportQueue reports_;

    int store_attempt_ = -1;  // bound or being bound
    std::optional<protocol::StoreReserved> store_;

    int attempt_ = -1;  // newest one started or stopped
    int first_rank_ = 0;
    std::vector<WorkerState> workers_;  // of attempt_, by local rank
    std::optional<protocol::MetricReducer> reducer_;
    std::optional<protocol::RankMatrixBuilder> matrices_;
    std::optional<protocol::CollectiveReducer> collectives_;
    MonotonicTime next_collectives_ = kNever, collectives_wait_{};  // told then, and after
    bool wants_matrices_ = false, wants_collectives_ = false;       // the controller
    struct Dropped {
        std::uint64_t steps = 0, steps_of_ranks = 0;
        std::int64_t log_bytes = 0;
    };
    Dropped unheard_;                  // while no controller listened
    Dropped too_fast_;                 // they came faster than they are read, or taken; in attempt_
    std::uint64_t told_too_fast_ = 0;  // steps and bytes, when it was told last
    MonotonicTime next_too_fast_ = kNever, too_fast_wait_{};  // told again then, and after
    MonotonicTime printed_since_ = kNever;                    // exec: its program, in attempt_
    bool no_steps_told_ = false;                              // in this agent's life
    std::set<std::string> said_;  // exec: figures that any rank gave in attempt_
    std::optional<protocol::LaunchWorkers> waiting_;  // until older workers are gone

    std::optional<protocol::StopHow> stop_;  // asked for in attempt_
    MonotonicTime told_to_stop_{};           // the workers, to stop after their step
    bool stop_reported_ = false;             // NodeStopped of attempt_
    bool lease_ended_ = false;               // this attempt's workers had to go
    MonotonicTime kill_at_ = kNever;         // SIGKILL
    MonotonicTime reap_at_ = kNever;         // who lives then is left over
    MonotonicTime idle_since_{};             // no workers since
    std::optional<std::string> leaving_;     // dismissed or refused: exit when no worker is left
    int leaving_code_ = 0;
};

}  // namespace osora::daemon
