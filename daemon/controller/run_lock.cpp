// The holder writes "PID HOST" into the file, for the message to whoever is refused.
#include "daemon/controller/run_lock.hpp"

#include "base/files/files.hpp"
#include "base/host_name.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace osora::daemon {
namespace {

std::string holder_of(std::filesystem::path const& path) {
    auto const text = read_file(path, 4096);
    if (text.has_error() || text->empty()) return "another process";
    auto const space = text->find(' ');
    auto const end = text->find('\n');
    if (space == std::string::npos || end == std::string::npos) return "another process";
    return fmt::format("process {} on {}", text->substr(0, space),
                       text->substr(space + 1, end - space - 1));
}

/// A controller that was killed while it started an agent leaves the lock to that child until the
/// child execs; so a held lock is tried again for a second.
bool lock_soon(Descriptor const& file) {
    constexpr int kAttempts = 50;
    constexpr std::chrono::milliseconds kPause{20};
    for (int attempt = 1;; ++attempt) {
        if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return true;
        if (errno != EWOULDBLOCK || attempt == kAttempts) return false;
        std::this_thread::sleep_for(kPause);
    }
}

}  // namespace

Result<RunLock> RunLock::take(protocol::RunPaths const& paths) {
    auto const path = paths.lock();
    OSORA_TRY(auto file, open_private(path, O_RDWR));
    if (!lock_soon(file)) {
        if (errno != EWOULDBLOCK) return file_error(errno, "lock", path);
        return Error{Errc::busy, fmt::format("{}: this run already has a controller: {}",
                                             paths.dir.string(), holder_of(path))};
    }
    std::string const holder = fmt::format("{} {}\n", ::getpid(), host_name());
    // For people only: a full disk must not stop the run here.
    if (::ftruncate(file.get(), 0) == 0) {
        [[maybe_unused]] auto const wrote = ::write(file.get(), holder.data(), holder.size());
    }
    return RunLock(std::move(file));
}

}  // namespace osora::daemon
