// A controller core that tests drive by hand.
#pragma once

#include "daemon/controller/controller_core.hpp"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>
#include <vector>

namespace osora::daemon {

using namespace protocol;
using std::chrono_literals::operator""ms;

/// A controller of two nodes with a rank each; agents answer as the tests say.
class Controller {
public:
    explicit Controller(std::vector<JournalRecord> replayed = {}, bool begin = true)
        : records(std::move(replayed)), core(options(records), records) {
        if (begin) take(core.start({now, 5}));
    }
    explicit Controller(ControllerOptions const& chosen, std::vector<JournalRecord> replayed = {})
        : records(std::move(replayed)), core(chosen, records) {
        take(core.start({now, 5}));
    }
    static ControllerOptions options(std::vector<JournalRecord> const& records) {
        ControllerOptions made;
        made.submission.nodes = 2;
        made.submission.restarts_max = 1;
        made.token = "secret";
        made.next_sequence = records.size();
        return made;
    }
    void take(ControllerActions made) {
        last = std::move(made);
        for (ControllerAction const& each : last) {
            if (auto const* record = std::get_if<AppendRecord>(&each))
                records.push_back(record->record);
        }
    }
    void feed(ControllerInput const& input) { take(core.handle({now, 5}, input)); }
    void say(int connection, FromAgent message) { feed(AgentSaid{connection, std::move(message)}); }
    static AgentHello hello(int node, int attempt = -1, int pid = 0) {
        AgentHello made;
        made.token = "secret";
        made.node = node;
        made.attempt = attempt;
        made.pid = pid != 0 ? pid : 100 + node;
        return made;
    }
    /// Connection n is the agent of node n.
    void join(int node) {
        feed(AgentConnected{node});
        say(node, hello(node));
    }
    void run() {
        join(0);
        join(1);
        say(0, StoreReserved{0, "h", 29500, ""});
        for (int rank : {0, 1}) say(rank, started(0, rank));
    }
    static RankStarted started(int attempt, int rank) {
        RankStarted made;
        made.attempt = attempt;
        made.node = made.rank = rank;
        return made;
    }
    static RankFailed killed(int attempt, int rank) {
        RankFailed made;
        made.attempt = attempt;
        made.rank = rank;
        made.signal = SIGKILL;
        return made;
    }
    /// Ticks until `end`; nodes in `beating` send heartbeats.
    void wait(MonotonicTime duration, std::vector<int> beating = {0, 1}) {
        ControllerActions all;
        auto feed_and_keep = [&](ControllerInput const& input) {
            feed(input);
            std::ranges::copy(last, std::back_inserter(all));
        };
        for (MonotonicTime const end = now + duration; now < end;) {
            now += 500ms;
            for (int node : beating) feed_and_keep(AgentSaid{node, Heartbeat{}});
            if (core.next_deadline() <= now) feed_and_keep(Tick{});
        }
        last = std::move(all);
    }
    [[nodiscard]] RunState state() const { return core.status().state; }

    template <class Action>
    [[nodiscard]] std::vector<Action> asked() const {
        std::vector<Action> found;
        for (ControllerAction const& each : last) {
            if (auto const* action = std::get_if<Action>(&each)) found.push_back(*action);
        }
        return found;
    }
    template <class Message>
    [[nodiscard]] std::vector<std::pair<int, Message>> sent() const {
        std::vector<std::pair<int, Message>> found;
        for (SendToAgent const& each : asked<SendToAgent>()) {
            if (auto const* message = std::get_if<Message>(&each.message)) {
                found.emplace_back(each.connection, *message);
            }
        }
        return found;
    }

    MonotonicTime now = 100s;
    std::vector<JournalRecord> records;
    ControllerCore core;
    ControllerActions last;
};

}  // namespace osora::daemon
