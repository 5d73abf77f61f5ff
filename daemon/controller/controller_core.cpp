// The controller's inputs, and the one place where records are made. Replayed and live records
// reach the state the same way.
#include "base/check.hpp"
#include "daemon/agent/agent_core.hpp"
#include "daemon/controller/controller_impl.hpp"
#include "daemon/own_pause.hpp"
#include "daemon/steps/step_text.hpp"
#include "protocol/journal/event_limits.hpp"
#include "protocol/steps/measurement.hpp"

#include <fmt/format.h>

#include <utility>

namespace osora::daemon {

using namespace protocol;

namespace {

constexpr MonotonicTime kHelloLimit = std::chrono::seconds(5);
constexpr MonotonicTime kUnjoinedLimit = std::chrono::seconds(3);
constexpr std::size_t kStrangersMax = 64;  // connections that have not said hello
constexpr std::size_t kNoticesKept = 256;

/// Messages that agents of a run send all the time.
bool is_routine(ControllerInput const& input) {
    auto const* said = std::get_if<AgentSaid>(&input);
    return said != nullptr &&
           (std::holds_alternative<Heartbeat>(said->message) ||
            std::holds_alternative<RunNotice>(said->message) || holds_measurement(said->message));
}

bool decides(RunEvent const& event) {
    return !holds_measurement(event) && !std::holds_alternative<RunNotice>(event);
}

int nodes_of(ControllerOptions const& options) {
    OSORA_CHECK_LE(1, options.submission.nodes);
    return options.submission.nodes;
}

}  // namespace

ControllerCore::Impl::Impl(ControllerOptions options, std::vector<JournalRecord> const& replayed)
    : options_(std::move(options)),
      links_(static_cast<std::size_t>(nodes_of(options_))),
      liveness_(nodes_of(options_), {}, options_.lost_after),
      steps_(options_.submission.ranks_per_node),
      alarm_({.has_loss = options_.submission.job != "rehearse"}),
      next_sequence_(options_.next_sequence) {
    for (JournalRecord const& each : replayed) {
        fold(status_, each.event);
        observe(each.event);
        auto const* notice = std::get_if<RunNotice>(&each.event);
        if (notice == nullptr) continue;
        replayed_notices_.push_back(*notice);
        if (replayed_notices_.size() > kNoticesKept) replayed_notices_.pop_front();
    }
    for (std::size_t node = 0; node < std::min(links_.size(), status_.nodes.size()); ++node) {
        if (!status_.nodes[node].gpu_fault.empty()) links_[node].blamed_before = status_.attempt;
    }
    // An earlier incarnation may have left agents, but no workers once it has ended the run.
    bool const opened_again = options_.resume && status_.state == RunState::done;
    if (status_.incarnations > 0 && !opened_again) {
        for (NodeLink& each : links_) each.process = AgentProcess::unknown;
    }
}

ControllerActions ControllerCore::Impl::start(Now now) {
    now_ = now;
    for (int node = 0; node < node_count(); ++node) {
        liveness_.heard(node, now.monotonic);
        // The last incarnation may have been about to start this agent, or may not have got that
        // far.
        bool const joined = !status_.nodes.empty() && node_status(node).joined;
        MonotonicTime const wait =
            joined ? options_.adopt_limit : std::min(options_.adopt_limit, kUnjoinedLimit);
        link(node).process_deadline = now.monotonic + wait;
    }
    if (status_.nodes.empty()) record(options_.submission);
    OSORA_CHECK_EQ(static_cast<int>(status_.nodes.size()), node_count());
    if (status_.state == RunState::submitted) record(PlanChosen{options_.plan});
    if (status_.state != RunState::done || options_.resume) {
        record(ControllerStarted{options_.host, options_.boot_id, options_.pid,
                                 status_.incarnations, options_.probed_s});
    }
    if (!options_.probe.is_null()) record(ProbePart{status_.attempt, 0, options_.probe});
    if (status_.state != RunState::done) record_alarms();  // an earlier incarnation was about to
    if (status_.stop == StopMode::graceful || status_.asked_to_save) {
        graceful_deadline_ = now.monotonic + options_.lifeline_limit;
    }
    pursue();
    last_call_ = now_.monotonic;
    due_ = earliest_deadline();
    return std::exchange(actions_, {});
}

ControllerActions ControllerCore::Impl::handle(Now now, ControllerInput const& input) {
    if (finished_ && !std::holds_alternative<JournalFailed>(input)) return {};
    Now const before = std::exchange(now_, now);
    now_.monotonic = std::max(now.monotonic, before.monotonic);
    forgive_own_pause();
    std::uint64_t const decisions = decisions_;
    std::visit([this](auto const& each) { on(each); }, input);
    last_call_ = now_.monotonic;
    // In a large run all but a few inputs only move deadlines later and change no goal.
    bool const routine = is_routine(input) && decisions == decisions_;
    if (routine && now_.monotonic < due_) return std::exchange(actions_, {});
    check_deadlines();
    pursue();
    due_ = earliest_deadline();
    return std::exchange(actions_, {});
}

/// A controller that did not run when a deadline passed (a stopped process, a slow disk) has not
/// read messages either.
void ControllerCore::Impl::forgive_own_pause() {
    if (due_ == kNever) return;
    MonotonicTime const late = now_.monotonic - std::max(due_, last_call_);
    if (late > kOwnPause) liveness_.forgive(now_.monotonic - last_call_);
}

/// The oldest connection from the address with the most strangers: an agent sends its hello at
/// once, so silent strangers never keep it out.
int ControllerCore::Impl::stranger_to_close() const {
    std::map<std::string_view, int> counts;
    for (auto const& [number, each] : connections_) {
        if (each.node < 0) ++counts[each.peer];
    }
    auto const most =
        std::ranges::max_element(counts, {}, [](auto const& each) { return each.second; });
    auto const oldest = std::ranges::find_if(connections_, [&](auto const& each) {
        return each.second.node < 0 && each.second.peer == most->first;
    });
    return oldest->first;
}

void ControllerCore::Impl::on(AgentConnected const& input) {
    connections_[input.connection] = {now_.monotonic + kHelloLimit, -1, input.peer};
    auto const strangers =
        std::ranges::count_if(connections_, [](auto const& each) { return each.second.node < 0; });
    if (static_cast<std::size_t>(strangers) > kStrangersMax + links_.size()) {
        close(stranger_to_close(), "too many connections");
    }
}

void ControllerCore::Impl::on(AgentDisconnected const& input) {
    auto const found = connections_.find(input.connection);
    if (found == connections_.end()) return;
    if (found->second.node >= 0) link(found->second.node).connection = -1;
    connections_.erase(found);
}

void ControllerCore::Impl::on(AgentExited const& input) {
    if (input.node < 0 || input.node >= node_count()) return;
    NodeLink& agent = link(input.node);
    // An agent that was given up long ago.
    if (agent.process == AgentProcess::none || input.agent_number != agent.agent_number) return;
    // Two incarnations may have started an agent for one node; only one of the two is let in.
    bool const is_second = input.exit_code == kAgentRefused && input.signal == 0;
    if (agent.process == AgentProcess::up && is_second) return;
    bool const found_nobody = input.exit_code == kAgentUnreachable && input.signal == 0;
    if (agent.process == AgentProcess::starting && found_nobody && input.error.empty()) {
        start_agent(input.node);  // until join_limit is over
        return;
    }
    std::string why = fmt::format("agent exited with {}", input.exit_code);
    if (agent.process == AgentProcess::unknown) why = "agent ended while there was no controller";
    if (input.signal != 0) why = fmt::format("agent was killed by signal {}", input.signal);
    if (!input.error.empty()) why = "agent could not be started: " + input.error;
    agent_gone(input.node, input.processes_left, std::move(why));
}

void ControllerCore::Impl::on(StopAsked const& input) {
    // A person who asks again finds that the first request takes too long. A signal to the job
    // comes once, but the batch step, an agent and the controller may each receive it.
    bool const again =
        status_.stop == StopMode::graceful && input.by_user && status_.stopped_by_user;
    auto const limit = status_.exec ? options_.exec_stop_limit : options_.stop_limit;
    request_stop({input.now || again, input.reason, input.by_user}, limit);
}

void ControllerCore::Impl::on(AskedRelaunch const& input) {
    if (!takes_relaunch(status_, input.now) || !journal_error_.empty()) return;
    record(RelaunchAsked{input.now, input.user, input.reason});
    auto const limit = status_.exec ? options_.exec_stop_limit : options_.stop_limit;
    graceful_deadline_ = status_.asked_to_save ? now_.monotonic + limit : kNever;
}

void ControllerCore::Impl::on(ClientGone const&) {
    request_stop({false, "the attached osora went away"}, options_.lifeline_limit);
}

void ControllerCore::Impl::request_stop(StopAsked asked, MonotonicTime limit) {
    MonotonicTime const deadline = now_.monotonic + limit;
    bool const graceful = status_.stop == StopMode::graceful;
    if (graceful && !asked.now) {
        graceful_deadline_ = std::min(graceful_deadline_, deadline);
        // Slurm stops this job, the person the run: no job follows.
        if (asked.by_user && !status_.stopped_by_user)
            record(StopRequested{false, std::move(asked.reason)});
        return;
    }
    bool const changes = !ending() || (graceful && asked.now);
    if (!changes || !journal_error_.empty()) return;
    record(StopRequested{asked.now, std::move(asked.reason), asked.by_user});
    graceful_deadline_ = status_.stop == StopMode::graceful ? deadline : kNever;
}

void ControllerCore::Impl::on(JournalFailed const& input) {
    if (!journal_error_.empty()) return;
    journal_error_ = input.error.empty() ? "unknown error" : input.error;
    // Actions that waited for the record were dropped with it.
    finished_ = false;
    for (NodeLink& each : links_) {
        each.dismissed = false;
        if (each.process == AgentProcess::stopping) each.process = AgentProcess::up;
    }
}

void ControllerCore::Impl::on(Tick const&) {}

bool ControllerCore::Impl::ending() const {
    return status_.state == RunState::finishing || status_.state == RunState::done;
}

void ControllerCore::Impl::record(RunEvent event, bool sync) {
    if (!journal_error_.empty()) return;
    if (decides(event)) {
        write_steps(true);  // steps reported earlier come before it in the journal
        ++decisions_;
    }
    fold(status_, event);
    observe(event);
    act(AppendRecord{{next_sequence_++, now_.wall_us, std::move(event)}, sync});
}

/// State that the controller derives from an event, apart from the run's status.
void ControllerCore::Impl::observe(RunEvent const& event) {
    if (auto const* launch = std::get_if<LaunchOrdered>(&event)) {
        steps_.begin(launch->attempt);
        kill_ = false;
        graceful_deadline_ = kNever;
        failed_.clear();
        checkpoint_step_ = -1;
        for (NodeLink& each : links_) {
            each.next_step = each.next_matrix_step = each.next_collectives = 0;
            each.unwritten.clear();
            each.stop_sent.reset();
            each.stop_deadline = kNever;
            each.heartbeat = {};
        }
    }
    if (auto const* stopped = std::get_if<NodeStopped>(&event)) {
        if (stopped->node >= 0 && stopped->node < node_count()) {
            link(stopped->node).stop_deadline = kNever;
        }
    }
    if (auto const* joined = std::get_if<AgentJoined>(&event)) {
        if (joined->node >= 0 && joined->node < node_count()) link(joined->node).health_number = -1;
    }
    if (auto const* health = std::get_if<NodeHealth>(&event)) {
        if (health->node >= 0 && health->node < node_count()) {
            link(health->node).health_number = health->number;
        }
    }
    if (auto const* failed = std::get_if<RankFailed>(&event)) failed_.insert(failed->rank);
    if (auto const* saved = std::get_if<CheckpointCompleted>(&event)) {
        checkpoint_step_ = std::max(checkpoint_step_, saved->step);
    }
    // No continuation is expected from an agent or a journal with impossible numbers.
    bool const sane = problem_of(event).empty();
    if (auto const* matrix = std::get_if<RankMatrix>(&event); matrix != nullptr && sane) {
        if (matrix->node >= 0 && matrix->node < node_count()) {
            link(matrix->node).next_matrix_step = matrix->step0 + matrix->steps;
        }
    }
    if (auto const* sums = std::get_if<CollectiveSums>(&event); sums != nullptr && sane) {
        if (sums->node >= 0 && sums->node < node_count()) {
            link(sums->node).next_collectives = sums->number + 1;
        }
    }
    if (auto const* notice = std::get_if<RunNotice>(&event)) {
        no_steps_reported_ = no_steps_reported_ || notice->kind == kNoStepsFound;
        std::erase_if(alarms_, [&](RunNotice const& each) {
            return each.kind == notice->kind && each.step == notice->step;
        });
    }
    if (auto const* steps = std::get_if<MergedSteps>(&event)) observe_steps(*steps);
    if (auto const* chunk = std::get_if<MetricChunk>(&event)) {
        observe_steps(merged_steps_of(*chunk));
    }
}

void ControllerCore::Impl::record_alarms() {
    for (auto& each : std::exchange(alarms_, {})) record(std::move(each), false);
}

void ControllerCore::Impl::act(ControllerAction action) {
    actions_.push_back(std::move(action));
}

void ControllerCore::Impl::send(int node, ToAgent message, bool waits) {
    int const connection = link(node).connection;
    if (connection < 0) return;
    auto& action = std::get<SendToAgent>(actions_.emplace_back(std::in_place_type<SendToAgent>));
    action.connection = connection;
    action.message = std::move(message);
    action.waits = waits;
}

void ControllerCore::Impl::close(int connection, std::string why) {
    auto const found = connections_.find(connection);
    if (found == connections_.end()) return;
    bool const known = found->second.node >= 0;
    if (known) link(found->second.node).connection = -1;
    connections_.erase(found);
    act(CloseConnection{connection, std::move(why), known});
}

/// Visits every node. Deadlines only move later until the next call, so the result stays a lower
/// bound.
MonotonicTime ControllerCore::Impl::earliest_deadline() const {
    if (finished_) return kNever;
    MonotonicTime next = std::min(graceful_deadline_, steps_deadline());
    if (inquiry_) next = std::min(next, inquiry_->deadline);
    for (auto const& [id, each] : connections_) {
        if (each.node < 0) next = std::min(next, each.hello_deadline);
    }
    for (int node = 0; node < node_count(); ++node) {
        NodeLink const& each = links_[static_cast<std::size_t>(node)];
        if (each.process == AgentProcess::none) continue;
        bool const up = each.process == AgentProcess::up;
        next = std::min(next, up ? liveness_.deadline(node) : each.process_deadline);
        // Called at least once in every pause that counts, so that the controller recognises its
        // own pause.
        if (up) next = std::min({next, each.stop_deadline, last_call_ + kOwnPause});
    }
    return next;
}

ControllerCore::ControllerCore(ControllerOptions options,
                               std::vector<JournalRecord> const& replayed)
    : impl_(std::make_unique<Impl>(std::move(options), replayed)) {}
ControllerCore::~ControllerCore() = default;
ControllerActions ControllerCore::start(Now now) {
    return impl_->start(now);
}
ControllerActions ControllerCore::handle(Now now, ControllerInput const& input) {
    return impl_->handle(now, input);
}
MonotonicTime ControllerCore::next_deadline() const {
    return impl_->due();
}
RunStatus const& ControllerCore::status() const {
    return impl_->status();
}

}  // namespace osora::daemon
