// What handlers use are descriptors in atomics: they have no arguments of ours.
#include "worker/parallel/flight/flight_signal.hpp"

#include "base/process/stack_signal.hpp"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

namespace osora::worker {
namespace {

constexpr int kAnswerLimit_ms = 500;

std::atomic<int>& asked() {
    static std::atomic<int> fd{-1};
    return fd;
}
std::atomic<int>& answered() {
    static std::atomic<int> fd{-1};
    return fd;
}

bool ask(std::uint64_t what) {
    int const fd = asked().load();
    return fd >= 0 && ::write(fd, &what, sizeof what) == static_cast<ssize_t>(sizeof what);
}

void on_request(int) {
    int const saved = errno;
    ask(1);
    errno = saved;
}

void on_abort(int signal) {
    write_flight_before_the_end();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

}  // namespace

void flight_signals_wake(int asked_fd, int answered_fd) {
    asked() = asked_fd;
    answered() = answered_fd;
}

void catch_flight_signals() {
    struct sigaction action {};
    action.sa_handler = on_request;
    action.sa_flags = SA_RESTART;
    ::sigaction(flight_signal(), &action, nullptr);
    struct sigaction last {};
    last.sa_handler = on_abort;
    ::sigaction(SIGABRT, &last, nullptr);
}

void write_flight_before_the_end() {
    constexpr std::uint64_t kEnds = 1u << 20;  // eventfds add up: requests never come to it
    if (!ask(kEnds)) return;
    struct pollfd answer {
        .fd = answered().load(), .events = POLLIN, .revents = 0
    };
    ::poll(&answer, 1, kAnswerLimit_ms);
}

}  // namespace osora::worker
