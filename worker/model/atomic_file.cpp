#include "worker/model/atomic_file.hpp"

#include "base/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace osora::worker {

AtomicFile::AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFile::~AtomicFile() {
    if (fd_ < 0) return;
    ::close(fd_);
    ::unlink(temporary_.c_str());
}

Result<AtomicFile> AtomicFile::create(std::filesystem::path const& path) {
    std::filesystem::path temporary = path;
    temporary += fmt::format(".{}.tmp", ::getpid());
    int const fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return file_error(errno, "create", temporary);
    return AtomicFile(path, std::move(temporary), fd);
}

Result<void> AtomicFile::write(std::string_view bytes) {
    while (!bytes.empty()) {
        ssize_t const wrote = ::write(fd_, bytes.data(), bytes.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return file_error(errno, "write", temporary_);
        bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return {};
}

Result<void> AtomicFile::commit() {
    if (::fsync(fd_) != 0) return file_error(errno, "sync", temporary_);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) return file_error(errno, "rename", path_);
    int const fd = std::exchange(fd_, -1);
    if (::close(fd) != 0) return file_error(errno, "close", path_);
    return sync_directory(path_.has_parent_path() ? path_.parent_path() : ".");
}

}  // namespace osora::worker
