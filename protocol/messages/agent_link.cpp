// poll and plain reads: a worker has one agent and nothing else to do while it waits.
#include "protocol/messages/agent_link.hpp"

#include "base/files/files.hpp"
#include "base/text/seconds.hpp"
#include "protocol/messages/message.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <span>

namespace osora::protocol {

using Clock = std::chrono::steady_clock;

Result<void> AgentLink::send(FromWorker const& message) {
    OSORA_TRY(std::string bytes, encode_frame(encode_message(message)));
    return send_bytes(bytes);
}

Result<void> AgentLink::send_bytes(std::string_view bytes) {
    while (socket_.is_open() && !bytes.empty()) {
        ssize_t const sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return file_error(errno, "send", "agent");
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
}

Result<void> AgentLink::pass_time(std::chrono::duration<double> limit) {
    auto const end = Clock::now() + duration_of<Clock::duration>(limit.count());
    while (true) {
        auto const left = std::chrono::duration<double, std::milli>(end - Clock::now()).count();
        int const timeout_ms = static_cast<int>(std::ceil(seconds_within(left, 0, 1e9)));
        pollfd waited{.fd = socket_.get(), .events = POLLIN, .revents = 0};  // fd -1 is ignored
        int const ready = ::poll(&waited, 1, timeout_ms);
        if (ready < 0 && errno != EINTR) return file_error(errno, "poll", "agent");
        if (ready > 0) {
            OSORA_TRY_VOID(receive());
            if (stop_) return {};
        }
        if (left <= 0) return {};
    }
}

Result<void> AgentLink::receive() {
    std::array<std::byte, 4096> buffer{};
    ssize_t const got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) return {};
    if (got < 0) return file_error(errno, "receive", "agent");
    if (got == 0) return Error{Errc::unreachable, "agent: closed the connection"};
    auto const bytes = std::span(buffer).first(static_cast<std::size_t>(got));
    OSORA_TRY(auto frames, frames_.feed(bytes));
    for (std::string const& frame : frames) {
        OSORA_TRY(auto message, decode_message<ToWorker>(frame));
        stop_ = std::get<StopWorker>(message);
    }
    return {};
}

}  // namespace osora::protocol
