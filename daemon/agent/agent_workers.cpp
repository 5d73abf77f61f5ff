// The agent's workers: starts one attempt after the other, stops them, and separates failures from
// ends that follow from being stopped.
#include "base/env.hpp"
#include "base/text/seconds.hpp"
#include "base/text/text.hpp"
#include "daemon/agent/agent_impl.hpp"
#include "protocol/gpu_failure.hpp"
#include "protocol/verdicts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace osora::daemon {

using namespace protocol;

namespace {

constexpr MonotonicTime kTimeToObey = std::chrono::seconds(5);
constexpr int kStepsToObey = 4;
constexpr double kStacksLeast_s = 0.001, kStacksMost_s = 3600;
constexpr double kSilenceMost_s = 1e9;  // as faults.step_timeout
constexpr MonotonicTime kCollectivesFirst = std::chrono::seconds(10);
constexpr MonotonicTime kTooFastFirst = std::chrono::minutes(10);
constexpr MonotonicTime kNoStepsAfter = std::chrono::minutes(10);
constexpr MonotonicTime kSlowEnd = std::chrono::seconds(5);
constexpr MonotonicTime kSampleWait = std::chrono::seconds(2);

bool names_hardware(WorkerExited const& end) {
    RankFailed failed;
    failed.message = end.last_line;
    failed.tail = end.tail;
    return !hardware_fault_of(failed).empty();
}

}  // namespace

int AgentCore::Impl::workers_alive() const {
    return static_cast<int>(std::ranges::count_if(workers_, &WorkerState::alive));
}

WorkerState* AgentCore::Impl::worker_at(int attempt, int rank) {
    int const local_rank = rank - first_rank_;
    bool const here = local_rank >= 0 && local_rank < static_cast<int>(workers_.size());
    return attempt == attempt_ && here ? &workers_[static_cast<std::size_t>(local_rank)] : nullptr;
}

void AgentCore::Impl::hear(LaunchWorkers const& message) {
    bool const sane = message.local_world_size >= 1 && message.local_world_size <= 1024 &&
                      message.first_rank >= 0;
    if (!sane || message.attempt <= attempt_ || leaving_) return;  // stale, or a duplicate
    if (workers_alive() > 0) {
        // The controller waits for NodeStopped before it launches; if it did not, this node stops
        // its old workers itself.
        waiting_ = message;
        stop(StopHow::kill, "a newer attempt starts");
        return;
    }
    launch(message);
}

void AgentCore::Impl::launch(LaunchWorkers const& order) {
    waiting_.reset();
    attempt_ = order.attempt;
    first_rank_ = order.first_rank;
    stop_.reset();
    stop_reported_ = lease_ended_ = relaunch_ = false;
    kill_at_ = reap_at_ = slow_end_at_ = stopped_by_ = kNever;
    gpu_fault_.clear();
    workers_.assign(static_cast<std::size_t>(order.local_world_size), {});
    int rank = first_rank_;
    for (WorkerState& each : workers_) {
        each.alive = true;
        each.last_heard = now_.monotonic;
        each.heartbeat.rank = rank++;
    }
    using Wait = MetricReducer::Wait;
    reducer_.emplace(attempt_, options_.node, first_rank_, order.local_world_size,
                     options_.exec ? Wait::speakers : Wait::all);
    matrices_.reset();
    if (wants_matrices_) {
        matrices_.emplace(attempt_, options_.node, first_rank_, order.local_world_size);
    }
    collectives_.reset();
    if (wants_collectives_) {
        collectives_.emplace(attempt_, options_.node, first_rank_, order.local_world_size);
        collectives_wait_ = kCollectivesFirst;
        next_collectives_ = now_.monotonic + kCollectivesFirst;
    }
    said_.clear();
    printed_since_ = kNever;
    unheard_ = too_fast_ = {};
    reported_too_fast_ = 0;
    too_fast_wait_ = kTooFastFirst;
    next_too_fast_ = now_.monotonic + kTooFastFirst;
    act(SpawnWorkers{order});
}

void AgentCore::Impl::on(WorkerSpawned const& input) {
    WorkerState* worker = worker_at(input.attempt, input.rank);
    if (worker == nullptr || !worker->alive) return;
    worker->pid = input.pid;
    worker->cpus = input.cpus;
    if (input.pid <= 0) {
        worker->alive = false;
        worker->failure_message = "cannot be started: " + input.error;
        worker_failed(input.rank, {input.attempt, input.rank, 126, 0, false});
        when_none_is_left();
    } else if (options_.exec) {
        RankStarted started;
        started.attempt = attempt_;
        started.node = options_.node;
        started.rank = input.rank;
        started.pid = input.pid;
        started.cpus = input.cpus;
        report(std::move(started));
    }
}

/// Nodes are usually alike: one report is enough for all.
void AgentCore::Impl::on(RanksNotBound const& input) {
    if (input.attempt != attempt_ || options_.node != 0) return;
    add_notice("not_bound", "info", "ranks are not bound to cores: " + input.why);
}

void AgentCore::Impl::on(WorkerSaid const& input) {
    WorkerState* worker = worker_at(input.attempt, input.rank);
    if (worker == nullptr || !worker->alive) return;
    worker->last_heard = now_.monotonic;
    std::visit([&](auto const& each) { hear(input.rank, each); }, input.message);
}

void AgentCore::Impl::on(WorkerStepped const& input) {
    WorkerState* worker = worker_at(input.attempt, input.rank);
    if (worker == nullptr || !worker->alive) return;
    worker->last_heard = now_.monotonic;
    worker->speaks = true;
    worker->heartbeat.phase = Phase::step;
    said_.insert(input.step.said.begin(), input.step.said.end());
    hear(input.rank, input.step.metrics);
}

void AgentCore::Impl::on(StepsLeftOut const& input) {
    if (worker_at(input.attempt, input.rank) == nullptr) return;
    too_fast_.log_bytes += input.bytes;
    too_fast_.steps += static_cast<std::uint64_t>(input.steps);
}

/// The controller knows the steps of the other nodes, and drops this notice when there are some.
void AgentCore::Impl::on(OutputRead const& input) {
    if (worker_at(input.attempt, input.rank) == nullptr || no_steps_reported_) return;
    bool const stepped =
        std::ranges::any_of(workers_, [](WorkerState const& each) { return each.speaks; });
    if (stepped) return;
    if (printed_since_ == kNever) printed_since_ = now_.monotonic;
    if (now_.monotonic - printed_since_ < kNoStepsAfter) return;
    no_steps_reported_ = true;
    add_notice(kNoStepsFound, "info",
               "no training steps were found in 10 min of output so far; " + how_steps_are_found());
}

void AgentCore::Impl::hear(int rank, WorkerHello const& message) {
    WorkerState& worker = *worker_at(attempt_, rank);
    if (message.protocol != kWorkerProtocol) {
        worker.failure_message = fmt::format("the worker speaks protocol {}, its agent {}",
                                             message.protocol, kWorkerProtocol);
        worker_failed(rank, {attempt_, rank, kExitConfiguration, 0, false});
        return;
    }
    report(RankStarted{attempt_, options_.node, rank, worker.pid, message.start_step, message.facts,
                       worker.cpus});
}

void AgentCore::Impl::hear(int rank, PhaseChanged const& message) {
    worker_at(attempt_, rank)->heartbeat.phase = message.phase;
    worker_at(attempt_, rank)->heartbeat.limit_s =
        seconds_within(message.limit_s, 0, kSilenceMost_s);
}

void AgentCore::Impl::hear(int rank, Arrived const& message) {
    worker_at(attempt_, rank)->heartbeat.arrived = message.step;
}

void AgentCore::Impl::hear(int rank, StepMetrics const& message) {
    worker_at(attempt_, rank)->heartbeat.step = message.step;
    if (reducer_) reducer_->add(rank, message);
    if (matrices_) matrices_->add(rank, message);
    if (collectives_) collectives_->add(rank, message);
}

void AgentCore::Impl::hear(int, CheckpointSaved const& message) {
    report(
        CheckpointCompleted{attempt_, message.step, message.path, message.seconds, message.bytes});
}

void AgentCore::Impl::hear(int, Evaluated const& message) {
    report(EvaluationDone{attempt_, message.step, message.loss, message.samples, message.seconds});
}

void AgentCore::Impl::hear(int rank, WorkerNotice const& message) {
    report(RunNotice{attempt_, options_.node, rank, message.step, message.kind, message.severity,
                     message.detail});
}

void AgentCore::Impl::hear(int rank, WorkerFailed const& message) {
    worker_at(attempt_, rank)->failure_message = message.message;
}

void AgentCore::Impl::hear(int rank, WorkerFinished const& message) {
    WorkerState& worker = *worker_at(attempt_, rank);
    worker.finished = true;
    worker.stopped = message.stopped;
    worker.steps = message.steps;
}

void AgentCore::Impl::hear(int, ProbeMeasured const& message) {
    report(ProbePart{attempt_, options_.node, message.part});
}

/// An end that only follows from being stopped.
bool AgentCore::Impl::is_consequence(WorkerExited const& end, WorkerState const&) const {
    if (!stop_) return false;
    if (end.oom_killed) return false;
    // A program may react to SIGTERM as it likes, but its GPU may have been the cause of all.
    if (options_.exec) return !names_hardware(end);
    bool const ended_by_us =
        end.signal == 0 && (end.exit_code == kExitEndedByController || end.exit_code == kExitOk);
    if (stop_ == StopHow::checkpoint && !lease_ended_) return ended_by_us;
    bool const killed = end.signal == SIGTERM || end.signal == SIGKILL;
    bool const lost_peers = end.signal == 0 && end.exit_code == kExitComm;
    return ended_by_us || killed || lost_peers;
}

void AgentCore::Impl::on(WorkerExited const& input) {
    WorkerState* worker = worker_at(input.attempt, input.rank);
    if (worker == nullptr || !worker->alive) return;
    worker->alive = false;
    bool const well = input.exit_code == 0 && input.signal == 0;
    worker->done = options_.exec ? well : worker->finished;
    if (worker->done && !well) {
        WorkerNotice notice;
        notice.kind = "exit_after_finish";
        notice.detail = describe(RankFailed{attempt_, options_.node, input.rank, input.exit_code,
                                            input.signal, input.oom_killed, ""},
                                 options_.exec);
        hear(input.rank, notice);
    } else if (!worker->done && !is_consequence(input, *worker)) {
        worker_failed(input.rank, input);
    }
    when_none_is_left();
}

void AgentCore::Impl::worker_failed(int rank, WorkerExited const& end) {
    WorkerState& worker = *worker_at(attempt_, rank);
    if (std::exchange(worker.failed, true)) return;
    bool const first = std::ranges::count_if(workers_, &WorkerState::failed) == 1;
    report(RankFailed{attempt_, options_.node, rank, end.exit_code, end.signal, end.oom_killed,
                      worker.failure_message.empty() ? end.last_line : worker.failure_message,
                      first || names_hardware(end) ? end.tail : ""});
    if (first && has_gpus_ && next_sample_ != kNever) sample_health();
}

void AgentCore::Impl::when_none_is_left() {
    if (workers_alive() > 0) return;
    idle_since_ = now_.monotonic;
    kill_at_ = reap_at_ = slow_end_at_ = kNever;
    take_metrics(true);
    if (std::ranges::all_of(workers_, &WorkerState::done)) {
        NodeFinished finished{attempt_, options_.node, 0, false};
        for (WorkerState const& each : workers_) {
            finished.steps = std::max(finished.steps, each.steps);
            finished.stopped = finished.stopped || each.stopped;
        }
        if (options_.exec && stop_) finished.stopped = true;
        if (!finished.stopped || !lease_ended_) report(std::move(finished));
    }
    if (stop_ && !stop_reported_) report_stopped();
    if (waiting_) launch(*std::exchange(waiting_, std::nullopt));
}

/// When no worker is left. If one has failed, the driver may know why: a sample that was requested
/// is waited for, so that the controller can choose another host for the next attempt.
void AgentCore::Impl::report_stopped() {
    bool const has_failure = std::ranges::any_of(workers_, &WorkerState::failed);
    if (has_failure && has_gpus_ && sampling_ && now_.monotonic < stopped_by_) {
        if (stopped_by_ == kNever) stopped_by_ = now_.monotonic + kSampleWait;
        return;
    }
    stopped_by_ = kNever;
    stop_reported_ = true;
    report(NodeStopped{attempt_, options_.node, 0, lease_ended_, gpu_fault_});
}

void AgentCore::Impl::hear(TakeStacks const& message) {
    if (message.attempt == attempt_ && workers_alive() > 0) {
        act(TakeStacksOf{attempt_, seconds_within(message.limit_s, kStacksLeast_s, kStacksMost_s)});
    } else {
        act(SendToController{StacksTaken{message.attempt, {}}});
    }
}

void AgentCore::Impl::on(StacksReady const& input) {
    if (welcomed_) act(SendToController{StacksTaken{input.attempt, input.ranks}});
}

void AgentCore::Impl::hear(StopAttempt const& message) {
    if (message.attempt < attempt_ || (waiting_ && message.attempt < waiting_->attempt)) return;
    waiting_.reset();
    if (message.relaunch) {
        relaunch_ = true;
    } else {
        end_run_soon();
    }
    if (message.attempt > attempt_ && workers_alive() == 0) {
        // The launch was never received, and must have no effect if it still arrives.
        attempt_ = message.attempt;
        workers_.clear();
        reducer_.reset();
        matrices_.reset();
        collectives_.reset();
        lease_ended_ = false;
        stop_ = message.how;
        stop_reported_ = false;
    }
    if (workers_alive() == 0) {
        stop_ = message.how;
        report_stopped();
        return;
    }
    stop(message.how, message.reason);
}

/// A stop only ever becomes harder.
void AgentCore::Impl::stop(StopHow how, std::string const& reason) {
    if (stop_ && *stop_ >= how) return;
    stop_ = how;
    if (how == StopHow::kill) {
        auto const limit = relaunch_ ? options_.relaunch_reap_limit : options_.reap_limit;
        reap_at_ = now_.monotonic + limit;
        slow_end_at_ = relaunch_ ? now_.monotonic + kSlowEnd : kNever;
        kill_at_ = kNever;
        act(SignalWorkers{SIGKILL});
    } else if (how == StopHow::terminate || options_.exec) {
        if (how == StopHow::terminate) kill_at_ = now_.monotonic + options_.kill_grace;
        act(SignalWorkers{SIGTERM});
    } else {
        ordered_to_stop_ = now_.monotonic;
        for (WorkerState& each : workers_) each.step_when_ordered = each.heartbeat.step;
        act(SendToWorkers{StopWorker{true, reason}});
    }
}

/// No attempt follows that would have to wait for ranks that are hard to end.
void AgentCore::Impl::end_run_soon() {
    relaunch_ = false;
    slow_end_at_ = kNever;
    if (reap_at_ == kNever) return;
    reap_at_ = std::min(reap_at_, now_.monotonic + options_.reap_limit);
}

void AgentCore::Impl::tell_slow_end() {
    slow_end_at_ = kNever;
    add_notice("slow_end", "warning",
               fmt::format("the relaunch waits up to {:.0f} s for {} that SIGKILL has not ended "
                           "within {:.0f} s (a driver or a file system may be slow)",
                           in_seconds(options_.relaunch_reap_limit),
                           counted(workers_alive(), "rank"), in_seconds(kSlowEnd)));
}

/// Ranks that agree to stop do one or two more steps. A node that gets the order so much later than
/// the others would count as lost.
bool AgentCore::Impl::ignores_stop(WorkerState const& worker) const {
    return stop_ == StopHow::checkpoint && !options_.exec &&
           now_.monotonic - ordered_to_stop_ >= kTimeToObey &&
           worker.heartbeat.phase == Phase::step &&
           worker.heartbeat.step >= worker.step_when_ordered + kStepsToObey;
}

/// No controller commands this node any more: the workers get time to save a checkpoint, then they
/// are stopped.
void AgentCore::Impl::end_lease() {
    if (std::exchange(lease_ended_, true)) return;
    auto const limit = now_.monotonic + options_.kill_grace;
    stop(StopHow::checkpoint, fmt::format("no controller for {:.1f} s",
                                          std::chrono::duration<double>(options_.lease).count()));
    if (stop_ != StopHow::kill) kill_at_ = std::min(kill_at_, limit);
}

}  // namespace osora::daemon
