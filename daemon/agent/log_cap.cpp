#include "daemon/agent/log_cap.hpp"

#include "base/files/files.hpp"
#include "base/text/units.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace osora::daemon {
namespace {

constexpr std::int64_t kBlock = 64 * kKiB;     // file systems free whole blocks only
constexpr std::int64_t kBeginningMost = kMiB;  // that is kept

std::int64_t whole_blocks(std::int64_t bytes) {
    return bytes / kBlock * kBlock;
}

}  // namespace

FilePart part_to_free(std::int64_t size_bytes, FilePart gone, std::int64_t cap_bytes) {
    if (cap_bytes <= 0 || size_bytes - (gone.end - gone.begin) <= cap_bytes) return {};
    std::int64_t const beginning = whole_blocks(std::min(kBeginningMost, cap_bytes / 16));
    std::int64_t const newest = cap_bytes / 4 * 3;
    FilePart const part{std::max(beginning, gone.end), whole_blocks(size_bytes - newest)};
    return part.is_empty() ? FilePart{} : part;
}

LogCap::LogCap(std::filesystem::path file, std::int64_t cap_bytes)
    : path_(std::move(file)), cap_bytes_(cap_bytes) {
    if (cap_bytes_ > 0) file_.reset(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
}

Result<void> LogCap::hold() {
    struct stat info {};
    if (!file_.is_open() || ::fstat(file_.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
    FilePart const part = part_to_free(info.st_size, gone_, cap_bytes_);
    if (part.is_empty()) return {};
    constexpr int kHole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    if (::fallocate(file_.get(), kHole, part.begin, part.end - part.begin) != 0) {
        int const error = errno;
        if (error == EINTR) return {};
        file_.reset();
        return file_error(error, "free the middle of", path_);
    }
    gone_ = {gone_.end > 0 ? gone_.begin : part.begin, part.end};
    return {};
}

}  // namespace osora::daemon
