// An agent core that tests drive by hand.
#pragma once

#include "daemon/agent/agent_core.hpp"

#include <utility>
#include <vector>

namespace osora::daemon {

using namespace protocol;
using std::chrono_literals::operator""ms;

/// An agent with a connection that answers, and its actions.
class Agent {
public:
    explicit Agent(AgentOptions options = {}) : core(with_token(options), {}) {}

    static AgentOptions with_token(AgentOptions options) {
        options.token = "secret";
        options.node = 1;
        return options;
    }
    void feed(AgentInput const& input) {
        for (AgentAction& each : core.handle({now}, input)) actions.push_back(std::move(each));
    }
    void hear(ToAgent const& message) {
        AgentInput input(std::in_place_type<ControllerSaid>);
        std::get<ControllerSaid>(input).message = message;
        feed(input);
    }
    void connect() {
        feed(ControllerConnected{});
        hear(Welcome{});
    }
    /// Ranks 2 and 3 of `attempt`.
    void launch(int attempt) {
        LaunchWorkers order;
        order.attempt = attempt;
        order.world_size = 4;
        order.first_rank = 2;
        order.local_world_size = 2;
        hear(order);
        for (int rank : {2, 3}) feed(WorkerSpawned{attempt, rank, 100 + rank, ""});
    }
    void say(int rank, FromWorker message, int attempt = 0) {
        feed(WorkerSaid{attempt, rank, std::move(message)});
    }
    void exit(int rank, int code, int signal = 0, int attempt = 0) {
        feed(WorkerExited{attempt, rank, code, signal, false});
    }
    /// Lets time pass; the controller answers heartbeats while `answered`.
    void wait(MonotonicTime duration, bool answered) {
        MonotonicTime const end = now + duration;
        while (core.next_deadline() <= end) {
            now = core.next_deadline();
            feed(AgentTick{});
            if (answered) hear(HeartbeatAck{});
        }
        now = end;
    }
    template <class Action>
    [[nodiscard]] std::vector<Action> asked() const {
        std::vector<Action> found;
        for (AgentAction const& each : actions) {
            if (auto const* action = std::get_if<Action>(&each)) found.push_back(*action);
        }
        return found;
    }
    template <class Message>
    [[nodiscard]] std::vector<Message> sent() const {
        std::vector<Message> found;
        for (SendToController const& each : asked<SendToController>()) {
            if (auto const* message = std::get_if<Message>(&each.message))
                found.push_back(*message);
        }
        return found;
    }

    MonotonicTime now{};
    AgentCore core;
    AgentActions actions;
};

}  // namespace osora::daemon
