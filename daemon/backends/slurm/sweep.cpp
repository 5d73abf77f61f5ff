#include "daemon/backends/slurm/sweep.hpp"

#include "base/ids.hpp"
#include "base/process/process.hpp"
#include "daemon/process/orphans.hpp"
#include "protocol/exit_codes.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <array>
#include <cerrno>
#include <cstdio>

namespace osora::daemon {
namespace {

constexpr double kLimitS = 3;

std::string read_input() {
    std::string text;
    std::array<char, 4096> buffer{};
    constexpr std::size_t kMost = 1 << 16;
    while (text.size() < kMost) {
        ssize_t const got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return text;
}

}  // namespace

int sweep_host(Logger& log) {
    auto const order = protocol::decode<SweepOrder>(read_input());
    if (order.has_error() || order->run_uuid.empty()) {
        log.error("sweep: no instructions on standard input");
        return kExitUsage;
    }
    ProcessId const agent{order->pid, order->start_ticks};
    if (agent.pid > 0 && order->boot_id == boot_id()) signal_process(agent, SIGKILL);
    boost::asio::io_context context(1);
    OrphanScope const scope{order->run_uuid, order->node, {}};
    auto left =
        boost::asio::co_spawn(context, end_orphans(scope, kLimitS), boost::asio::use_future);
    context.run();
    SweepAnswer const answer{left.get()};
    fmt::print("{}\n", protocol::encode(answer));
    std::fflush(stdout);
    return 0;
}

}  // namespace osora::daemon
