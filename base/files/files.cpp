#include "base/files/files.hpp"

#include "base/files/regular_file.hpp"
#include "base/files/write_whole.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace osora {
namespace {

struct FileSystem {
    unsigned long magic;
    char const* name;
    bool network;
};

// From linux/magic.h and the sources of the file systems.
constexpr std::array kFileSystems{
    FileSystem{0xEF53, "ext4", false},
    FileSystem{0x58465342, "xfs", false},
    FileSystem{0x9123683E, "btrfs", false},
    FileSystem{0x01021994, "tmpfs", false},
    FileSystem{0x794C7630, "overlayfs", false},
    FileSystem{0x2FC12FC1, "zfs", false},
    FileSystem{0x858458F6, "ramfs", false},
    FileSystem{0xF2F52010, "f2fs", false},
    FileSystem{0x6969, "nfs", true},
    FileSystem{0x0BD00BD0, "lustre", true},
    FileSystem{0x47504653, "gpfs", true},
    FileSystem{0x19830326, "beegfs", true},
    FileSystem{0x00C36400, "cephfs", true},
    FileSystem{0xFF534D42, "cifs", true},
    FileSystem{0xFE534D42, "smb2", true},
    FileSystem{0x5346414F, "afs", true},
    FileSystem{0x01021997, "9p", true},
    FileSystem{0x65735546, "fuse", true},
};

Result<FileSystem> file_system_of(std::filesystem::path const& path) {
    struct statfs info {};
    if (::statfs(path.c_str(), &info) != 0) return file_error(errno, "statfs", path);
    auto const magic = static_cast<unsigned long>(info.f_type) & 0xFFFFFFFFul;
    auto const* found = std::ranges::find(kFileSystems, magic, &FileSystem::magic);
    if (found == kFileSystems.end()) return FileSystem{magic, "unknown", false};
    return *found;
}

/// Itself, not where a link points: a link may be another user's.
bool is_character_device(std::filesystem::path const& path) {
    struct stat facts {};
    return ::lstat(path.c_str(), &facts) == 0 && S_ISCHR(facts.st_mode);
}

Result<Descriptor> open_stream(std::filesystem::path const& path) {
    Descriptor stream(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!stream.is_open()) return file_error(errno, "open", path);
    return stream;
}

}  // namespace

Error file_error(int error, std::string_view what, std::filesystem::path const& path) {
    Errc code = Errc::io;
    if (error == ENOSPC || error == EDQUOT || error == EFBIG) code = Errc::out_of_space;
    if (error == ENOENT) code = Errc::not_found;
    return {code,
            fmt::format("{}: {}: {}", path.string(), what, std::generic_category().message(error))};
}

Result<std::string> read_file(std::filesystem::path const& path, std::int64_t limit_bytes) {
    OSORA_TRY(Descriptor const file, is_stream_path(path) ? open_stream(path) : open_regular(path));
    std::string content;
    std::array<char, 1 << 16> buffer{};
    while (true) {
        ssize_t const got = ::read(file.get(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_error(errno, "read", path);
        if (got == 0) return content;
        content.append(buffer.data(), static_cast<std::size_t>(got));
        if (static_cast<std::int64_t>(content.size()) > limit_bytes) {
            return Error{Errc::invalid_input, fmt::format("{}: longer than the limit of {} bytes",
                                                          path.string(), limit_bytes)};
        }
    }
}

Result<Descriptor> open_private(std::filesystem::path const& path, int flags) {
    Descriptor file(::open(path.c_str(), flags | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kPrivate));
    if (file.is_open()) return file;
    if (errno == ELOOP) return Error{Errc::io, path.string() + ": open: is a symbolic link"};
    return file_error(errno, "open", path);
}

Result<void> write_file_atomic(std::filesystem::path const& path, std::string_view content,
                               int mode) {
    if (is_stream_path(path) || is_character_device(path)) {
        Descriptor const stream(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
        if (!stream.is_open()) return file_error(errno, "open", path);
        return write_whole(stream.get(), content, path);
    }
    OSORA_TRY(auto file, NewFile::create(path, mode));
    OSORA_TRY_VOID(file.write(content));
    return file.replace();
}

std::filesystem::path folder_of(std::filesystem::path const& path) {
    return path.has_parent_path() ? path.parent_path() : ".";
}

Result<void> sync_directory(std::filesystem::path const& directory) {
    Descriptor const folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() < 0) return file_error(errno, "open", directory);
    // Some network file systems cannot sync a folder; then the rename has to do.
    if (::fsync(folder.get()) != 0 && errno != EINVAL) return file_error(errno, "sync", directory);
    return {};
}

Result<std::string> file_system_type(std::filesystem::path const& path) {
    OSORA_TRY(auto found, file_system_of(path));
    return std::string(found.name);
}

Result<bool> is_network_file_system(std::filesystem::path const& path) {
    OSORA_TRY(auto found, file_system_of(path));
    return found.network;
}

Result<std::int64_t> free_bytes(std::filesystem::path const& path) {
    struct statvfs info {};
    if (::statvfs(path.c_str(), &info) != 0) return file_error(errno, "statvfs", path);
    return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
}

}  // namespace osora
