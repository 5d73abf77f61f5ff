// Polling with poll(): conditions of other processes cannot be waited for otherwise.
#include "tests/kit/program.hpp"

#include "base/files/files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>

namespace osora::tests {
namespace {

Descriptor open_output(std::filesystem::path const& file) {
    return Descriptor(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

}  // namespace

bool eventually(std::function<bool()> const& condition, double limit_s) {
    using Clock = std::chrono::steady_clock;
    auto const end = Clock::now() + std::chrono::duration<double>(limit_s);
    while (!condition()) {
        if (Clock::now() >= end) return false;
        ::poll(nullptr, 0, 5);
    }
    return true;
}

std::string content_of(std::filesystem::path const& file) {
    auto content = read_file(file);
    return content.has_value() ? std::move(*content) : "";
}

Running::~Running() {
    if (reaped_ || child_.id.pid == 0 || !child_.pidfd.is_open()) return;
    signal_group(child_, SIGKILL);
    (void)reap(child_);
}

bool Running::says(std::string const& text, double limit_s) const {
    return eventually([&] { return out().find(text) != std::string::npos; }, limit_s);
}

Ended Running::wait(double limit_s) {
    pollfd end{child_.pidfd.get(), POLLIN, 0};
    if (::poll(&end, 1, static_cast<int>(limit_s * 1000)) != 1) {
        ADD_FAILURE() << "still runs after " << limit_s << " s; it said:\n" << out() << err();
        signal_group(child_, SIGKILL);
    }
    auto const status = reap(child_);
    reaped_ = true;
    return {status.signal != 0 ? 128 + status.signal : status.exit_code, out(), err()};
}

Result<Running> start_program(SpawnOptions options, std::filesystem::path const& output) {
    auto const out = output.string() + ".out";
    auto const err = output.string() + ".err";
    Descriptor const to_out = open_output(out);
    Descriptor const to_err = open_output(err);
    options.descriptors = {{to_out.get(), STDOUT_FILENO}, {to_err.get(), STDERR_FILENO}};
    OSORA_TRY(auto child, spawn(options));
    return Running(std::move(child), out, err);
}

}  // namespace osora::tests
