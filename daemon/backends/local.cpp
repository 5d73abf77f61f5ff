// An agent gets SIGTERM when the controller dies, and then ends its workers itself (unless it is to
// wait for the next controller); workers get SIGKILL when their agent dies. Orphans of both are
// searched for before an end is reported.
#include "daemon/backends/local.hpp"

#include "base/files/files.hpp"
#include "base/text/seconds.hpp"
#include "daemon/net/frame_connection.hpp"
#include "daemon/process/process_end.hpp"
#include "protocol/json.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <cerrno>

namespace osora::daemon {
namespace {

/// A pipe that holds `text` and whose write end is already closed.
Result<Descriptor> pipe_with(std::string_view text) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return file_error(errno, "pipe", "agent");
    Descriptor reading(ends[0]);
    Descriptor const writing(ends[1]);
    ::fcntl(writing.get(), F_SETFL, O_NONBLOCK);
    if (::write(writing.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        return file_error(errno, "write", "pipe to the agent");
    }
    return reading;
}

/// The agent's log; where it cannot be opened (a full disk) the agent runs without.
Descriptor open_log(std::filesystem::path const& path) {
    auto file = open_private(path, O_WRONLY | O_APPEND);
    if (file.has_value()) return std::move(*file);
    return Descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
}

}  // namespace

LocalBackend::LocalBackend(LocalOptions options, TaskGroup& tasks, Logger& log, OnExited on_exited)
    : options_(std::move(options)), tasks_(tasks), log_(log), on_exited_(std::move(on_exited)) {
    set_variable(options_.environment, kRunMark, options_.start.run_uuid);
}

void LocalBackend::set_address(AgentAddress const& address) {
    options_.start.controller = address;
}

Result<Child> LocalBackend::spawn_agent(StartAgent const& order) const {
    AgentStart start = options_.start;
    int const node = start.node = order.node;
    start.agent_number = order.agent_number;
    OSORA_TRY(Descriptor const input, pipe_with(protocol::encode(start)));
    auto const log_name = fmt::format("agent-{}.log", node);
    Descriptor const log = open_log(std::filesystem::path(start.run_dir) / log_name);
    SpawnOptions spawned{.program = options_.osorad,
                         .arguments = {"agent"},
                         .environment = options_.environment,
                         .working_directory = "/",
                         .descriptors = {{input.get(), STDIN_FILENO},
                                         {log.get(), STDOUT_FILENO},
                                         {log.get(), STDERR_FILENO}},
                         .death_signal = options_.outlive ? 0 : SIGTERM,
                         .new_session = options_.outlive};
    set_variable(spawned.environment, kNodeMark, std::to_string(node));
    return spawn(spawned);
}

void LocalBackend::start_agent(StartAgent const& order) {
    auto child = spawn_agent(order);
    if (child.has_error()) {
        log_.error("cannot start agent", {{"node", order.node}, {"why", child.error().message}});
        AgentExited exited;
        exited.node = order.node;
        exited.agent_number = order.agent_number;
        exited.error = child.error().message;
        tasks_.spawn("report agent", report(std::move(exited)));
        return;
    }
    log_.info("agent started", {{"node", order.node}, {"pid", child->id.pid}});
    agents_[order.node] = child->id;
    tasks_.spawn(fmt::format("agent {}", order.node),
                 watch(order.node, order.agent_number, std::move(*child)));
}

void LocalBackend::stop_agent(StopAgent const& order) {
    if (auto const found = agents_.find(order.node); found != agents_.end()) {
        signal_process(found->second, SIGKILL);  // watch() reports its end
        return;
    }
    tasks_.spawn("end an earlier agent", end_stranger(order));
}

std::vector<int> LocalBackend::living() const {
    std::vector<int> pids;
    if (options_.spared) pids = options_.spared();
    for (auto const& [node, id] : agents_) pids.push_back(id.pid);
    return pids;
}

OrphanScope LocalBackend::orphans_of(int node) const {
    return {options_.start.run_uuid, node, [this] { return living(); }};
}

asio::awaitable<void> LocalBackend::report(AgentExited exited) {
    co_await asio::post(asio::use_awaitable);
    on_exited_(std::move(exited));
}

asio::awaitable<void> LocalBackend::watch(int node, int agent_number, Child child) {
    std::function<void()> const nothing = [] {};
    ExitStatus const status = co_await wait_and_reap(std::move(child), nothing);
    agents_.erase(node);
    log_.info("agent ended", {{"node", node}, {"how", describe(status)}});
    OrphanScope const scope = orphans_of(node);
    AgentExited exited;
    exited.node = node;
    exited.agent_number = agent_number;
    exited.exit_code = status.exit_code;
    exited.signal = status.signal;
    exited.processes_left = co_await end_orphans(scope, options_.stop_limit_s);
    on_exited_(std::move(exited));
}

asio::awaitable<void> LocalBackend::end_stranger(StopAgent order) {
    ProcessId const stranger{.pid = order.pid, .start_ticks = order.start_ticks};
    asio::steady_timer timer(co_await asio::this_coro::executor);
    double const limit_s = options_.outlive ? 0 : options_.lease_end_s;
    auto const end =
        asio::steady_timer::clock_type::now() + duration_of<asio::steady_timer::duration>(limit_s);
    // An agent that has lost its controller for good is saving a checkpoint and will end by itself.
    while (order.boot_id == boot_id() && is_alive(stranger)) {
        if (asio::steady_timer::clock_type::now() >= end) signal_process(stranger, SIGKILL);
        timer.expires_after(std::chrono::milliseconds(20));
        co_await timer.async_wait(kToken);
    }
    OrphanScope const scope = orphans_of(order.node);
    AgentExited exited;
    exited.node = order.node;
    exited.agent_number = order.agent_number;
    exited.processes_left = co_await end_orphans(scope, options_.stop_limit_s);
    on_exited_(std::move(exited));
}

}  // namespace osora::daemon
