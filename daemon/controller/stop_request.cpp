// Polled: inotify does not report what another machine writes.
#include "daemon/controller/stop_request.hpp"

#include "base/files/files.hpp"
#include "daemon/net/frame_connection.hpp"
#include "protocol/json.hpp"

#include <unistd.h>
#include <boost/asio/steady_timer.hpp>

#include <optional>
#include <utility>

namespace osora::daemon {
namespace {

constexpr auto kRequestLookEvery = std::chrono::milliseconds(500);
constexpr std::int64_t kRequestBytesMax = 1 << 16;

/// Reads and deletes a request; nullopt: there is none.
template <class Request>
std::optional<Request> take_request(std::filesystem::path const& path) {
    if (::access(path.c_str(), F_OK) != 0) return std::nullopt;
    auto const text = read_file(path, kRequestBytesMax);
    auto const read =
        text.has_value() ? protocol::decode<Request>(*text) : Result<Request>(text.error());
    ::unlink(path.c_str());
    return read.has_value() ? *read : Request{};
}

}  // namespace

Result<void> write_stop_request(protocol::RunPaths const& paths,
                                protocol::ControlStop const& stop) {
    return write_file_atomic(paths.stop_request(), protocol::encode(stop) + "\n", 0600);
}

asio::awaitable<void> watch_stop_requests(protocol::RunPaths paths,
                                          std::function<void(protocol::ControlStop)> on_stop) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (true) {
        if (auto stop = take_request<protocol::ControlStop>(paths.stop_request())) {
            if (stop->reason.empty()) stop->reason = "requested by osora";
            on_stop(std::move(*stop));
        }
        timer.expires_after(kRequestLookEvery);
        co_await timer.async_wait(kToken);
    }
}

asio::awaitable<void> watch_relaunch_requests(
    protocol::RunPaths paths, std::function<void(protocol::ControlRelaunch)> on_relaunch) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (true) {
        if (auto asked = take_request<protocol::ControlRelaunch>(paths.relaunch_request())) {
            on_relaunch(std::move(*asked));
        }
        timer.expires_after(kRequestLookEvery);
        co_await timer.async_wait(kToken);
    }
}

}  // namespace osora::daemon
