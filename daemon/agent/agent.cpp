// One thread, one io_context. Inputs are queued because an action may cause the next input.
#include "daemon/agent/agent.hpp"

#include "base/host_name.hpp"
#include "base/process/descendants.hpp"
#include "base/text/seconds.hpp"
#include "daemon/agent/controller_link.hpp"
#include "daemon/agent/file_spill.hpp"
#include "daemon/agent/workers.hpp"
#include "daemon/controller/stop_request.hpp"
#include "daemon/node/health_sampler.hpp"
#include "daemon/node/node_facts.hpp"
#include "daemon/node/node_profile.hpp"
#include "daemon/node/preflight.hpp"
#include "protocol/exit_codes.hpp"

#include <sys/prctl.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <csignal>
#include <deque>
#include <filesystem>

namespace osora::daemon {
namespace {

AgentOptions agent_options(AgentSetup const& setup, std::int64_t wall_us) {
    AgentStart const& start = setup.start;
    AgentOptions options;
    options.node = start.node;
    options.agent_number = start.agent_number;
    options.token = start.token;
    options.host = host_name();
    options.boot_id = boot_id();
    options.pid = ::getpid();
    if (auto const self = process_id_of(options.pid); self.has_value()) {
        options.start_ticks = self->start_ticks;
    }
    options.exec = start.exec;
    options.facts = node_facts("/");
    PreflightOptions looked;
    looked.worker_program = setup.worker_program;
    looked.environment = setup.environment;
    looked.node = start.node;
    looked.wall_us = wall_us;
    options.facts["preflight"] = preflight_fact(start.run_dir, std::move(looked));
    options.lease = duration_of<MonotonicTime>(start.lease_s);
    // NVML reports Xids from the first sample on, and later samples show GPUs that are gone.
    std::error_code none;
    if (std::filesystem::exists("/dev/nvidiactl", none)) options.health_first = {};
    return options;
}

WorkersOptions workers_options(AgentSetup const& setup) {
    return {.run_dir = setup.start.run_dir,
            .worker_program = setup.worker_program,
            .run_uuid = setup.start.run_uuid,
            .node = setup.start.node,
            .exec = setup.start.exec,
            .environment = setup.environment,
            .host = node_name(setup.environment)};
}

/// A local agent gets a signal when its controller dies; `parent` was its controller.
bool has_lost_controller(::pid_t parent) {
    int signal = 0;
    ::prctl(PR_GET_PDEATHSIG, &signal);
    return signal != 0 && ::getppid() != parent;
}

class Agent {
public:
    Agent(AgentSetup const& setup, Env& env, Logger& log);
    int run();

private:
    [[nodiscard]] Now now() const { return {env_.now(), env_.wall_us()}; }
    void feed(AgentInput input);
    void feed_one(AgentInput const& input);

    void perform(SendToController const& action);
    void perform(BindStore const& action);
    void perform(SpawnWorkers const& action);
    void perform(SendToWorkers const& action);
    void perform(SignalWorkers const& action);
    void perform(TakeStacksOf const& action);
    void perform(SampleHealth const& action);
    void perform(ExitAgent const& action);

    asio::awaitable<void> keep_time();
    asio::awaitable<void> watch_signals();
    [[nodiscard]] ControllerLink::Handlers link_handlers();
    void on_signal(int signal);
    void end(int exit_code);

    ::pid_t const parent_ = ::getppid();
    Env& env_;
    Logger& log_;
    AgentStart start_;
    asio::io_context context_{1};
    TaskGroup tasks_;
    FileSpill spill_;
    AgentCore core_;
    Workers workers_;
    HealthSampler sampler_;
    asio::steady_timer timer_{context_};
    ControllerLink link_;
    std::optional<StorePort> store_;
    std::deque<AgentInput> inputs_;
    bool feeding_ = false;
    int attempt_ = -1;  // the newest attempt that was started
    int signals_ = 0;
    bool ended_ = false;
    int exit_code_ = 0;
};

Agent::Agent(AgentSetup const& setup, Env& env, Logger& log)
    : env_(env),
      log_(log),
      start_(setup.start),
      tasks_(context_.get_executor(),
             [this](std::string_view task, std::string_view what) {
                 log_.error("task failed", {{"task", task}, {"what", what}});
                 end(kExitInternal);
             }),
      spill_(variable_or(setup.environment, "TMPDIR", "/tmp")),
      core_(agent_options(setup, env.wall_us()), now(), &spill_),
      workers_(workers_options(setup), tasks_, log,
               [this](AgentInput input) { feed(std::move(input)); }),
      sampler_({.run_dir = start_.run_dir}, context_.get_executor(),
               [this](protocol::NodeHealth health) { feed(HealthSampled{std::move(health)}); }),
      link_(start_, tasks_, env, log, link_handlers()) {}

ControllerLink::Handlers Agent::link_handlers() {
    return {.on_connected = [this] { feed(ControllerConnected{}); },
            .on_message =
                [this](protocol::ToAgent message) { feed(ControllerSaid{std::move(message)}); },
            .on_disconnected = [this] { feed(ControllerDisconnected{}); }};
}

int Agent::run() {
    tasks_.spawn("signals", watch_signals());
    tasks_.spawn("controller", link_.run());
    tasks_.spawn("timer", keep_time());
    context_.run();
    return exit_code_;
}

void Agent::end(int exit_code) {
    if (ended_) return;
    ended_ = true;
    exit_code_ = exit_code;
    context_.stop();
}

void Agent::feed(AgentInput input) {
    inputs_.push_back(std::move(input));
    if (feeding_) return;
    feeding_ = true;
    while (!inputs_.empty() && !ended_) {
        AgentInput const next = std::move(inputs_.front());
        inputs_.pop_front();
        feed_one(next);
    }
    feeding_ = false;
    timer_.cancel();  // makes keep_time() read the next deadline
}

void Agent::feed_one(AgentInput const& input) {
    for (AgentAction const& action : core_.handle(now(), input)) {
        std::visit([this](auto const& each) { perform(each); }, action);
    }
    bool const leaves = signals_ > 0 && core_.workers_alive() == 0 && inputs_.empty();
    if (leaves && !ended_) inputs_.push_back(ControllerSaid{protocol::Dismiss{}});
}

void Agent::perform(SendToController const& action) {
    link_.send(action.message);
}

void Agent::perform(BindStore const& action) {
    store_.reset();
    StoreBound answer;
    answer.attempt = action.attempt;
    answer.host = start_.store_host.empty() ? link_.local_address() : start_.store_host;
    auto bound = bind_store_port(answer.host);
    if (bound.has_error()) {
        answer.error = bound.error().message;
        log_.error("cannot bind the store's port", {{"why", answer.error}});
    } else {
        answer.port = bound->port;
        store_ = std::move(*bound);
    }
    feed(std::move(answer));
}

void Agent::perform(SpawnWorkers const& action) {
    attempt_ = action.launch.attempt;
    workers_.start(action.launch, std::exchange(store_, std::nullopt));
}

void Agent::perform(SendToWorkers const& action) {
    workers_.tell(action.message);
}

void Agent::perform(SignalWorkers const& action) {
    workers_.signal(action.signal);
}

void Agent::perform(TakeStacksOf const& action) {
    workers_.take_stacks(action.attempt, action.limit_s);
}

void Agent::perform(SampleHealth const&) {
    sampler_.sample();
}

void Agent::perform(ExitAgent const& action) {
    log_.info("agent exits", {{"why", action.message}, {"code", action.exit_code}});
    end(action.exit_code);
}

asio::awaitable<void> Agent::keep_time() {
    while (true) {
        MonotonicTime const next = core_.next_deadline();
        timer_.expires_at(asio::steady_timer::time_point(next));
        auto const [error] = co_await timer_.async_wait(kToken);
        if (!error) feed(AgentTick{});
    }
}

asio::awaitable<void> Agent::watch_signals() {
    asio::signal_set signals(context_, SIGTERM, SIGINT);
    while (true) {
        auto const [error, signal] = co_await signals.async_wait(kToken);
        if (!error) on_signal(signal);
    }
}

/// Slurm may signal only the steps of a job when it preempts or cancels the job, so this agent
/// writes a stop request and the controller stops the run gracefully. If the controller has died,
/// its death sends SIGTERM too.
void Agent::on_signal(int signal) {
    log_.warning("received a signal to end", {{"signal", signal}});
    if (start_.in_job) {
        if (start_.node != 0) return;  // one request is enough
        auto const asked = write_stop_request(
            {start_.run_dir},
            {.now = signals_++ > 0, .reason = "Slurm asked the job to end", .by_user = false});
        if (asked.has_error())
            log_.error("cannot write stop request", {{"why", asked.error().message}});
        return;
    }
    ++signals_;
    protocol::StopAttempt stop;
    stop.attempt = attempt_;
    stop.how = signals_ == 1 ? protocol::StopHow::checkpoint : protocol::StopHow::terminate;
    stop.reason = "the controller is gone";
    feed(ControllerSaid{std::move(stop)});
    if (has_lost_controller(parent_)) feed(ControllerDied{});
}

}  // namespace

int run_agent(AgentSetup setup, Env& env, Logger& log) {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
    become_subreaper();
    if (!setup.profile_folder.empty()) {
        leave_profile(setup.profile_folder, setup.start.run_dir, node_name(setup.environment), log);
    }
    Agent agent(setup, env, log);
    return agent.run();
}

}  // namespace osora::daemon
