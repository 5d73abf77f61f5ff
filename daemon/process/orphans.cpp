// Scans, kills, waits a moment, scans again: a process may start while /proc is read.
#include "daemon/process/orphans.hpp"

#include "base/environment.hpp"
#include "base/process/descendants.hpp"
#include "base/process/marked_processes.hpp"
#include "base/process/process.hpp"
#include "base/text/seconds.hpp"
#include "daemon/net/frame_connection.hpp"

#include <unistd.h>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <csignal>

namespace osora::daemon {
namespace {

/// Kills what it finds; returns how many were alive.
int kill_once(OrphanScope const& scope) {
    std::vector<int> const spared = scope.spared ? scope.spared() : std::vector<int>();
    int alive = kill_descendants(spared);
    Environment marks;
    set_variable(marks, kRunMark, scope.run_uuid);
    if (scope.node >= 0) set_variable(marks, kNodeMark, std::to_string(scope.node));
    std::vector<ProcessId> kept;
    for (int const pid : spared) {
        auto const below = descendants_of(pid);
        kept.insert(kept.end(), below.begin(), below.end());
        if (auto const self = process_id_of(pid); self.has_value()) kept.push_back(*self);
    }
    for (ProcessId const& process : processes_marked(marks)) {
        if (std::ranges::count(kept, process) > 0) continue;
        if (signal_process(process, SIGKILL)) ++alive;
    }
    return alive;
}

}  // namespace

boost::asio::awaitable<int> end_orphans(OrphanScope scope, double limit_s) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    auto const end =
        asio::steady_timer::clock_type::now() + duration_of<asio::steady_timer::duration>(limit_s);
    auto pause = std::chrono::milliseconds(1);
    while (true) {
        int const alive = kill_once(scope);
        if (alive == 0 || asio::steady_timer::clock_type::now() >= end) co_return alive;
        timer.expires_after(pause);
        pause = std::min(pause * 2, std::chrono::milliseconds(50));
        co_await timer.async_wait(kToken);
    }
}

}  // namespace osora::daemon
