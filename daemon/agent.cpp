// One thread, one io_context. Inputs are queued, so that an action may cause the next one.
#include "daemon/agent.hpp"

#include "base/descendants.hpp"
#include "base/files.hpp"
#include "daemon/node_facts.hpp"
#include "daemon/workers.hpp"
#include "protocol/message.hpp"

#include <poll.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <cerrno>
#include <csignal>

namespace osora::daemon {
namespace {

constexpr int kStartLimitMs = 10'000;
constexpr std::size_t kStartBytesMax = 64 << 10;
constexpr auto kBackoffMin = std::chrono::milliseconds(50);
constexpr auto kBackoffMax = std::chrono::milliseconds(1000);
constexpr int kExitInternal = 70;

AgentOptions core_options(AgentStart const& start) {
    AgentOptions options;
    options.node = start.node;
    options.token = start.token;
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    options.host = host.data();
    options.boot_id = boot_id();
    options.pid = ::getpid();
    if (auto const self = process_id_of(options.pid); self.has_value()) {
        options.start_ticks = self->start_ticks;
    }
    options.store_host = start.store_host;
    options.exec = start.exec;
    options.facts = node_facts("/");
    auto const lease = std::chrono::duration<double>(start.lease_s);
    options.lease = std::chrono::duration_cast<MonotonicTime>(lease);
    return options;
}

WorkersOptions workers_options(AgentSetup const& setup) {
    return {.run_dir = setup.start.run_dir,
            .worker_program = setup.worker_program,
            .run_uuid = setup.start.run_uuid,
            .node = setup.start.node,
            .exec = setup.start.exec,
            .environment = setup.environment};
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
    void perform(TellWorkers const& action);
    void perform(SignalWorkers const& action);
    void perform(ExitAgent const& action);

    asio::awaitable<void> keep_connected();
    asio::awaitable<void> keep_time();
    asio::awaitable<void> watch_signals();
    void adopt_link(asio::ip::tcp::socket socket);
    void on_signal(int signal);
    void end(int exit_code);

    Env& env_;
    Logger& log_;
    AgentStart start_;
    asio::io_context context_{1};
    TaskGroup tasks_;
    AgentCore core_;
    Workers workers_;
    asio::steady_timer timer_{context_};
    asio::steady_timer link_closed_{context_};  // never expires; cancelled when the link is closed
    std::shared_ptr<FrameConnection> link_;
    std::optional<StorePort> store_;
    std::deque<AgentInput> inputs_;
    bool feeding_ = false;
    int epoch_ = -1;  // newest one that was started
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
      core_(core_options(setup.start), now()),
      workers_(workers_options(setup), tasks_, log,
               [this](AgentInput input) { feed(std::move(input)); }) {
    link_closed_.expires_at(asio::steady_timer::time_point::max());
}

int Agent::run() {
    tasks_.spawn("signals", watch_signals());
    tasks_.spawn("controller", keep_connected());
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
    timer_.cancel();  // keep_time() asks for the next deadline
}

void Agent::feed_one(AgentInput const& input) {
    for (AgentAction const& action : core_.handle(now(), input)) {
        std::visit([this](auto const& each) { perform(each); }, action);
    }
    bool const leaves = signals_ > 0 && core_.workers_alive() == 0 && inputs_.empty();
    if (leaves && !ended_) inputs_.push_back(ControllerSaid{protocol::Dismiss{}});
}

void Agent::perform(SendToController const& action) {
    if (link_) link_->send(protocol::encode_message(action.message));
}

void Agent::perform(BindStore const& action) {
    store_.reset();
    StoreBound answer;
    answer.epoch = action.epoch;
    auto bound = bind_store_port(start_.store_host);
    if (bound.has_error()) {
        answer.error = bound.error().message;
        log_.error("store not bound", {{"why", answer.error}});
    } else {
        answer.port = bound->port;
        store_ = std::move(*bound);
    }
    feed(std::move(answer));
}

void Agent::perform(SpawnWorkers const& action) {
    epoch_ = action.launch.epoch;
    workers_.start(action.launch, std::exchange(store_, std::nullopt));
}

void Agent::perform(TellWorkers const& action) {
    workers_.tell(action.message);
}

void Agent::perform(SignalWorkers const& action) {
    workers_.signal(action.signal);
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

asio::awaitable<void> Agent::keep_connected() {
    boost::system::error_code bad_address;
    auto const address = asio::ip::make_address(start_.address, bad_address);
    asio::ip::tcp::endpoint const endpoint(address, static_cast<std::uint16_t>(start_.port));
    asio::steady_timer pause(context_);
    auto backoff = kBackoffMin;
    while (true) {
        asio::ip::tcp::socket socket(context_);
        auto const [error] = co_await socket.async_connect(endpoint, kToken);
        if (!error) {
            adopt_link(std::move(socket));
            co_await link_closed_.async_wait(kToken);
            backoff = kBackoffMin;
        }
        // Half of it is jitter: many agents must not come back in step.
        auto const jitter =
            std::chrono::milliseconds(env_.random() % 1000) * backoff.count() / 2000;
        pause.expires_after(backoff / 2 + jitter);
        backoff = std::min(backoff * 2, kBackoffMax);
        co_await pause.async_wait(kToken);
    }
}

void Agent::adopt_link(asio::ip::tcp::socket socket) {
    boost::system::error_code ignored;
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    link_ = std::make_shared<FrameConnection>(std::move(socket), tasks_, "controller");
    auto on_frame = [this](std::string const& frame) {
        auto message = protocol::decode_message<protocol::ToAgent>(frame);
        if (message.has_error()) return link_->close(message.error().message);
        feed(ControllerSaid{std::move(*message)});
    };
    auto on_closed = [this](Error const& why) {
        log_.warning("controller disconnected", {{"why", why.message}});
        link_.reset();
        feed(ControllerDisconnected{});
        link_closed_.cancel();
    };
    link_->start({.on_frame = std::move(on_frame), .on_closed = std::move(on_closed)});
    feed(ControllerConnected{});
}

asio::awaitable<void> Agent::watch_signals() {
    asio::signal_set signals(context_, SIGTERM, SIGINT);
    while (true) {
        auto const [error, signal] = co_await signals.async_wait(kToken);
        if (!error) on_signal(signal);
    }
}

/// Usually the controller is gone: SIGTERM is what its death sends.
void Agent::on_signal(int signal) {
    log_.warning("asked to end", {{"signal", signal}});
    ++signals_;
    protocol::StopEpoch stop;
    stop.epoch = epoch_;
    stop.how = signals_ == 1 ? protocol::StopHow::checkpoint : protocol::StopHow::terminate;
    stop.reason = "the controller is gone";
    feed(ControllerSaid{std::move(stop)});
}

}  // namespace

Result<AgentStart> read_agent_start(int fd) {
    std::string text;
    std::array<char, 4096> buffer{};
    while (true) {
        pollfd waited{.fd = fd, .events = POLLIN, .revents = 0};
        int const ready = ::poll(&waited, 1, kStartLimitMs);
        if (ready == 0) return Error{Errc::timed_out, "no instructions on standard input"};
        ssize_t const got = ::read(fd, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_error(errno, "read", "standard input");
        if (got == 0) break;
        text.append(buffer.data(), static_cast<std::size_t>(got));
        if (text.size() > kStartBytesMax) {
            return Error{Errc::invalid_input, "standard input: more than an agent needs to know"};
        }
    }
    auto start = protocol::decode<AgentStart>(text);
    if (start.has_error()) return std::move(start).error().in("standard input");
    return start;
}

int run_agent(AgentSetup setup, Env& env, Logger& log) {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
    become_subreaper();
    Agent agent(setup, env, log);
    return agent.run();
}

}  // namespace osora::daemon
