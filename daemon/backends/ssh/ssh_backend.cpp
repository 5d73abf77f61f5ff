// The orders of one node run one after the other, those of different nodes in parallel.
#include "daemon/backends/ssh/ssh_backend.hpp"

#include "base/check.hpp"
#include "base/files/files.hpp"

#include <fmt/format.h>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <csignal>
#include <utility>

namespace osora::daemon {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kPauseMin{250}, kPauseMax{2000};
constexpr milliseconds kSshEndLimit{500}, kSshLookEvery{25};
constexpr std::int64_t kProgramBytesMax = 256 << 20;
constexpr int kFailed = 1, kSilent = 2;  // weights of faults (protocol/node_memory.hpp)

bool may_pass(Error const& error) {
    return error.code == Errc::unreachable || error.code == Errc::timed_out;
}

asio::awaitable<void> pause_for(milliseconds time) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    timer.expires_after(time);
    co_await timer.async_wait(kToken);
}

}  // namespace

SshBackend::SshBackend(SshOptions options, TaskGroup& tasks, Logger& log, OnExited on_exited)
    : options_(std::move(options)),
      tasks_(tasks),
      log_(log),
      on_exited_(std::move(on_exited)),
      gate_(tasks.executor(), options_.connections_max),
      nodes_(static_cast<std::size_t>(options_.nodes)) {
    OSORA_CHECK_LE(nodes_.size(), options_.hosts.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i].host = options_.hosts[i];
    spares_.assign(options_.hosts.begin() + options_.nodes, options_.hosts.end());
}

void SshBackend::set_address(AgentAddress const& address) {
    options_.start.controller = address;
}

void SshBackend::start_agent(StartAgent const& order) {
    take(order.node, order);
}

void SshBackend::stop_agent(StopAgent const& order) {
    if (SharedCommand const starting = at(order.node).starting) starting->interrupt();
    take(order.node, order);
}

void SshBackend::blame_host(BlameHost const& order) {
    at(order.node).blamed = true;
    if (!order.counted) fault(order.node, kFailed, "GPU fault: " + order.fault);
}

void SshBackend::fault(int node, int weight, std::string const& cause) {
    report_fault({at(node).host.host, cause, weight}, options_.on_fault, log_);
}

/// Reported once, until the host has answered again.
void SshBackend::silent(int node, Error const& why) {
    if (!may_pass(why) || std::exchange(at(node).silent, true)) return;
    fault(node, kSilent, why.message);
}

void SshBackend::take(int node, Order order) {
    Node& each = at(node);
    each.orders.push_back(std::move(order));
    if (std::exchange(each.busy, true)) return;
    tasks_.spawn("ssh " + each.host.host, work(node));
}

asio::awaitable<void> SshBackend::work(int node) {
    co_await asio::post(asio::use_awaitable);  // never report from inside an order
    while (!at(node).orders.empty()) {
        Order const order = std::move(at(node).orders.front());
        at(node).orders.pop_front();
        if (auto const* start = std::get_if<StartAgent>(&order)) {
            StartAgent const copy = *start;
            co_await carry_out(node, copy);
        } else if (auto const* stop = std::get_if<StopAgent>(&order)) {
            StopAgent const copy = *stop;
            co_await carry_out(node, copy);
        } else {
            AgentEnded const copy = std::get<AgentEnded>(order);
            co_await carry_out(node, copy);
        }
    }
    at(node).busy = false;
}

void SshBackend::report(AgentExited exited) {
    on_exited_(std::move(exited));
}

bool SshBackend::is_awaited(int node, std::size_t kind) const {
    auto const& orders = nodes_[static_cast<std::size_t>(node)].orders;
    return std::ranges::any_of(orders, [kind](Order const& each) { return each.index() == kind; });
}

SharedCommand SshBackend::make_command(int node) {
    SshTarget const target{at(node).host, options_.login};
    return std::make_shared<SshCommand>(tasks_.executor(), target);
}

std::string SshBackend::text_for(Node const& node, std::string_view argument) const {
    return node.copied ? run_copy_text(hash_, argument) : run_text(options_.osorad, argument);
}

asio::awaitable<void> SshBackend::carry_out(int node, StartAgent order) {
    auto const began = Clock::now();
    if (at(node).unswept || at(node).blamed) move_to_spare(node);
    auto launched = co_await launch(node, order.agent_number);
    while (launched.has_error() && may_pass(launched.error())) {
        silent(node, launched.error());
        if (!move_to_spare(node)) break;
        launched = co_await launch(node, order.agent_number);
    }
    Node& each = at(node);
    if (launched.has_value()) {
        each.silent = false;
        std::chrono::duration<double> const took = Clock::now() - began;
        log_.info("agent started", {{"node", node},
                                    {"host", each.who.host},
                                    {"pid", each.who.pid},
                                    {"seconds", took.count()}});
        co_return;
    }
    AgentExited exited;
    exited.node = node;
    exited.agent_number = order.agent_number;
    exited.error = fmt::format("{}: {}", each.host.host, launched.error().message);
    log_.error("cannot start agent", {{"node", node}, {"why", exited.error}});
    report(std::move(exited));
}

/// The host does not answer, or is faulty: a spare replaces it, and it is not used again. The
/// controller has given up an agent that still lives there.
bool SshBackend::move_to_spare(int node) {
    if (spares_.empty()) return false;
    Node& each = at(node);
    log_.warning("a spare host takes over",
                 {{"node", node}, {"host", each.host.host}, {"spare", spares_.front().host}});
    each.host = spares_.front();
    spares_.pop_front();
    each.unswept.reset();
    each.copied = each.blamed = each.silent = false;
    return true;
}

/// A host that was already part of the run may be rebooting, so it is tried again for a while.
asio::awaitable<Result<void>> SshBackend::launch(int node, int agent_number) {
    bool const known = agent_number > 1 || at(node).unswept.has_value();
    auto const end = Clock::now() + options_.patience;
    auto pause = kPauseMin;
    while (true) {
        auto launched = co_await launch_once(node, agent_number);
        if (launched.has_value() || !may_pass(launched.error()) || !known) co_return launched;
        if (Clock::now() >= end || is_awaited(node, 1)) co_return launched;
        co_await pause_for(pause);
        pause = std::min(pause * 2, kPauseMax);
    }
}

asio::awaitable<Result<void>> SshBackend::launch_once(int node, int agent_number) {
    auto const place = co_await gate_.enter();
    if (is_awaited(node, 1)) co_return Error{Errc::cancelled, "not wanted any more"};
    if (at(node).unswept) {
        SweepOrder const earlier = *at(node).unswept;
        auto const swept = co_await sweep(node, earlier);
        if (swept.has_error()) co_return swept.error();
        at(node).unswept.reset();
    }
    AgentStart start = options_.start;
    start.node = node;
    start.agent_number = agent_number;
    start.log = fmt::format("agent-{}.log", node);
    while (true) {
        SharedCommand const command = at(node).starting = make_command(node);
        std::string const text = text_for(at(node), "agent");
        auto const announced = co_await start_agent_on(command, text, start);
        Node& each = at(node);
        each.starting.reset();
        if (announced.has_value()) {
            each.who = *announced;
            each.agent = command;
            tasks_.spawn("agent on " + each.host.host, watch(node, agent_number, command));
            co_return Result<void>();
        }
        bool const missing = announced.error().code == Errc::not_found;
        if (!missing || each.copied) co_return announced.error();
        auto const copied = co_await copy_program(node);
        if (copied.has_error()) co_return copied;
    }
}

asio::awaitable<Result<void>> SshBackend::copy_program(int node) {
    auto content = read_file(options_.osorad, kProgramBytesMax);
    if (content.has_error()) co_return content.error();
    if (hash_.empty()) hash_ = hash_of(*content);
    log_.info("osorad copied", {{"node", node}, {"bytes", content->size()}});
    SharedCommand const command = at(node).starting = make_command(node);
    std::string const text = copy_text(hash_, node);
    auto copied = co_await copy_to(command, text, std::move(*content));
    at(node).starting.reset();
    if (copied.has_error()) {
        co_return std::move(copied).error().in("copying osorad to ~/.cache/osora");
    }
    at(node).copied = true;
    co_return Result<void>();
}

asio::awaitable<Result<int>> SshBackend::sweep(int node, SweepOrder order) {
    SharedCommand const command = make_command(node);
    std::string const text = text_for(at(node), "sweep");
    co_return co_await sweep_on(command, text, order);
}

/// A dismissed agent closes its connection to the controller first, and so looks silent; a moment
/// later its ssh connection reports its end.
asio::awaitable<bool> SshBackend::left_well(int node, int agent_number) {
    auto const end = Clock::now() + kSshEndLimit;
    auto const is_end = [agent_number](Order const& each) {
        auto const* ended = std::get_if<AgentEnded>(&each);
        return ended != nullptr && ended->agent_number == agent_number;
    };
    while (true) {
        auto& orders = at(node).orders;
        auto const found = std::ranges::find_if(orders, is_end);
        if (found != orders.end()) {
            AgentEnded const ended = std::get<AgentEnded>(*found);
            orders.erase(found);
            co_return ended.end.exit_code == 0 && ended.end.signal == 0;
        }
        if (at(node).agent == nullptr || Clock::now() >= end) co_return false;
        co_await pause_for(kSshLookEvery);
    }
}

/// Continues until it is done, or until the controller has given up and wants a new agent there.
asio::awaitable<void> SshBackend::carry_out(int node, StopAgent order) {
    if (co_await left_well(node, order.agent_number)) {
        AgentExited exited;
        exited.node = node;
        exited.agent_number = order.agent_number;
        co_return report(std::move(exited));
    }
    Node& each = at(node);
    each.agent.reset();
    SweepOrder sweeping{options_.start.run_uuid, node, order.boot_id, order.pid, order.start_ticks};
    if (order.pid == 0) {  // it has announced itself, but not joined
        sweeping.boot_id = each.who.boot_id;
        sweeping.pid = each.who.pid;
        sweeping.start_ticks = each.who.start_ticks;
    }
    // Workers of one node of several do no step without their peers; those of a single node could
    // train on.
    auto const end =
        options_.nodes > 1 ? Clock::now() + options_.sweep_patience : Clock::time_point::max();
    auto pause = kPauseMin;
    while (true) {
        Result<int> swept = Error{Errc::io, ""};
        {
            auto const place = co_await gate_.enter();
            swept = co_await sweep(node, sweeping);
        }
        if (swept.has_value()) {
            AgentExited exited;
            exited.node = node;
            exited.agent_number = order.agent_number;
            exited.processes_left = *swept;
            log_.info("agent stopped", {{"node", node}, {"processes_left", *swept}});
            co_return report(std::move(exited));
        }
        log_.warning("cannot stop agent", {{"node", node}, {"why", swept.error().message}});
        if (is_awaited(node, 0)) break;
        if (Clock::now() >= end) {
            silent(node, swept.error());
            AgentExited unknown;
            unknown.node = node;
            unknown.agent_number = order.agent_number;
            unknown.processes_left = -1;
            report(std::move(unknown));
            break;
        }
        co_await pause_for(pause);
        pause = std::min(pause * 2, kPauseMax);
    }
    at(node).unswept = sweeping;
}

/// The workers died with their agent; processes that they started may live.
asio::awaitable<void> SshBackend::carry_out(int node, AgentEnded order) {
    AgentExited exited;
    exited.node = node;
    exited.agent_number = order.agent_number;
    exited.exit_code = order.end.exit_code;
    exited.signal = order.end.signal;
    // An agent that exited cleanly has ended its workers.
    if (exited.exit_code == 0 && exited.signal == 0) co_return report(std::move(exited));
    bool const asked = exited.signal == SIGTERM || exited.signal == SIGINT;
    if (exited.signal != 0 && !asked) fault(node, kFailed, "its agent died");
    SweepOrder const sweeping{options_.start.run_uuid, node, "", 0, 0};
    auto const place = co_await gate_.enter();
    auto const swept = co_await sweep(node, sweeping);
    exited.processes_left = swept.has_value() ? *swept : -1;
    if (swept.has_error()) {
        at(node).unswept = sweeping;
        log_.warning("cannot look for orphaned processes",
                     {{"node", node}, {"why", swept.error().message}});
    }
    report(std::move(exited));
}

asio::awaitable<void> SshBackend::watch(int node, int agent_number, SharedCommand command) {
    command->set_no_limit();
    auto const end = co_await command->wait();
    Node& each = at(node);
    if (each.agent != command) co_return;  // it was stopped or replaced
    each.agent.reset();
    if (end.has_error()) {
        log_.warning("lost the ssh connection to an agent, which continues",
                     {{"node", node}, {"why", end.error().message}});
        co_return;
    }
    log_.info("agent ended",
              {{"node", node}, {"exit_code", end->exit_code}, {"signal", end->signal}});
    AgentEnded ended;
    ended.agent_number = agent_number;
    ended.end = *end;
    take(node, ended);
}

}  // namespace osora::daemon
