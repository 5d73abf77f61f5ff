// Uses a signalfd; the destructor restores the signal mask.
#include "cli/command/signals.hpp"

#include "base/check.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

namespace osora::cli {

SignalSource SignalSource::open() {
    sigset_t wanted{};
    sigemptyset(&wanted);
    for (int const signal : {SIGINT, SIGTERM, SIGWINCH}) sigaddset(&wanted, signal);
    sigset_t before{};
    OSORA_CHECK_EQ(::sigprocmask(SIG_BLOCK, &wanted, &before), 0);
    Descriptor file(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    OSORA_CHECK(file.is_open(), "signalfd");
    return SignalSource(std::move(file), before);
}

SignalSource::~SignalSource() {
    if (file_.is_open()) ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::vector<int> SignalSource::take() {
    std::vector<int> signals;
    signalfd_siginfo info{};
    while (::read(file_.get(), &info, sizeof info) == sizeof info) {
        signals.push_back(static_cast<int>(info.ssi_signo));
    }
    return signals;
}

}  // namespace osora::cli
