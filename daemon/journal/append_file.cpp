// The real file: pread, write, fallocate, fdatasync.
#include "daemon/journal/append_file.hpp"

#include "base/files/descriptor.hpp"
#include "base/files/files.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace osora::daemon {
namespace {

class DiskFile final : public AppendFile {
public:
    DiskFile(Descriptor file, std::filesystem::path path, std::uint64_t size)
        : file_(std::move(file)), path_(std::move(path)), size_(size) {}

    [[nodiscard]] std::uint64_t size() const override { return size_; }

    [[nodiscard]] Result<std::string> read(std::uint64_t offset, std::size_t bytes) override {
        std::string content(bytes, '\0');
        ssize_t got = -1;
        do {
            got = ::pread(file_.get(), content.data(), bytes, static_cast<off_t>(offset));
        } while (got < 0 && errno == EINTR);
        if (got < 0) return file_error(errno, "read", path_);
        content.resize(static_cast<std::size_t>(got));
        return content;
    }

    [[nodiscard]] Result<void> append(std::string_view bytes) override {
        while (!bytes.empty()) {
            ssize_t const wrote = ::write(file_.get(), bytes.data(), bytes.size());
            if (wrote < 0 && errno == EINTR) continue;
            if (wrote < 0) return file_error(errno, "write", path_);
            size_ += static_cast<std::uint64_t>(wrote);
            bytes.remove_prefix(static_cast<std::size_t>(wrote));
        }
        return {};
    }

    [[nodiscard]] Result<void> truncate(std::uint64_t size) override {
        if (::ftruncate(file_.get(), static_cast<off_t>(size)) != 0) {
            return file_error(errno, "truncate", path_);
        }
        size_ = size;
        return {};
    }

    [[nodiscard]] Result<void> sync() override {
        if (::fdatasync(file_.get()) != 0) return file_error(errno, "sync", path_);
        return {};
    }

    [[nodiscard]] Result<bool> reserve(std::uint64_t size) override {
        if (size <= size_) return true;
        int rc = -1;
        do {
            rc = ::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(size_),
                             static_cast<off_t>(size - size_));
        } while (rc != 0 && errno == EINTR);
        if (rc == 0) return true;
        if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) {
            return file_error(errno, "reserve space", path_);
        }
        return false;
    }

private:
    Descriptor file_;
    std::filesystem::path path_;
    std::uint64_t size_;
};

}  // namespace

Result<std::unique_ptr<AppendFile>> open_append_file(std::filesystem::path const& path) {
    bool const is_new = !std::filesystem::exists(path);
    OSORA_TRY(auto file, open_private(path, O_RDWR | O_APPEND));
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) return file_error(errno, "stat", path);
    if (!S_ISREG(info.st_mode)) return file_error(EINVAL, "open (no regular file)", path);
    if (is_new) OSORA_TRY_VOID(sync_directory(path.parent_path()));
    return std::unique_ptr<AppendFile>(std::make_unique<DiskFile>(
        std::move(file), path, static_cast<std::uint64_t>(info.st_size)));
}

}  // namespace osora::daemon
