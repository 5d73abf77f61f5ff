// The agent's side of the controller protocol: reports that survive a reconnect, the heartbeat, the
// lease. agent_workers.cpp handles the workers.
#include "base/check.hpp"
#include "base/env.hpp"
#include "base/text/units.hpp"
#include "daemon/agent/agent_impl.hpp"
#include "daemon/own_pause.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace osora::daemon {

using namespace protocol;

namespace {

constexpr MonotonicTime kBlindAfter = 60s;
constexpr MonotonicTime kAnswerLimit = 5s;      // from a hello to its welcome
constexpr MonotonicTime kOrphanedLease = 5s;    // what is left of a dead controller's lease
constexpr MonotonicTime kWordAfterPause = 10s;  // a controller that is there answers a heartbeat
constexpr std::size_t kChunksInFlight = 8;
constexpr int kMatricesAtOnce = 16;
constexpr std::size_t kPiecesKept = 512;  // of steps with gaps; each is a separate chunk
constexpr MonotonicTime kCollectivesEveryMost = 300s;
constexpr std::size_t kRowsBeforeSpill = 1024;  // in the reducer, while no controller is connected

}  // namespace

AgentCore::Impl::Impl(AgentOptions options, Now now, Spill* spill)
    : options_(std::move(options)),
      now_(now),
      last_word_(now.monotonic),
      next_beat_(now.monotonic + options_.heartbeat),
      health_({.node = options_.node, .every = options_.health_every}),
      spills_(spill != nullptr),
      reports_(spill),
      idle_since_(now.monotonic) {}

AgentActions AgentCore::Impl::handle(Now now, AgentInput const& input) {
    if (exited_) return {};
    now_ = now;
    forgive_own_pause();
    std::visit([this](auto const& each) { on(each); }, input);
    check_deadlines();
    last_call_ = now_.monotonic;
    due_ = next_deadline();
    return std::exchange(actions_, {});
}

/// An agent that did not run when a deadline passed (a suspended job, a paused machine) has read no
/// messages either, and its workers were paused with it. A lease that would be over is only
/// extended until the controller can be heard: it may have launched the ranks elsewhere.
void AgentCore::Impl::forgive_own_pause() {
    if (due_ == kNever) return;
    MonotonicTime const late = now_.monotonic - std::max(due_, last_call_);
    if (late <= kOwnPause) return;
    for (WorkerState& each : workers_) each.last_heard += late;
    for (MonotonicTime* each : {&kill_at_, &reap_at_, &slow_end_at_, &stopped_by_, &answer_due_,
                                &ordered_to_stop_, &printed_since_}) {
        if (*each != kNever) *each += late;
    }
    if (sampling_) *sampling_ += late;
    auto const word = std::max(last_word_, now_.monotonic + kWordAfterPause - lease());
    last_word_ = std::min(last_word_ + late, word);
}

void AgentCore::Impl::on(AgentTick const&) {}

void AgentCore::Impl::on(ControllerConnected const&) {
    welcomed_ = false;
    answer_due_ = now_.monotonic + kAnswerLimit;
    AgentHello hello;
    hello.token = options_.token;
    hello.node = options_.node;
    hello.host = options_.host;
    hello.boot_id = options_.boot_id;
    hello.pid = options_.pid;
    hello.start_ticks = options_.start_ticks;
    hello.attempt = waiting_ ? waiting_->attempt : attempt_;
    hello.workers_left = workers_alive();
    hello.first_report = reports_.first_number();
    hello.facts = options_.facts;
    hello.agent_number = options_.agent_number;
    act(SendToController{std::move(hello)});
}

void AgentCore::Impl::on(ControllerDisconnected const&) {
    welcomed_ = false;
    answer_due_ = {};
}

void AgentCore::Impl::on(ControllerDied const&) {
    last_word_ = std::min(last_word_, now_.monotonic + kOrphanedLease - lease());
}

void AgentCore::Impl::on(ControllerSaid const& input) {
    last_word_ = now_.monotonic;
    std::visit([this](auto const& each) { hear(each); }, input.message);
}

void AgentCore::Impl::hear(Welcome const& message) {
    count_dropped();
    welcomed_ = ever_welcomed_ = true;
    answer_due_ = {};
    bool const sampled = next_sample_ != kNever;
    if (message.health != sampled) {
        next_sample_ = message.health ? now_.monotonic + options_.health_first : kNever;
    }
    wants_matrices_ = message.matrices;
    wants_collectives_ = message.collectives;
    reports_.send_again();
    send_reports();
    next_beat_ = now_.monotonic;
}

void AgentCore::Impl::hear(Refused const& message) {
    leave(kAgentRefused, "refused: " + message.reason);
}

void AgentCore::Impl::hear(HeartbeatAck const&) {}

void AgentCore::Impl::hear(AckReports const& message) {
    reports_.acknowledge(message.next);
    send_reports();
}

void AgentCore::Impl::hear(ReserveStore const& message) {
    if (store_ && store_->attempt == message.attempt) {
        act(SendToController{*store_});
    } else if (message.attempt > store_attempt_) {
        store_attempt_ = message.attempt;
        store_.reset();
        act(BindStore{message.attempt});
    }
}

void AgentCore::Impl::on(StoreBound const& input) {
    if (input.attempt != store_attempt_) return;
    StoreReserved const answer{input.attempt, input.host, input.port, input.error};
    if (input.port > 0) {
        store_ = answer;
    } else {
        store_attempt_ = -1;  // may be reserved again
    }
    if (welcomed_) act(SendToController{answer});
}

void AgentCore::Impl::hear(Dismiss const&) {
    leave(0, "dismissed");
}

/// Exits once no worker is left.
void AgentCore::Impl::leave(int exit_code, std::string why) {
    if (leaving_) return;
    leaving_ = std::move(why);
    leaving_code_ = exit_code;
    end_run_soon();
    if (workers_alive() > 0) stop(StopHow::terminate, *leaving_);
}

void AgentCore::Impl::act(AgentAction action) {
    actions_.push_back(std::move(action));
}

/// Kept until the controller acknowledges it.
void AgentCore::Impl::report(FromAgent event) {
    reports_.push(std::move(event));
    send_reports();
}

/// The rest follows as the controller acknowledges: a connection that queues too much output is
/// closed.
void AgentCore::Impl::send_reports() {
    if (!welcomed_) return;
    for (FromAgent& each : reports_.take_to_send()) act(SendToController{std::move(each)});
}

/// Moves reduced steps to the reports. Without a controller they wait in the reducer, which is
/// bounded, and then go to the spill; at the end of an attempt all of them go.
void AgentCore::Impl::take_metrics(bool partial) {
    if (!reducer_) return;
    take_collectives(partial);
    auto const wanted = [this] {
        if (!welcomed_) return spills_ && reducer_->rows() >= kRowsBeforeSpill;
        auto const in_flight = std::ranges::count_if(reports_.in_memory(), [](auto const& each) {
            return std::holds_alternative<MetricChunk>(each);
        });
        return static_cast<std::size_t>(in_flight) < kChunksInFlight;
    };
    auto const was_not_said = [this](auto const& each) { return !said_.contains(each.first); };
    if (options_.exec && (welcomed_ || partial)) reducer_->keep_newest(kPiecesKept);
    while (partial || wanted()) {
        auto chunk = reducer_->take(partial);
        if (!chunk) break;
        if (options_.exec) std::erase_if(chunk->columns, was_not_said);
        report(std::move(*chunk));
    }
    for (int i = 0; matrices_ && (partial || (i < kMatricesAtOnce && wanted())); ++i) {
        auto matrix = matrices_->take(partial);
        if (!matrix) break;
        if (options_.exec) std::erase_if(matrix->figures, was_not_said);
        report(std::move(*matrix));
    }
    tell_dropped(partial);
}

void AgentCore::Impl::count_dropped() {
    Dropped& where = welcomed_ ? too_fast_ : unheard_;
    if (reducer_) where.steps += reducer_->take_dropped();
    if (matrices_) where.steps_of_ranks += matrices_->take_dropped();
}

void AgentCore::Impl::add_notice(char const* kind, char const* severity, std::string detail) {
    RunNotice notice;
    notice.attempt = attempt_;
    notice.node = options_.node;
    notice.kind = kind;
    notice.severity = severity;
    notice.detail = std::move(detail);
    report(std::move(notice));
}

/// Reports what was left out because a program reported too fast, as a sum: at the end of its
/// attempt, and rarely before.
void AgentCore::Impl::tell_dropped(bool partial) {
    count_dropped();
    std::uint64_t const sum = too_fast_.steps + static_cast<std::uint64_t>(too_fast_.log_bytes) +
                              (options_.exec ? 0 : too_fast_.steps_of_ranks);
    if (sum > reported_too_fast_ && (partial || now_.monotonic >= next_too_fast_)) {
        reported_too_fast_ = sum;
        too_fast_wait_ = 2 * too_fast_wait_;
        next_too_fast_ = now_.monotonic + too_fast_wait_;
        add_notice("steps_left_out", "info",
                   fmt::format("{} steps and {} of the logs were left out since the launch, "
                               "because they came faster than steps are read and kept; the logs "
                               "themselves are whole",
                               format_count(static_cast<std::int64_t>(too_fast_.steps)),
                               format_bytes(too_fast_.log_bytes)));
    }
    if (!welcomed_ && !partial) return;
    auto const unheard = [this](std::uint64_t count, char const* what) {
        if (count == 0) return;
        add_notice(
            "reports_dropped", "warning",
            fmt::format("{} {} were dropped while no controller was connected", count, what));
    };
    Dropped const dropped = std::exchange(unheard_, {});
    unheard(dropped.steps, "steps");
    unheard(dropped.steps_of_ranks, "steps of single ranks");
    if (reports_.is_full()) return;
    unheard(reports_.take_dropped(), "reports");
}

/// The first report comes soon, for whoever watches; later ones are rare. They are sums, and the
/// journal of a large run keeps those of each node.
void AgentCore::Impl::take_collectives(bool partial) {
    if (!collectives_ || (!partial && (!welcomed_ || now_.monotonic < next_collectives_))) return;
    if (auto sums = collectives_->take()) report(std::move(*sums));
    next_collectives_ = now_.monotonic + collectives_wait_;
    collectives_wait_ = std::min(2 * collectives_wait_, kCollectivesEveryMost);
}

void AgentCore::Impl::beat() {
    next_beat_ = now_.monotonic + options_.heartbeat;
    take_metrics(false);
    if (!welcomed_) return;
    Heartbeat message;
    message.attempt = attempt_;
    for (WorkerState const& each : workers_) {
        if (!each.alive || (options_.exec && !each.speaks)) continue;
        message.ranks.push_back(each.heartbeat);
        message.ranks.back().silent_s = in_seconds(now_.monotonic - each.last_heard);
        message.ranks.back().ignores_stop = ignores_stop(each);
    }
    act(SendToController{std::move(message)});
}

void AgentCore::Impl::warn_of_health(std::string const& what) {
    add_notice("node_health", "warning", options_.host + ": " + what);
}

void AgentCore::Impl::on(HealthSampled const& input) {
    sampling_.reset();
    blind_ = false;
    has_gpus_ = has_gpus_ || !input.sample.gpus.empty();
    auto change = health_.take(now_.monotonic, input.sample);
    if (change) {
        if (!change->alarm.empty()) warn_of_health(change->alarm);
        if (gpu_fault_.empty()) gpu_fault_ = change->fault;
        report(std::move(change->record));
    }
    if (stopped_by_ != kNever) report_stopped();
}

/// A driver or a file system that hangs blocks the sampler, not the agent.
void AgentCore::Impl::sample_health() {
    next_sample_ = now_.monotonic + options_.health_every;
    if (!sampling_) {
        sampling_ = now_.monotonic;
        act(SampleHealth{});
    } else if (now_.monotonic - *sampling_ >= kBlindAfter && !std::exchange(blind_, true)) {
        warn_of_health("a GPU driver or file system does not answer");
    }
}

void AgentCore::Impl::check_deadlines() {
    if (now_.monotonic >= next_beat_) beat();
    if (now_.monotonic >= next_sample_) sample_health();
    if (now_.monotonic >= stopped_by_) report_stopped();
    bool const alone = now_.monotonic - last_word_ >= lease();
    if (alone && workers_alive() > 0) end_lease();
    if (now_.monotonic >= kill_at_) {
        kill_at_ = kNever;
        stop(StopHow::kill, "");
    }
    if (now_.monotonic >= slow_end_at_) tell_slow_end();
    bool const given_up = now_.monotonic >= reap_at_ && workers_alive() > 0;
    if (given_up) {
        reap_at_ = kNever;
        stop_reported_ = true;
        report(NodeStopped{attempt_, options_.node, workers_alive(), lease_ended_, gpu_fault_});
    }
    if (leaving_ && (workers_alive() == 0 || given_up)) {
        exited_ = true;
        act(ExitAgent{leaving_code_, *leaving_});
        return;
    }
    if (alone && workers_alive() == 0 && now_.monotonic >= leaves_at()) {
        exited_ = true;
        act(ExitAgent{kAgentUnreachable, fmt::format("no controller for {:.1f} s",
                                                     in_seconds(now_.monotonic - last_word_))});
    }
}

/// A controller that was never there is not waited for as long as one that may come back.
MonotonicTime AgentCore::Impl::lease() const {
    return ever_welcomed_ ? options_.lease : std::min(options_.lease, options_.join_limit);
}

/// No workers, and nothing heard from the controller. If a Welcome may be on its way, the agent
/// waits: an agent that leaves right after it joined would count as a lost node.
MonotonicTime AgentCore::Impl::leaves_at() const {
    return std::max(std::max(idle_since_, last_word_ + lease()) + options_.linger, answer_due_);
}

MonotonicTime AgentCore::Impl::next_deadline() const {
    if (exited_) return kNever;
    MonotonicTime next = std::min({next_beat_, kill_at_, reap_at_, next_sample_, stopped_by_});
    MonotonicTime const lease_end = last_word_ + lease();
    if (workers_alive() == 0) return std::min(next, leaves_at());
    if (!lease_ended_) next = std::min(next, lease_end);
    return next;
}

AgentCore::AgentCore(AgentOptions options, Now now, Spill* spill)
    : impl_(std::make_unique<Impl>(std::move(options), now, spill)) {}
AgentCore::~AgentCore() = default;
AgentActions AgentCore::handle(Now now, AgentInput const& input) {
    return impl_->handle(now, input);
}
MonotonicTime AgentCore::next_deadline() const {
    return impl_->next_deadline();
}
int AgentCore::workers_alive() const {
    return impl_->workers_alive();
}

}  // namespace osora::daemon
