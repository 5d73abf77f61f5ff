// The handler gets no arguments from osora, so the path is in a static buffer, written once before
// the handler is installed.
#include "base/process/stack_signal.hpp"

#include <execinfo.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <string>
#include <string_view>

namespace osora {
namespace {

constexpr int kFramesMax = 64;
constexpr int kFramesOfHandler = 2;  // this function's and the kernel's trampoline

std::array<char, 4096>& stack_file() {
    static std::array<char, 4096> path{};
    return path;
}

void write_text(int fd, std::string_view text) {
    [[maybe_unused]] ssize_t const ignored = ::write(fd, text.data(), text.size());
}

void on_signal(int) {
    int const saved = errno;
    int const fd =
        ::open(stack_file().data(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        std::array<char, 32> text{};
        auto const tid = static_cast<long>(::syscall(SYS_gettid));
        auto const end = std::to_chars(text.data(), text.data() + text.size() - 1, tid).ptr;
        *end = '\n';
        write_text(fd, "thread ");
        write_text(fd, {text.data(), static_cast<std::size_t>(end - text.data()) + 1});
        std::array<void*, kFramesMax> frames{};
        int const count = ::backtrace(frames.data(), kFramesMax);
        if (count > kFramesOfHandler) {
            ::backtrace_symbols_fd(frames.data() + kFramesOfHandler, count - kFramesOfHandler, fd);
        }
        write_text(fd, "end\n");
        ::close(fd);
    }
    errno = saved;
}

}  // namespace

int stack_signal() {
    return SIGRTMIN + 9;
}

int flight_signal() {
    return SIGRTMIN + 10;
}

void write_stacks_to(std::filesystem::path const& file) {
    std::string const path = file.string();
    if (path.size() >= stack_file().size()) return;
    path.copy(stack_file().data(), path.size());
    // The first call loads a library, which a handler must not do.
    std::array<void*, 1> frame{};
    ::backtrace(frame.data(), 1);
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    ::sigaction(stack_signal(), &action, nullptr);
}

}  // namespace osora
