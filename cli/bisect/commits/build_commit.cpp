#include "cli/bisect/commits/build_commit.hpp"

#include "base/files/files.hpp"
#include "base/files/regular_file.hpp"
#include "base/process/capture.hpp"
#include "base/text/units.hpp"
#include "cli/command/git.hpp"
#include "cli/command/signals.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

enum class Ending { by_itself, late, interrupted };

/// Kills the whole process group at the time limit or when the user wants to stop.
Ending wait_for(Child const& child, SignalSource& signals, std::chrono::milliseconds limit) {
    auto const deadline = Clock::now() + limit;
    while (!has_ended(child)) {
        auto const left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        bool const is_late = left.count() <= 0;
        bool const wants_end = std::ranges::any_of(
            signals.take(), [](int signal) { return signal == SIGINT || signal == SIGTERM; });
        if (is_late || wants_end) {
            signal_group(child, SIGKILL);
            return is_late ? Ending::late : Ending::interrupted;
        }
        std::array<pollfd, 2> waited{
            {{child.pidfd.get(), POLLIN, 0}, {signals.descriptor(), POLLIN, 0}}};
        [[maybe_unused]] int const ready =
            ::poll(waited.data(), waited.size(), static_cast<int>(left.count()));
    }
    return Ending::by_itself;
}

/// The end of the log, to find its last line and messages that the disk is full.
std::string end_of(fs::path const& log) {
    constexpr off_t kTailBytes = 64 << 10;
    auto const file = open_regular(log);
    if (file.has_error()) return "";
    off_t const size = ::lseek(file->get(), 0, SEEK_END);
    std::string text(static_cast<std::size_t>(std::clamp<off_t>(size, 0, kTailBytes)), '\0');
    ssize_t const got =
        ::pread(file->get(), text.data(), text.size(), size - static_cast<off_t>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
}

std::string last_line(std::string const& text) {
    auto const end = text.find_last_not_of(" \n\r\t");
    if (end == std::string::npos) return "";
    auto const begin = text.find_last_of('\n', end);
    return text.substr(begin == std::string::npos ? 0 : begin + 1,
                       end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

/// Free space below this means that a build ran out of disk.
constexpr std::int64_t kFullBytes = 4 * kMiB;

Result<void> check_space(fs::path const& folder, std::string const& tail) {
    auto const free = free_bytes(folder);
    bool const is_full = free.has_value() && *free < kFullBytes;
    if (!is_full && !says_disk_is_full(tail)) return boost::system::in_place_value;
    return Error{Errc::out_of_space,
                 fmt::format("{}: the disk or quota is full{}", folder.string(),
                             free.has_value() ? fmt::format(" ({} free)", format_bytes(*free))
                                              : std::string())};
}

Result<fs::path> program_of(BuildJob const& job) {
    auto const& name = job.command.front();
    if (name.find('/') != std::string::npos) return job.folder / name;
    auto found = find_in_path(name, variable_or(job.environment, "PATH", "/usr/bin:/bin"));
    if (found.has_error()) return std::move(found).error().in("[bisect] build");
    return found;
}

}  // namespace

Result<std::string> run_build(BuildJob const& job) {
    OSORA_TRY(auto const log, open_private(job.log, O_WRONLY | O_TRUNC | O_APPEND));
    OSORA_TRY(auto program, program_of(job));
    SpawnOptions const options{
        .program = std::move(program),
        .arguments = {job.command.begin() + 1, job.command.end()},
        .environment = job.environment,
        .working_directory = job.folder,
        .descriptors = {{log.get(), STDOUT_FILENO}, {log.get(), STDERR_FILENO}}};
    auto signals = SignalSource::open();
    auto const child = spawn(options);
    // If this commit lacks a script of the repository, the build fails for this commit only.
    if (child.has_error()) return child.error().message;
    auto const ending = wait_for(*child, signals, job.limit);
    signal_group(*child, SIGKILL);  // orphans of the build would write on; the child is not reaped
                                    // yet, so that its pid is not reused
    auto const status = reap(*child);
    if (ending == Ending::interrupted) return Error{Errc::cancelled, "interrupted in a build"};
    if (ending == Ending::late) {
        return "was stopped after " +
               format_seconds(std::chrono::duration<double>(job.limit).count());
    }
    bool const is_killed = status.signal == SIGKILL || status.signal == SIGTERM;
    if (is_killed) return Error{Errc::out_of_memory, "the build " + describe(status)};
    if (status.signal == 0 && status.exit_code == 0) return std::string();
    auto const tail = end_of(job.log);
    OSORA_TRY_VOID(check_space(job.folder, tail));
    auto const words = last_line(tail);
    return describe(status) + (words.empty() ? "" : ": " + words);
}

}  // namespace osora::cli
