#include "base/process/parent_signal.hpp"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace osora {
namespace {

std::atomic<void (*)()>& last_act() {
    static std::atomic<void (*)()> act{nullptr};
    return act;
}

void on_sigterm(int, siginfo_t* info, void*) {
    if (info->si_pid != ::getppid()) return;
    if (auto* const act = last_act().load()) act();
    std::signal(SIGTERM, SIG_DFL);
    std::raise(SIGTERM);
}

}  // namespace

void only_parent_terminates(void (*before)()) {
    last_act() = before;
    struct sigaction action {};
    action.sa_sigaction = on_sigterm;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    ::sigaction(SIGTERM, &action, nullptr);
}

}  // namespace osora
