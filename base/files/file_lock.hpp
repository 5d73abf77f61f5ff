// flock on a dedicated file: one holder among all processes (and all FileLocks of one process). The
// kernel releases it when the holder dies, however it dies.
#pragma once

#include "base/files/descriptor.hpp"
#include "base/result.hpp"

#include <chrono>
#include <filesystem>

namespace osora {

class FileLock {
public:
    /// Creates the file when it is missing. busy: another holder kept it for all of `wait`, which
    /// blocks the calling thread. The default wait outlasts the moment that is_held takes.
    [[nodiscard]] static Result<FileLock> acquire(
        std::filesystem::path const& path,
        std::chrono::milliseconds wait = std::chrono::milliseconds(100));

    /// Whether the lock is held now; false for a missing file. The check takes the lock shared for
    /// a moment.
    [[nodiscard]] static bool is_held(std::filesystem::path const& path);

    FileLock(FileLock&&) = default;
    FileLock& operator=(FileLock&&) = default;

private:
    explicit FileLock(Descriptor file) : file_(std::move(file)) {}
    Descriptor file_;  // closing it releases the lock
};

}  // namespace osora
