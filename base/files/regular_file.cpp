#include "base/files/regular_file.hpp"

#include "base/files/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <string_view>

namespace osora {
namespace {

std::string_view kind_of(mode_t mode) {
    if (S_ISFIFO(mode)) return "a FIFO";
    if (S_ISSOCK(mode)) return "a socket";
    if (S_ISCHR(mode)) return "a character device";
    if (S_ISBLK(mode)) return "a block device";
    return "no file";
}

Result<void> expect_regular(struct stat const& info, std::filesystem::path const& path) {
    if (S_ISREG(info.st_mode)) return {};
    if (S_ISDIR(info.st_mode)) return invalid(file_error(EISDIR, "read", path).message);
    return invalid(fmt::format("{}: read: it is {}, expected a regular file", path.string(),
                               kind_of(info.st_mode)));
}

}  // namespace

Result<void> check_regular(std::filesystem::path const& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return file_error(errno, "open", path);
    return expect_regular(info, path);
}

Result<Descriptor> open_regular(std::filesystem::path const& path, int flags) {
    // Opening a device may have effects; a file that is replaced after this is detected below.
    if ((flags & O_NOFOLLOW) == 0) OSORA_TRY_VOID(check_regular(path));
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags));
    if (!file.is_open()) return file_error(errno, "open", path);
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) return file_error(errno, "stat", path);
    OSORA_TRY_VOID(expect_regular(info, path));
    int const set = ::fcntl(file.get(), F_GETFL);
    if (set < 0 || ::fcntl(file.get(), F_SETFL, set & ~O_NONBLOCK) != 0) {
        return file_error(errno, "open", path);
    }
    return file;
}

bool is_stream_path(std::filesystem::path const& path) {
    std::string_view const text = path.native();
    return text == "/dev/stdin" || text == "/dev/stdout" || text == "/dev/stderr" ||
           text.starts_with("/dev/fd/") || text.starts_with("/proc/self/fd/");
}

}  // namespace osora
