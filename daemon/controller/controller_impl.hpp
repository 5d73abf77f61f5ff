// Private to the controller core: its state outside the journal. What the controller has requested
// of an agent is forgotten with the connection, and requested again.
#pragma once

#include "daemon/controller/controller_core.hpp"
#include "daemon/controller/hang.hpp"
#include "daemon/controller/hang_inquiry.hpp"
#include "daemon/controller/liveness.hpp"
#include "daemon/controller/node_link.hpp"
#include "daemon/controller/run_fsm.hpp"
#include "daemon/controller/step_alarm.hpp"
#include "daemon/steps/step_merger.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace osora::daemon {

class ControllerCore::Impl {
public:
    Impl(ControllerOptions options, std::vector<protocol::JournalRecord> const& replayed);

    ControllerActions start(Now now);
    ControllerActions handle(Now now, ControllerInput const& input);
    /// When the next Tick is due: never late, but early where a deadline has moved later since.
    [[nodiscard]] MonotonicTime due() const { return finished_ ? kNever : due_; }
    [[nodiscard]] protocol::RunStatus const& status() const { return status_; }

private:
    struct Connection {
        MonotonicTime hello_deadline{};
        int node = -1;
        std::string peer = {};
    };

    // controller_core.cpp
    void on(AgentConnected const& input);
    void on(AgentDisconnected const& input);
    void on(AgentExited const& input);
    void on(StopAsked const& input);
    void on(AskedRelaunch const& input);
    void on(ClientGone const& input);
    void on(JournalFailed const& input);
    void on(Tick const& input);
    void request_stop(StopAsked asked, MonotonicTime limit);
    void record(protocol::RunEvent event, bool sync = true);
    void observe(protocol::RunEvent const& event);
    void record_alarms();
    void act(ControllerAction action);
    void send(int node, protocol::ToAgent message, bool waits = true);
    void close(int connection, std::string why);
    [[nodiscard]] int stranger_to_close() const;
    void forgive_own_pause();
    [[nodiscard]] MonotonicTime earliest_deadline() const;
    [[nodiscard]] bool ending() const;

    // controller_agents.cpp: messages of agents
    void on(AgentSaid const& input);
    void hear(int connection, protocol::AgentHello const& hello);
    void hear(int connection, protocol::Heartbeat const& message);
    void hear(int connection, protocol::StoreReserved const& message);
    void hear(int connection, protocol::StacksTaken const& message);
    template <class Report>
    void hear(int connection, Report const& report);
    void accept(int connection, protocol::AgentHello const& hello);
    [[nodiscard]] std::string reason_to_refuse(protocol::AgentHello const& hello) const;
    [[nodiscard]] bool is_wanted(protocol::RunEvent const& report, int node) const;
    void tell_left_out(int node);
    // controller_steps.cpp
    void take_chunk(int node, std::uint64_t number, protocol::MetricChunk const& chunk);
    void write_steps(bool partial);
    void acknowledge(int node);
    void observe_steps(protocol::MergedSteps const& steps);
    void tell_no_steps();
    [[nodiscard]] MonotonicTime steps_deadline() const;
    // controller_hang.cpp
    void look_for_hang();
    [[nodiscard]] std::optional<protocol::HangDetected> find_hang_now() const;
    void inquire();
    void end_inquiry();
    [[nodiscard]] bool may_hang() const;
    // controller_goals.cpp: what the run needs
    void pursue();
    bool pursue_once();
    void blame_hosts();
    void leave_faulty_hosts();
    void start_missing_agents();
    void start_agent(int node);
    bool order_launch();
    void start_workers();
    bool stop_workers();
    void dismiss();
    void check_deadlines();
    [[nodiscard]] bool is_saving() const;
    void give_up_graceful_stop(std::string why);
    void check_process(int node);
    void lose(int node, std::string_view why, MonotonicTime silent = {});
    void stop_agent(int node);
    [[nodiscard]] MonotonicTime stop_limit() const;
    void agent_gone(int node, int processes_left, std::string why);

    [[nodiscard]] int node_count() const { return static_cast<int>(links_.size()); }
    NodeLink& link(int node) { return links_[static_cast<std::size_t>(node)]; }
    [[nodiscard]] protocol::NodeStatus const& node_status(int node) const {
        return status_.nodes[static_cast<std::size_t>(node)];
    }

    ControllerOptions options_;
    protocol::RunStatus status_;
    std::vector<NodeLink> links_;
    Liveness liveness_;
    StepMerger steps_;
    std::map<int, Connection> connections_;
    std::deque<double> step_times_;  // of the last steps
    StepAlarm alarm_;
    std::vector<protocol::RunNotice> alarms_;  // raised, but not yet in the journal
    // What an agent may report again: it was recorded, but its acknowledgement got lost.
    std::set<int> failed_;      // ranks of this attempt
    int checkpoint_step_ = -1;  // newest checkpoint of this attempt
    std::deque<protocol::RunNotice> replayed_notices_;
    bool no_steps_reported_ = false;  // of an exec job, by the agent of any node
    int store_attempt_ = -1;          // that store_host_ and store_port_ are reserved for
    std::string store_host_;
    int store_port_ = 0;
    std::uint64_t next_sequence_ = 0;
    MonotonicTime graceful_deadline_ = kNever;
    bool kill_ = false;  // the graceful stop, or that before a relaunch, took too long
    std::optional<HangInquiry> inquiry_;
    std::string journal_error_;
    bool finished_ = false;

    MonotonicTime last_call_{};
    MonotonicTime due_ = kNever;  // earliest_deadline() at its last call
    MonotonicTime hang_looked_{};
    std::uint64_t decisions_ = 0;  // records that may change a goal
    Now now_;                      // of the call in progress
    ControllerActions actions_;    // of the call in progress
};

}  // namespace osora::daemon
