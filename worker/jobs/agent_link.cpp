#include "worker/jobs/agent_link.hpp"

#include "protocol/messages/message.hpp"
#include "worker/jobs/rank_environment.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <span>

namespace osora::worker {
namespace {

bool send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        ssize_t const sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

}  // namespace

AgentLink::~AgentLink() {
    if (fd_ >= 0) ::close(fd_);
}

void AgentLink::send(protocol::FromWorker const& message) {
    std::string const body = protocol::encode_message(message);
    std::scoped_lock const lock(sending_);
    if (fd_ < 0) {
        std::fwrite(body.data(), 1, body.size(), stdout);
        std::fputc('\n', stdout);
        std::fflush(stdout);
        return;
    }
    auto const frame = protocol::encode_frame(body);
    if (frame.has_value()) send_all(fd_, *frame);
}

std::optional<protocol::StopWorker> AgentLink::stop_order() {
    if (fd_ >= 0 && !stop_) read_available();
    return stop_;
}

bool AgentLink::pause(double seconds) {
    using Clock = std::chrono::steady_clock;
    constexpr double kWaitMax_ms = 3'600'000;
    auto const start = Clock::now();
    for (;;) {
        if (stop_order()) return false;
        std::chrono::duration<double> const passed = Clock::now() - start;
        if (passed.count() >= seconds) return true;
        double const left_ms = std::ceil(1e3 * (seconds - passed.count()));
        pollfd link{.fd = fd_, .events = POLLIN, .revents = 0};  // none: just the time
        static_cast<void>(::poll(&link, 1, static_cast<int>(std::min(left_ms, kWaitMax_ms))));
    }
}

void AgentLink::read_available() {
    std::array<std::byte, 4096> buffer{};
    while (!stop_) {
        ssize_t const got = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (got <= 0) {
            stop_ = protocol::StopWorker{.save_checkpoint = false, .reason = "the agent is gone"};
            return;
        }
        auto const frames = reader_.feed(std::span(buffer).first(static_cast<std::size_t>(got)));
        if (frames.has_error()) {
            stop_ = protocol::StopWorker{.save_checkpoint = true, .reason = "garbled agent link"};
            return;
        }
        for (std::string const& frame : *frames) {
            auto const message = protocol::decode_message<protocol::ToWorker>(frame);
            if (message.has_value()) stop_ = std::get<protocol::StopWorker>(*message);
        }
    }
}

void end_now(AgentLink& agent, Error const& why) {
    int const code = exit_code_of(why);
    agent.send(protocol::WorkerFailed{.exit_code = code, .message = why.message});
    fmt::print(stderr, "osora-worker: {}\n", why.message);
    std::fflush(nullptr);
    ::_exit(code);
}

void end_if_stuck(AgentLink& agent, Error const& why,
                  std::vector<std::function<bool()>> const& ended) {
    if (!std::ranges::all_of(ended, [](auto const& each) { return each(); })) end_now(agent, why);
}

}  // namespace osora::worker
