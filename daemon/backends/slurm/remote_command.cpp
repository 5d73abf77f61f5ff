#include "daemon/backends/slurm/remote_command.hpp"

#include "base/files/files.hpp"
#include "base/process/process.hpp"
#include "base/text/seconds.hpp"
#include "daemon/net/frame_connection.hpp"
#include "slurm/step_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <cerrno>

namespace osora::daemon {
namespace {

using Clock = asio::steady_timer::clock_type;

std::string content_of(Descriptor const& memory) {
    std::string text;
    std::array<char, 4096> buffer{};
    constexpr std::size_t kMost = 1 << 20;
    while (text.size() < kMost) {
        ssize_t const got =
            ::pread(memory.get(), buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
        if (got <= 0) break;
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return text;
}

}  // namespace

Result<Descriptor> memory_with(std::string_view text) {
    Descriptor memory(::memfd_create("osora", MFD_CLOEXEC));
    if (!memory.is_open()) return file_error(errno, "make", "a file in memory");
    while (!text.empty()) {
        ssize_t const wrote = ::write(memory.get(), text.data(), text.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return file_error(errno, "write", "a file in memory");
        text.remove_prefix(static_cast<std::size_t>(wrote));
    }
    if (::lseek(memory.get(), 0, SEEK_SET) != 0) return file_error(errno, "seek", "memory");
    return memory;
}

asio::awaitable<Result<std::string>> run_remote_command(RemoteCommand command) {
    auto const input = memory_with(command.input);
    auto const output = memory_with("");
    auto const errors = memory_with("");
    if (input.has_error() || output.has_error() || errors.has_error()) {
        co_return Error{Errc::io, "no memory file for a command"};
    }
    SpawnOptions spawning;
    spawning.program = command.srun;
    spawning.arguments = command.arguments;
    spawning.environment = command.environment;
    spawning.working_directory = "/";
    spawning.descriptors = {{input->get(), STDIN_FILENO},
                            {output->get(), STDOUT_FILENO},
                            {errors->get(), STDERR_FILENO}};
    auto const child = spawn(spawning);
    if (child.has_error()) co_return child.error();
    asio::steady_timer timer(co_await asio::this_coro::executor);
    auto const end = Clock::now() + duration_of<Clock::duration>(command.limit_s);
    bool late = false;
    while (!has_ended(*child)) {
        late = Clock::now() >= end;
        if (late) signal_group(*child, SIGKILL);
        timer.expires_after(std::chrono::milliseconds(10));
        co_await timer.async_wait(kToken);
    }
    ExitStatus const status = reap(*child);
    if (late) {
        co_return Error{Errc::timed_out, fmt::format("no answer within {:.3g} s", command.limit_s)};
    }
    if (status.signal == 0 && status.exit_code == 0) co_return content_of(*output);
    std::string const why = slurm::first_error(content_of(*errors));
    co_return Error{Errc::unreachable, why.empty() ? "srun " + describe(status) : why};
}

}  // namespace osora::daemon
