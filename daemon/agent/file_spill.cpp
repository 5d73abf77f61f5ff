// A record is a length (host byte order: only this process reads it) and its bytes. Nothing is
// synced: the file is useless after a crash.
#include "daemon/agent/file_spill.hpp"

#include "base/files/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace osora::daemon {

Result<void> FileSpill::open() {
    if (file_.is_open()) return {};
    file_.reset(::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (file_.is_open()) return {};
    if (errno != EOPNOTSUPP && errno != EISDIR) return file_error(errno, "open a file in", folder_);
    std::string name = (folder_ / "osora-spill-XXXXXX").string();
    file_.reset(::mkostemp(name.data(), O_CLOEXEC));
    if (!file_.is_open()) return file_error(errno, "open a file in", folder_);
    ::unlink(name.c_str());
    return {};
}

Result<void> FileSpill::write_at(std::int64_t offset, std::string_view bytes) {
    while (!bytes.empty()) {
        ssize_t const wrote = ::pwrite(file_.get(), bytes.data(), bytes.size(), offset);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return file_error(errno, "write to a file in", folder_);
        bytes.remove_prefix(static_cast<std::size_t>(wrote));
        offset += wrote;
    }
    return {};
}

Result<std::string> FileSpill::read_at(std::int64_t offset, std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t at = 0; at < size;) {
        ssize_t const got = ::pread(file_.get(), bytes.data() + at, size - at,
                                    offset + static_cast<std::int64_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_error(errno, "read a file in", folder_);
        if (got == 0) return Error{Errc::corrupt, folder_.string() + ": the spill is cut off"};
        at += static_cast<std::size_t>(got);
    }
    return bytes;
}

Result<void> FileSpill::push(std::string_view record) {
    OSORA_TRY_VOID(open());
    std::uint64_t const size = record.size();
    std::string bytes(reinterpret_cast<char const*>(&size), sizeof size);
    bytes += record;
    auto const after = end_ + static_cast<std::int64_t>(bytes.size());
    if (after > bytes_max_) return Error{Errc::out_of_space, "the spill is full"};
    OSORA_TRY_VOID(write_at(end_, bytes));
    end_ = after;
    return {};
}

Result<std::optional<std::string>> FileSpill::pop() {
    if (begin_ == end_) return std::optional<std::string>();
    std::uint64_t size = 0;
    OSORA_TRY(auto const header, read_at(begin_, sizeof size));
    std::memcpy(&size, header.data(), sizeof size);
    OSORA_TRY(auto record, read_at(begin_ + static_cast<std::int64_t>(sizeof size), size));
    begin_ += static_cast<std::int64_t>(sizeof size + size);
    if (begin_ == end_) {
        // All was taken: give the space back to the disk.
        begin_ = end_ = 0;
        if (::ftruncate(file_.get(), 0) != 0) return file_error(errno, "truncate", folder_);
    }
    return std::optional<std::string>(std::move(record));
}

}  // namespace osora::daemon
