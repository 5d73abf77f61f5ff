// Messages of agents: which agents are let in, which reports become records, and when the silence
// of a rank is a hang. An agent has presented the token, yet nothing from it is used as an index or
// a size unchecked.
#include "base/ids.hpp"
#include "base/text/seconds.hpp"
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "base/text/utf8.hpp"
#include "daemon/controller/controller_impl.hpp"
#include "daemon/steps/step_text.hpp"
#include "protocol/steps/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace osora::daemon {

using namespace protocol;

namespace {

constexpr double kSecondsMost = 1e9;  // of times that an agent reports
constexpr char const* kOtherNotices = "others";
constexpr std::size_t kKindMax = 64, kDetailMax = 4096;  // bytes of a notice
constexpr std::size_t kFaultMax = 200;                   // of NodeStopped::gpu_fault

bool holds(NodeStatus const& node, AgentIdentity const& agent) {
    return node.boot_id == agent.boot_id && node.agent_pid == agent.pid &&
           node.agent_start_ticks == agent.start_ticks;
}

AgentIdentity identity_of(AgentHello const& hello) {
    return {hello.boot_id, hello.pid, hello.start_ticks};
}

bool same_notice(RunNotice const& a, RunNotice const& b) {
    return std::tie(a.attempt, a.node, a.rank, a.step, a.kind, a.detail) ==
           std::tie(b.attempt, b.node, b.rank, b.step, b.kind, b.detail);
}

bool is_sane(MetricChunk const& chunk, int ranks_per_node) {
    std::size_t const steps = chunk.bucket.size();
    if (chunk.ranks < 1 || chunk.ranks > ranks_per_node) return false;
    if (steps == 0 || steps > 4096 || chunk.step0 < 0 || chunk.step0 > 1'000'000'000) return false;
    if (chunk.samples.size() != steps || chunk.columns.size() > 64) return false;
    return std::ranges::all_of(chunk.columns, [&](auto const& each) {
        MetricColumn const& column = each.second;
        return column.mean.size() == steps && column.min.size() == steps &&
               column.max.size() == steps && column.argmax.size() == steps;
    });
}

bool is_sane(RankMatrix const& matrix) {
    constexpr int kMost = 4096;
    return matrix.steps > 0 && matrix.steps <= kMost && matrix.ranks > 0 && matrix.ranks <= kMost &&
           matrix.step0 >= 0 && matrix.step0 <= 1'000'000'000 && matrix.first_rank >= 0 &&
           matrix.figures.size() <= 64;
}

bool is_sane(NodeHealth const& health) {
    return health.gpus.size() <= kHealthGpusMax && health.why.size() <= 200 &&
           std::ranges::all_of(
               health.gpus, [](GpuHealth const& gpu) { return gpu.xids.size() <= kHealthXidsMax; });
}

/// Agents send notices rarely; one that sends many must not fill the disk.
bool in_measure(NodeLink& node, MonotonicTime now) {
    constexpr auto kEach = std::chrono::seconds(5);
    constexpr int kAtOnce = 64;  // that an agent kept for an absent controller
    if (node.health_paid > now + kAtOnce * kEach) return false;
    node.health_paid = std::max(node.health_paid, now) + kEach;
    return true;
}

/// Notices are for people: of a rank that has many of a kind a few are recorded.
bool in_measure(NodeLink& node, RunNotice const& notice, MonotonicTime now) {
    constexpr auto kEach = std::chrono::minutes(1);
    constexpr int kAtOnce = 20;
    constexpr std::size_t kKinds = 256;  // of a node; further kinds share an allowance
    NodeLink::NoticesOf key{notice.rank, notice.kind};
    if (node.notices.size() >= kKinds && !node.notices.contains(key)) key = {-1, kOtherNotices};
    NoticeAllowance& allowance = node.notices[key];
    if (allowance.paid > now + (kAtOnce - 1) * kEach) {
        ++allowance.left_out;
        return false;
    }
    allowance.paid = std::max(allowance.paid, now) + kEach;
    return true;
}

}  // namespace

std::string ControllerCore::Impl::reason_to_refuse(AgentHello const& hello) const {
    if (!equal_constant_time(hello.token, options_.token)) return "wrong token";
    if (hello.protocol != kAgentProtocol) {
        return fmt::format("the agent speaks protocol {}, this controller {}", hello.protocol,
                           kAgentProtocol);
    }
    if (hello.node < 0 || hello.node >= node_count()) {
        return fmt::format("node {}; this run has {}", hello.node, node_count());
    }
    NodeLink const& known = links_[static_cast<std::size_t>(hello.node)];
    if (std::ranges::find(known.given_up, identity_of(hello)) != known.given_up.end()) {
        return fmt::format("node {} was given up and replaced", hello.node);
    }
    if (hello.agent_number > 0 && hello.agent_number < known.agent_number) {
        // Its hello was in transit when its end was reported.
        return fmt::format("node {} has been given a newer agent", hello.node);
    }
    if (node_status(hello.node).joined && !holds(node_status(hello.node), identity_of(hello))) {
        return fmt::format("node {} already has another agent", hello.node);
    }
    if (hello.attempt > status_.attempt) {
        return fmt::format("attempt {} was never ordered", hello.attempt);
    }
    return "";
}

void ControllerCore::Impl::hear(int connection, AgentHello const& hello) {
    std::string const reason = reason_to_refuse(hello);
    if (!reason.empty()) {
        act(SendToAgent{connection, Refused{reason}, false});
        close(connection, reason);
    } else if (link(hello.node).process == AgentProcess::stopping) {
        // Its predecessor is being ended; until that is known there must not be two.
        close(connection, "the node's previous agent has not ended yet");
    } else {
        accept(connection, hello);
    }
}

void ControllerCore::Impl::accept(int connection, AgentHello const& hello) {
    int const node = hello.node;
    NodeLink& each = link(node);
    if (each.connection >= 0) close(each.connection, "the agent reconnected");
    bool const same_process = each.identity == identity_of(hello);
    connections_[connection].node = node;
    each.process = AgentProcess::up;
    each.process_deadline = kNever;
    each.connection = connection;
    each.identity = identity_of(hello);
    // Reports whose acknowledgement was lost are sent again.
    if (!same_process) each.unwritten.clear();
    each.acknowledged = 0;
    each.taken = same_process ? std::max(each.taken, hello.first_report) : hello.first_report;
    each.next_report = hello.first_report;
    each.launched = hello.attempt;
    each.store_asked = -1;
    each.stop_sent.reset();
    each.dismissed = false;
    liveness_.heard(node, now_.monotonic);
    if (!node_status(node).joined && status_.state != RunState::done) {
        record(AgentJoined{node, hello.host, hello.boot_id, hello.pid, hello.start_ticks,
                           hello.facts});
    }
    send(node, Welcome{status_.incarnations - 1, true, true, true}, false);
}

void ControllerCore::Impl::hear(int connection, Heartbeat const& message) {
    int const node = connections_[connection].node;
    Heartbeat& heartbeat = link(node).heartbeat = message;
    for (RankHeartbeat& each : heartbeat.ranks) {
        each.silent_s = seconds_within(each.silent_s, 0, kSecondsMost);
        each.limit_s = seconds_within(each.limit_s, 0, kSecondsMost);
    }
    send(node, HeartbeatAck{}, false);
    if (std::ranges::any_of(message.ranks, &RankHeartbeat::ignores_stop)) {
        give_up_graceful_stop("the ranks continue after the request to stop");
    }
    look_for_hang();
}

void ControllerCore::Impl::hear(int connection, StoreReserved const& message) {
    int const node = connections_[connection].node;
    if (node != 0 || message.attempt != status_.attempt + 1 || ending()) return;
    if (message.port < 1 || message.port > 65535) {
        lose(node, "no port for the store: " + message.error);
        return;
    }
    store_attempt_ = message.attempt;
    store_host_ = message.host;
    store_port_ = message.port;
}

/// Whether a report is news about the current attempt.
bool ControllerCore::Impl::is_wanted(RunEvent const& report, int node) const {
    if (status_.state == RunState::done) return false;
    NodeStatus const& known = node_status(node);
    int const first_rank = node * status_.ranks_per_node;
    auto is_here = [&](int rank) {
        return rank >= first_rank && rank < first_rank + status_.ranks_per_node;
    };
    return std::visit(
        [&]<class T>(T const& each) {
            if constexpr (requires { each.attempt; }) {
                if (each.attempt != status_.attempt || each.attempt < 0) return false;
            }
            if constexpr (std::is_same_v<T, RankStarted>) {
                return is_here(each.rank) &&
                       !known.started[static_cast<std::size_t>(each.rank - first_rank)];
            } else if constexpr (std::is_same_v<T, RankFailed>) {
                return is_here(each.rank) && !failed_.contains(each.rank);
            } else if constexpr (std::is_same_v<T, CheckpointCompleted>) {
                return each.step > checkpoint_step_;
            } else if constexpr (std::is_same_v<T, RunNotice>) {
                // Ranks of another node may report steps.
                bool const already =
                    no_steps_reported_ || !step_times_.empty() || steps_.oldest() != kNever;
                if (each.kind == kNoStepsFound && already) return false;
                return std::ranges::find_if(replayed_notices_, [&](RunNotice const& known) {
                           return same_notice(known, each);
                       }) == replayed_notices_.end();
            } else if constexpr (std::is_same_v<T, NodeHealth>) {
                return is_sane(each) &&
                       each.number > links_[static_cast<std::size_t>(node)].health_number;
            } else if constexpr (std::is_same_v<T, RankMatrix>) {
                return is_sane(each) && each.first_rank == first_rank &&
                       each.step0 >= links_[static_cast<std::size_t>(node)].next_matrix_step;
            } else if constexpr (std::is_same_v<T, CollectiveSums>) {
                return protocol::is_sane(each) &&
                       each.number >= links_[static_cast<std::size_t>(node)].next_collectives;
            } else if constexpr (std::is_same_v<T, NodeFinished>) {
                return !known.finished;
            } else if constexpr (std::is_same_v<T, NodeStopped>) {
                return !known.stopped;
            } else if constexpr (std::is_same_v<T, MetricChunk>) {
                return is_sane(each, status_.ranks_per_node) &&
                       each.step0 + static_cast<int>(each.bucket.size()) >
                           links_[static_cast<std::size_t>(node)].next_step;
            }
            return true;
        },
        report);
}

/// Once for each kind, when the ranks of a node have ended.
void ControllerCore::Impl::tell_left_out(int node) {
    std::map<std::string, std::pair<std::int64_t, std::set<int>>> kinds;
    for (auto const& [of, allowance] : link(node).notices) {
        if (allowance.left_out == 0) continue;
        kinds[of.second].first += allowance.left_out;
        kinds[of.second].second.insert(of.first);
    }
    link(node).notices.clear();
    for (auto const& [kind, left_out] : kinds) {
        RunNotice notice;
        notice.attempt = status_.attempt;
        notice.node = node;
        notice.kind = "notices_left_out";
        notice.severity = "info";
        notice.detail = fmt::format(
            "{} notices \"{}\" of {} were left out: at most 20 of a rank are kept at once, then "
            "one a minute",
            format_count(left_out.first), kind, counted(std::ssize(left_out.second), "rank"));
        record(std::move(notice), false);
    }
}

template <class Report>
void ControllerCore::Impl::hear(int connection, Report const& report) {
    static_assert(is_report<Report>);
    int const node = connections_[connection].node;
    NodeLink& each = link(node);
    std::uint64_t const number = each.next_report++;
    if (number >= each.taken) {
        Report mine = report;
        if constexpr (requires { mine.node; }) mine.node = node;
        constexpr bool kIsNotice = std::is_same_v<Report, RunNotice>;
        constexpr bool kIsEnd =
            std::is_same_v<Report, NodeFinished> || std::is_same_v<Report, NodeStopped>;
        constexpr bool kDecides = !is_measurement<Report> && !kIsNotice;
        bool wanted = is_wanted(mine, node);
        if constexpr (std::is_same_v<Report, NodeHealth>) {
            wanted = wanted && in_measure(each, now_.monotonic);
        } else if constexpr (kIsNotice) {
            shorten_utf8(mine.kind, kKindMax);
            shorten_utf8(mine.detail, kDetailMax);
            wanted = wanted && in_measure(each, mine, now_.monotonic);
        }
        if constexpr (std::is_same_v<Report, NodeStopped>) {
            shorten_utf8(mine.gpu_fault, kFaultMax);
        }
        if (kIsEnd && wanted) tell_left_out(node);
        if constexpr (std::is_same_v<Report, MetricChunk>) {
            if (wanted) take_chunk(node, number, mine);
        } else if (wanted) {
            record(std::move(mine), kDecides);
        }
        each.taken = number + 1;  // only now: what is written in between acknowledges
    }
    acknowledge(node);
}

void ControllerCore::Impl::on(AgentSaid const& input) {
    auto const found = connections_.find(input.connection);
    if (found == connections_.end()) return;  // the core closed it, the shell still read from it
    bool const is_hello = std::holds_alternative<AgentHello>(input.message);
    if (is_hello != (found->second.node < 0)) {
        close(input.connection, is_hello ? "a second hello" : "no hello");
        return;
    }
    if (!is_hello) liveness_.heard(found->second.node, now_.monotonic);
    std::visit([&](auto const& each) { hear(input.connection, each); }, input.message);
}

}  // namespace osora::daemon
