// Polled: inotify does not report what another machine writes.
#include "daemon/controller/stop_request.hpp"

#include "base/files/files.hpp"
#include "daemon/net/frame_connection.hpp"
#include "protocol/json.hpp"

#include <unistd.h>
#include <boost/asio/steady_timer.hpp>

namespace osora::daemon {
namespace {

constexpr auto kRequestLookEvery = std::chrono::milliseconds(500);
constexpr std::int64_t kRequestBytesMax = 1 << 16;

}  // namespace

Result<void> write_stop_request(protocol::RunPaths const& paths,
                                protocol::ControlStop const& stop) {
    return write_file_atomic(paths.stop_request(), protocol::encode(stop) + "\n", 0600);
}

asio::awaitable<void> watch_stop_requests(protocol::RunPaths paths,
                                          std::function<void(protocol::ControlStop)> on_stop) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    auto const path = paths.stop_request();
    while (true) {
        if (::access(path.c_str(), F_OK) == 0) {
            protocol::ControlStop stop;
            auto const text = read_file(path, kRequestBytesMax);
            auto const read = text.has_value() ? protocol::decode<protocol::ControlStop>(*text)
                                               : Result<protocol::ControlStop>(text.error());
            if (read.has_value()) stop = *read;
            if (stop.reason.empty()) stop.reason = "requested by osora";
            ::unlink(path.c_str());
            on_stop(stop);
        }
        timer.expires_after(kRequestLookEvery);
        co_await timer.async_wait(kToken);
    }
}

}  // namespace osora::daemon
