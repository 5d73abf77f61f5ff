// One thread for decisions; the syncs of the journal and the ingests of the history have a thread
// each. Inputs are queued because an action may cause the next input.
#include "daemon/controller/controller.hpp"

#include "base/ids.hpp"
#include "base/process/descendants.hpp"
#include "base/text/utf8.hpp"
#include "daemon/controller/stop_request.hpp"
#include "daemon/journal/history_feed.hpp"
#include "daemon/journal/journal_queue.hpp"
#include "daemon/net/control_server.hpp"
#include "daemon/net/listen_for_agents.hpp"
#include "daemon/notify/notifier.hpp"
#include "daemon/process/orphans.hpp"
#include "protocol/exit_codes.hpp"
#include "protocol/notice_kinds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/describe/enum_to_string.hpp>

#include <csignal>
#include <deque>

namespace osora::daemon {
namespace {

constexpr double kOrphanLimit_s = 2;
constexpr int kDurableLooks = 200;  // 10 ms each

class Controller {
public:
    Controller(ControllerSetup setup, Env& env, Logger& log);
    [[nodiscard]] Result<int> run();

private:
    [[nodiscard]] Now now() const { return {env_.now(), env_.wall_us()}; }
    [[nodiscard]] AgentListenOptions door() const;
    void end_dead_agents();
    void feed(ControllerInput input);
    void perform_all(ControllerActions actions);
    void perform(AppendRecord action);
    void perform(SendToAgent action);
    void perform(CloseConnection action);
    void perform(StartAgent action) { order(&Backend::start_agent, action); }
    void perform(StopAgent action) { order(&Backend::stop_agent, std::move(action)); }
    void perform(BlameHost action) { order(&Backend::blame_host, std::move(action)); }
    void perform(Finish action);
    template <class Action>
    void order(void (Backend::*method)(Action const&), Action action) {
        journal_.then([=, this, action = std::move(action)] { ((*backend_).*method)(action); });
    }

    void note(protocol::RunNotice notice);
    void journal_failed(Error const& error);
    void metrics_lost(Error const& error);
    void history_failed(Error const& error);
    [[nodiscard]] protocol::ControlReply command(protocol::ToController const& message);
    [[nodiscard]] protocol::ControlReply relaunch(protocol::ControlRelaunch asked);
    asio::awaitable<void> keep_time();
    asio::awaitable<void> watch_signals();
    asio::awaitable<void> watch_lifeline();
    asio::awaitable<void> finish(Finish action);
    asio::awaitable<void> notify_end();
    void notify_if_slower();
    void write_final_record(Finish const& action);
    void end(int exit_code);

    Env& env_;
    Logger& log_;
    ControllerSetup setup_;
    asio::io_context context_{1};
    TaskGroup tasks_;
    ControllerCore core_;
    AgentServer agents_;
    ControlServer commands_;
    std::unique_ptr<Backend> backend_;  // set by run()
    asio::steady_timer timer_{context_};
    std::deque<ControllerInput> inputs_;
    bool feeding_ = false;
    bool ended_ = false;
    int exit_code_ = 0;
    JournalQueue journal_;
    HistoryFeed history_;
    Notifier notifier_;
    MetricsServer metrics_;
};

Controller::Controller(ControllerSetup setup, Env& env, Logger& log)
    : env_(env),
      log_(log),
      setup_(std::move(setup)),
      tasks_(context_.get_executor(),
             [this](std::string_view task, std::string_view what) {
                 log_.error("task failed", {{"task", task}, {"what", what}});
                 end(kExitInternal);
             }),
      core_(setup_.core, setup_.replayed),
      agents_(tasks_, log, [this](ControllerInput input) { feed(std::move(input)); }),
      commands_(tasks_, log,
                [this](protocol::ToController const& message) { return command(message); }),
      journal_(context_.get_executor(), *setup_.journal, env,
               {.on_failed = [this](Error const& error) { journal_failed(error); },
                .on_lossy = [this](Error const& error) { metrics_lost(error); }}),
      history_(tasks_, setup_.paths, setup_.ingest,
               [this](Error const& error) { history_failed(error); }),
      notifier_(setup_.notify, tasks_,
                [this](protocol::RunNotice notice) {
                    log_.log(notice.severity == "info" ? LogLevel::info : LogLevel::warning,
                             "notification", {{"what", notice.detail}});
                    note(std::move(notice));
                }),
      metrics_(setup_.metrics, tasks_) {
    for (auto const& record : setup_.replayed) {
        if (notifier_.is_on()) notifier_.occasions().replay(record);
        metrics_.take(record);
    }
    setup_.replayed = {};
    setup_.backend.spared = [this] { return notifier_.running(); };
}

Result<int> Controller::run() {
    OSORA_TRY_VOID(
        commands_.listen(setup_.paths, setup_.core.submission.run_uuid, setup_.runtime_dir));
    OSORA_TRY(backend_, make_backend(setup_.backend, tasks_, log_,
                                     [this](AgentExited exited) { feed(std::move(exited)); }));
    BackendTraits const& traits = setup_.backend.traits;
    OSORA_TRY(auto const address, listen_for_agents(agents_, setup_.paths, door()));
    backend_->set_address(address);
    log_.info("listening", {{"agents_port", address.port},
                            {"addresses", fmt::format("{}", fmt::join(address.addresses, " "))},
                            {"tls", !address.fingerprint.empty()},
                            {"control", commands_.path().string()}});
    tasks_.spawn("signals", watch_signals());
    auto on_stop = [this](protocol::ControlStop const& stop) { (void)command(stop); };
    tasks_.spawn("stop requests", watch_stop_requests(setup_.paths, std::move(on_stop)));
    auto on_relaunch = [this](protocol::ControlRelaunch const& asked) { (void)command(asked); };
    tasks_.spawn("relaunch requests",
                 watch_relaunch_requests(setup_.paths, std::move(on_relaunch)));
    if (setup_.lifeline_fd >= 0) tasks_.spawn("lifeline", watch_lifeline());
    history_.start();
    if (traits.outlive && !traits.other_hosts) end_dead_agents();
    perform_all(core_.start(now()));
    for (auto& notice : setup_.notices) note(std::move(notice));
    if (auto served = metrics_.start(log_)) note(std::move(*served));
    tasks_.spawn("timer", keep_time());
    context_.run();
    return exit_code_;
}

/// Agents on this machine that ended while no controller ran need not be waited for.
void Controller::end_dead_agents() {
    auto const& nodes = core_.status().nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        protocol::NodeStatus const& node = nodes[i];
        ProcessId const agent{.pid = node.agent_pid, .start_ticks = node.agent_start_ticks};
        bool const lives = node.boot_id == setup_.core.boot_id && is_alive(agent);
        if (!node.joined || lives) continue;
        backend_->stop_agent({static_cast<int>(i), 0, node.boot_id, agent.pid, agent.start_ticks});
    }
}

AgentListenOptions Controller::door() const {
    BackendTraits const& traits = setup_.backend.traits;
    AgentListenOptions door;
    door.everywhere = traits.other_hosts || setup_.open_to_others;
    door.tls = traits.needs_tls() || setup_.open_to_others;
    door.wanted_port = setup_.wanted_port;
    ControllerOptions const& core = setup_.core;
    door.file.run_uuid = core.submission.run_uuid;
    door.file.token = core.token;
    door.file.host = core.host;
    door.file.boot_id = core.boot_id;
    door.file.pid = core.pid;
    if (auto const self = process_id_of(core.pid); self.has_value()) {
        door.file.start_ticks = self->start_ticks;
    }
    door.file.incarnation = core_.status().incarnations;
    return door;
}

void Controller::end(int exit_code) {
    if (ended_) return;
    ended_ = true;
    exit_code_ = exit_code;
    context_.stop();
}

void Controller::feed(ControllerInput input) {
    inputs_.push_back(std::move(input));
    if (feeding_) return;
    feeding_ = true;
    while (!inputs_.empty()) {
        ControllerInput const next = std::move(inputs_.front());
        inputs_.pop_front();
        perform_all(core_.handle(now(), next));
    }
    feeding_ = false;
    timer_.cancel();  // makes keep_time() read the next deadline
}

void Controller::perform_all(ControllerActions actions) {
    for (ControllerAction& action : actions) {
        std::visit([this](auto& each) { perform(std::move(each)); }, action);
    }
}

void Controller::perform(AppendRecord action) {
    std::optional<NotifyMessage> message;
    if (notifier_.is_on()) message = notifier_.occasions().take(action.record);
    metrics_.take(action.record);
    journal_.append(std::move(action.record), action.sync);
    if (message) journal_.then([this, message] { notifier_.send(*message); });
}

void Controller::perform(SendToAgent action) {
    if (!action.waits) return agents_.send(action.connection, action.message);
    journal_.then(
        [this, action = std::move(action)] { agents_.send(action.connection, action.message); });
}

void Controller::perform(CloseConnection action) {
    if (!action.waits) return agents_.close(action.connection, std::move(action.why));
    journal_.then(
        [this, action = std::move(action)] { agents_.close(action.connection, action.why); });
}

void Controller::perform(Finish action) {
    journal_.then([this, action = std::move(action)] { tasks_.spawn("finish", finish(action)); });
}

/// No process of this run may survive, whoever started it; then the history gets the whole journal.
asio::awaitable<void> Controller::finish(Finish action) {
    OrphanScope const scope{setup_.core.submission.run_uuid, -1,
                            [this] { return notifier_.running(); }};
    int const left = co_await end_orphans(scope, kOrphanLimit_s);
    if (left > 0) log_.error("processes still run", {{"count", left}});
    if (journal_.has_failed()) write_final_record(action);
    std::error_code ignored;
    std::filesystem::remove(setup_.paths.controller_file(), ignored);
    co_await history_.finish();
    co_await notify_end();
    bool const bad = action.exit_code != 0;
    log_.log(bad ? LogLevel::warning : LogLevel::info, "run ended",
             {{"exit_code", action.exit_code}, {"why", action.message}});
    end(action.exit_code);
}

/// The last messages, and what became of them into the journal and the history.
asio::awaitable<void> Controller::notify_end() {
    if (!notifier_.is_on()) co_return;
    if (auto const due = notifier_.occasions().due()) notifier_.send(*due);
    notify_if_slower();
    co_await notifier_.wait();
    if (notifier_.recorded() == 0) co_return;
    OrphanScope const scope{setup_.core.submission.run_uuid, -1, {}};
    (void)co_await end_orphans(scope, kOrphanLimit_s);  // what a program left in another session
    auto const durable = std::make_shared<bool>(false);
    journal_.then([durable] { *durable = true; });
    asio::steady_timer timer(context_);
    for (int i = 0; i < kDurableLooks && !*durable; ++i) {
        timer.expires_after(std::chrono::milliseconds(10));
        co_await timer.async_wait(kToken);
    }
    co_await history_.finish();
}

void Controller::notify_if_slower() {
    auto& occasions = notifier_.occasions();
    if (!setup_.ask_series || !occasions.wants_regression()) return;
    auto const& run = setup_.core.submission;
    auto const slower = setup_.ask_series(setup_.paths, setup_.notify.series, run.number);
    if (slower.has_error()) {
        if (slower.error().code == Errc::not_found) return;
        return note(
            protocol::make_notice(protocol::kNotificationFailed,
                                  "notification failed: regression: " + slower.error().message));
    }
    if (!*slower) return;
    auto const& [state, reason] = **slower;
    if (auto const message = occasions.regression(state, reason, env_.wall_us()))
        notifier_.send(*message);
}

/// The core records nothing any more; the reserve may still hold the end.
void Controller::write_final_record(Finish const& action) {
    protocol::RunEnded ended;
    ended.verdict = protocol::Verdict::internal;
    ended.exit_code = action.exit_code;
    ended.cause = action.message;
    protocol::JournalRecord record{0, env_.wall_us(), std::move(ended)};
    if (notifier_.is_on()) {
        if (auto const message = notifier_.occasions().take(record)) notifier_.send(*message);
    }
    journal_.append(std::move(record), false);
    (void)setup_.journal->sync();
}

void Controller::journal_failed(Error const& error) {
    log_.error("cannot write the journal: stopping the run", {{"why", error.message}});
    bool const full = error.code == Errc::out_of_space;
    feed(JournalFailed{full ? "no space left on device" : error.message});
}

void Controller::metrics_lost(Error const& error) {
    log_.error("the run continues without metrics", {{"why", error.message}});
    note(protocol::make_notice("metrics_lost", error.message));
}

void Controller::history_failed(Error const& error) {
    log_.warning("cannot update history.db", {{"why", error.message}});
    // Nothing is recorded after the run's end.
    if (core_.status().state == protocol::RunState::done) return;
    note(protocol::make_notice("history_behind", error.message));
}

/// A notice by the controller shell; it changes no state, so the core need not know it.
void Controller::note(protocol::RunNotice notice) {
    notice.attempt = core_.status().attempt;
    protocol::JournalRecord record{0, env_.wall_us(), std::move(notice)};
    metrics_.take(record);
    journal_.append(std::move(record), true);
}

protocol::ControlReply Controller::command(protocol::ToController const& message) {
    auto const& status = core_.status();
    std::string const state = boost::describe::enum_to_string(status.state, "?");
    if (std::holds_alternative<protocol::ControlPing>(message)) return {true, state};
    if (auto const* asked = std::get_if<protocol::ControlRelaunch>(&message)) {
        return relaunch(*asked);
    }
    auto stop = std::get<protocol::ControlStop>(message);
    if (status.state == protocol::RunState::done) return {false, "the run is over"};
    if (stop.reason.empty()) stop.reason = "requested by osora";
    feed(StopAsked{stop.now, std::move(stop.reason), stop.by_user});
    return {true, "stopping"};
}

protocol::ControlReply Controller::relaunch(protocol::ControlRelaunch asked) {
    auto const& status = core_.status();
    if (status.state == protocol::RunState::done) return {false, "the run is over"};
    if (status.state == protocol::RunState::finishing) {
        bool const ok = status.verdict == protocol::Verdict::ok;
        return {false, ok ? "the run has done its last step" : "the run is stopping"};
    }
    int const attempt = status.attempt;
    // Otherwise a launch is about to come anyway.
    bool const taken = protocol::takes_relaunch(status, asked.now);
    for (std::string* text : {&asked.user, &asked.reason}) {
        shorten_utf8(*text, protocol::kRelaunchTextMax);
    }
    feed(AskedRelaunch{asked.now, std::move(asked.user), std::move(asked.reason)});
    return {true, taken ? "stopping" : "launching", attempt};
}

asio::awaitable<void> Controller::keep_time() {
    while (true) {
        timer_.expires_at(asio::steady_timer::time_point(core_.next_deadline()));
        auto const [error] = co_await timer_.async_wait(kToken);
        if (!error) feed(Tick{});
    }
}

asio::awaitable<void> Controller::watch_signals() {
    asio::signal_set signals(context_, SIGTERM, SIGINT);
    int received = 0;
    while (true) {
        auto const [error, signal] = co_await signals.async_wait(kToken);
        auto reason = fmt::format("signal {} ({})", signal, strsignal(signal));
        if (!error) feed(StopAsked{received++ > 0, std::move(reason), false});
    }
}

asio::awaitable<void> Controller::watch_lifeline() {
    asio::posix::stream_descriptor lifeline(context_, setup_.lifeline_fd);
    std::array<char, 64> ignored{};
    auto const buffer = asio::buffer(ignored);
    while (true) {
        auto const [error, got] = co_await lifeline.async_read_some(buffer, kToken);
        if (error) break;
    }
    log_.warning("the attached osora went away");
    feed(ClientGone{});
}

}  // namespace

Result<int> run_controller(ControllerSetup setup, Env& env, Logger& log) {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
    become_subreaper();
    Controller controller(std::move(setup), env, log);
    return controller.run();
}

}  // namespace osora::daemon
