// srun keeps running when the controller dies: a later incarnation adopts the agents, and then sees
// their ends as silence. So srun's messages go to a memory file that it holds itself, never to a
// pipe of the controller.
#include "daemon/backends/slurm/slurm_backend.hpp"

#include "daemon/backends/slurm/remote_command.hpp"
#include "daemon/backends/slurm/sweep.hpp"
#include "daemon/net/frame_connection.hpp"
#include "daemon/process/orphans.hpp"
#include "protocol/json.hpp"
#include "slurm/agent_step.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

namespace osora::daemon {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(25);
constexpr auto kOwnEndLimit = std::chrono::milliseconds(500);
constexpr int kSilent = slurm::Placement::kBad;

}  // namespace

SlurmBackend::SlurmBackend(SlurmOptions options, TaskGroup& tasks, Logger& log, OnExited on_exited)
    : options_(std::move(options)),
      tasks_(tasks),
      log_(log),
      on_exited_(std::move(on_exited)),
      placement_(options_.placement) {
    slurm::remove_step_shape(options_.environment);
    // The submitter may itself be a rank of another run.
    remove_variable(options_.environment, kRunMark);
    remove_variable(options_.environment, kNodeMark);
    // osora's plug-in in srun (docs/rfc/003) would take an agent for a rank, and bind it to a
    // rank's cores.
    set_variable(options_.environment, "OSORA_SRUN_OFF", "1");
}

void SlurmBackend::set_address(AgentAddress const& address) {
    options_.start.controller = address;
}

void SlurmBackend::fault(std::string const& host, int weight, std::string const& cause) {
    if (host.empty()) return;
    placement_.fault(host, weight);
    report_fault({host, cause, weight}, options_.on_fault, log_);
}

void SlurmBackend::start_agent(StartAgent const& order) {
    if (gathered_.empty()) tasks_.spawn("launch", launch_gathered());
    gathered_.push_back(order);
}

/// The orders of one decision: a single step when they cover every node of the run.
asio::awaitable<void> SlurmBackend::launch_gathered() {
    co_await asio::post(asio::use_awaitable);
    std::vector<StartAgent> orders = std::exchange(gathered_, {});
    std::vector<StartAgent> placed;
    for (StartAgent const& order : orders) {
        auto const host = placement_.place(order.node);
        if (host.has_value()) {
            placed.push_back(order);
            agents_[order.node] = {order.agent_number, *host};
            continue;
        }
        AgentExited exited;
        exited.node = order.node;
        exited.agent_number = order.agent_number;
        exited.error = host.error().message;
        on_exited_(std::move(exited));
    }
    std::ranges::sort(placed, {}, &StartAgent::node);
    bool const whole = static_cast<int>(placed.size()) == options_.placement.nodes;
    if (whole && placement_.is_in_order()) {
        launch(placed, "agent-%n.log");
        co_return;
    }
    for (StartAgent const& order : placed) {
        launch({order}, fmt::format("agent-{}.log", order.node));
    }
}

void SlurmBackend::launch(std::vector<StartAgent> const& orders, std::string const& log_name) {
    auto step = spawn_step(orders, log_name);
    if (step.has_value()) {
        log_.info("step started", {{"agents", orders.size()}, {"pid", step->child.id.pid}});
        auto shared = std::make_shared<Step>(std::move(*step));
        tasks_.spawn("step", watch(std::move(shared)));
        return;
    }
    log_.error("cannot start step", {{"why", step.error().message}});
    for (StartAgent const& order : orders) {
        slurm::TaskEnd const never{{}, 1, 0};
        ended(order.node, order.agent_number, never, step.error().message);
    }
}

Result<SlurmBackend::Step> SlurmBackend::spawn_step(std::vector<StartAgent> const& orders,
                                                    std::string const& log_name) const {
    slurm::AgentStep shape{.job_id = options_.job_id,
                           .hosts = {},
                           .osorad = options_.osorad,
                           .run_dir = options_.start.run_dir,
                           .container = options_.container,
                           .log_name = log_name};
    Step step;
    for (StartAgent const& order : orders) {
        shape.hosts.push_back(placement_.host_of(order.node));
        step.agents.emplace_back(order.node, order.agent_number);
    }
    AgentStart start = options_.start;
    start.in_job = true;
    bool const alone = orders.size() == 1;
    start.node = alone ? orders.front().node : -1;
    start.agent_number = alone ? orders.front().agent_number : 0;
    OSORA_TRY(Descriptor const input, memory_with(protocol::encode(start)));
    OSORA_TRY(step.messages, memory_with(""));
    SpawnOptions spawning;
    spawning.program = options_.srun;
    spawning.arguments = slurm::srun_arguments(shape);
    spawning.environment = options_.environment;
    spawning.working_directory = "/";
    spawning.descriptors = {{input.get(), STDIN_FILENO},
                            {step.messages.get(), STDOUT_FILENO},
                            {step.messages.get(), STDERR_FILENO}};
    spawning.death_signal = 0;
    spawning.new_session = true;
    OSORA_TRY(step.child, spawn(spawning));
    return step;
}

void SlurmBackend::read_messages(Step& step) {
    std::array<char, 4096> buffer{};
    while (true) {
        ssize_t const got = ::pread(step.messages.get(), buffer.data(), buffer.size(),
                                    static_cast<off_t>(step.read));
        if (got <= 0) return;
        step.read += static_cast<std::size_t>(got);
        for (char const each : std::string_view(buffer.data(), static_cast<std::size_t>(got))) {
            if (each != '\n') {
                step.line += each;
                continue;
            }
            log_.info("srun", {{"says", step.line}});
            take(step, slurm::parse_step_line(step.line));
            if (step.all.size() < 1 << 16) step.all += step.line + "\n";
            step.line.clear();
        }
    }
}

void SlurmBackend::take(Step& step, slurm::StepLine const& line) {
    step.said_end = step.said_end || !line.ended.empty();
    for (slurm::TaskEnd const& end : line.ended) {
        for (int const task : end.tasks) {
            if (task < 0 || static_cast<std::size_t>(task) >= step.agents.size()) continue;
            auto const [node, agent_number] = step.agents[static_cast<std::size_t>(task)];
            ended(node, agent_number, end, "");
        }
    }
    for (std::string const& host : line.nodes_lost) {
        fault(host, kSilent, step.line);
        for (auto const& [node, agent_number] : step.agents) {
            slurm::TaskEnd const lost{{}, 1, 0};
            if (placement_.host_of(node) == host) ended(node, agent_number, lost, step.line);
        }
    }
}

asio::awaitable<void> SlurmBackend::watch(std::shared_ptr<Step> step) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    bool over = false;
    while (!over) {
        over = has_ended(step->child);
        read_messages(*step);
        if (over) break;
        timer.expires_after(kLookEvery);
        co_await timer.async_wait(kToken);
    }
    ExitStatus const status = reap(step->child);
    log_.info("step ended", {{"how", describe(status)}});
    // srun does not mention tasks that end with 0; a step that never started says why.
    bool const well = step->said_end || (status.signal == 0 && status.exit_code == 0);
    slurm::TaskEnd const end{{}, well ? 0 : status.exit_code, well ? 0 : status.signal};
    std::string const why = well ? "" : slurm::first_error(step->all);
    for (auto const& [node, agent_number] : step->agents) ended(node, agent_number, end, why);
}

/// Once for each agent; a report about an agent that was already reported or replaced is ignored.
void SlurmBackend::ended(int node, int agent_number, slurm::TaskEnd const& end, std::string error) {
    auto const found = agents_.find(node);
    if (found == agents_.end() || found->second.agent_number != agent_number) return;
    if (found->second.stopping) {
        found->second.end = end;
        return;
    }
    std::string const host = found->second.host;
    agents_.erase(found);
    AgentExited exited;
    exited.node = node;
    exited.agent_number = agent_number;
    exited.exit_code = end.exit_code;
    exited.signal = end.signal;
    exited.error = std::move(error);
    tasks_.spawn(fmt::format("end of agent {}", node), report(std::move(exited), host));
}

asio::awaitable<void> SlurmBackend::report(AgentExited exited, std::string host) {
    co_await asio::post(asio::use_awaitable);
    bool const well = exited.exit_code == 0 && exited.signal == 0 && exited.error.empty();
    if (!well) {
        StopAgent order;
        order.node = exited.node;
        exited.processes_left = co_await sweep(order, host);
        // Not the host's fault: the agent or the whole job was asked to end.
        bool const asked = exited.signal == SIGTERM || exited.signal == SIGINT;
        bool const crashed = exited.processes_left >= 0 && exited.error.empty() && !asked;
        if (crashed) fault(host, 1, "its agent died");
    }
    on_exited_(std::move(exited));
}

void SlurmBackend::stop_agent(StopAgent const& order) {
    auto const found = agents_.find(order.node);
    if (found != agents_.end()) found->second.stopping = true;
    tasks_.spawn(fmt::format("end agent {}", order.node), end_agent(order));
}

void SlurmBackend::blame_host(BlameHost const& order) {
    std::string const host = placement_.host_of(order.node);
    placement_.doubt(host);
    if (!order.counted) fault(host, 1, "GPU fault: " + order.fault);
}

asio::awaitable<void> SlurmBackend::end_agent(StopAgent order) {
    auto const found = agents_.find(order.node);
    bool const mine = found != agents_.end() && found->second.agent_number == order.agent_number;
    std::string const host = mine ? found->second.host : placement_.host_of(order.node);
    AgentExited exited;
    exited.node = order.node;
    exited.agent_number = order.agent_number;
    exited.signal = SIGKILL;
    std::optional<slurm::TaskEnd> const end = co_await own_end(order);
    bool const left_well = end && end->exit_code == 0 && end->signal == 0;
    if (!host.empty() && !left_well) exited.processes_left = co_await sweep(order, host);
    auto const again = agents_.find(order.node);
    if (again != agents_.end() && again->second.agent_number == order.agent_number)
        agents_.erase(again);
    on_exited_(std::move(exited));
}

/// A dismissed agent closes its connection first, and so looks silent. A moment later its step
/// reports its end, which saves a thousand remote commands for a thousand nodes.
asio::awaitable<std::optional<slurm::TaskEnd>> SlurmBackend::own_end(StopAgent order) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (auto waited = kLookEvery; waited < kOwnEndLimit; waited += kLookEvery) {
        auto const found = agents_.find(order.node);
        if (found == agents_.end() || found->second.agent_number != order.agent_number) break;
        if (found->second.end) co_return found->second.end;
        timer.expires_after(kLookEvery);
        co_await timer.async_wait(kToken);
    }
    co_return std::nullopt;
}

asio::awaitable<int> SlurmBackend::sweep(StopAgent order, std::string host) {
    SweepOrder const wanted{options_.start.run_uuid, order.node, order.boot_id, order.pid,
                            order.start_ticks};
    RemoteCommand command;
    command.srun = options_.srun;
    command.arguments =
        slurm::remote_command_arguments(options_.job_id, host, {options_.osorad.string(), "sweep"});
    command.environment = options_.environment;
    command.input = protocol::encode(wanted);
    command.limit_s = options_.remote_command_limit_s;
    Result<std::string> const answer = co_await run_remote_command(std::move(command));
    if (answer.has_value()) {
        auto const swept = protocol::decode<SweepAnswer>(*answer);
        co_return swept.has_value() ? swept->left : -1;
    }
    Error const& why = answer.error();
    bool const silent = why.code == Errc::timed_out;
    if (silent || slurm::blames_host(why.message)) fault(host, kSilent, why.message);
    log_.warning("cannot clean up host", {{"host", host}, {"why", why.message}});
    co_return -1;
}

}  // namespace osora::daemon
