// flock has no time limit, so a wait polls; 10 ms is short compared with the work under such locks.
#include "base/files/file_lock.hpp"

#include "base/files/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <thread>

namespace osora {
namespace {

constexpr std::chrono::milliseconds kPoll{10};

}  // namespace

Result<FileLock> FileLock::acquire(std::filesystem::path const& path,
                                   std::chrono::milliseconds wait) {
    OSORA_TRY(auto file, open_private(path, O_RDWR));
    auto const deadline = std::chrono::steady_clock::now() + wait;
    while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR) continue;
        if (errno != EWOULDBLOCK) return file_error(errno, "lock", path);
        if (std::chrono::steady_clock::now() >= deadline) {
            return Error{Errc::busy, fmt::format("{}: locked by another process", path.string())};
        }
        std::this_thread::sleep_for(kPoll);
    }
    return FileLock(std::move(file));
}

bool FileLock::is_held(std::filesystem::path const& path) {
    Descriptor const file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file.is_open()) return false;
    return ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace osora
