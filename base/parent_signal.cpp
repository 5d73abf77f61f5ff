#include "base/parent_signal.hpp"

#include <unistd.h>

#include <csignal>

namespace osora {
namespace {

void on_sigterm(int, siginfo_t* info, void*) {
    if (info->si_pid != ::getppid()) return;
    std::signal(SIGTERM, SIG_DFL);
    std::raise(SIGTERM);
}

}  // namespace

void only_parent_terminates() {
    struct sigaction action {};
    action.sa_sigaction = on_sigterm;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    ::sigaction(SIGTERM, &action, nullptr);
}

}  // namespace osora
