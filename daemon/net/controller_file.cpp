// A file that other users could have read or written is no secret, and is not used.
#include "daemon/net/controller_file.hpp"

#include "base/files/descriptor.hpp"
#include "base/files/files.hpp"
#include "base/files/regular_file.hpp"
#include "protocol/json.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace osora::daemon {
namespace {

constexpr std::size_t kSecretBytesMax = 64 << 10;

/// The content of a file that only this user can open.
Result<std::string> read_secret(std::filesystem::path const& path) {
    OSORA_TRY(Descriptor const file, open_regular(path, O_NOFOLLOW));
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) return file_error(errno, "stat", path);
    bool const ours =
        S_ISREG(info.st_mode) && info.st_uid == ::geteuid() && (info.st_mode & 077) == 0;
    if (!ours) return Error{Errc::invalid_input, path.string() + ": other users can open it"};
    std::string content;
    std::array<char, 4096> buffer{};
    while (content.size() <= kSecretBytesMax) {
        ssize_t const got = ::read(file.get(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_error(errno, "read", path);
        if (got == 0) return content;
        content.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return Error{Errc::invalid_input, path.string() + ": too long"};
}

}  // namespace

Result<protocol::ControllerFile> read_controller_file(protocol::RunPaths const& paths,
                                                      std::string const& run_uuid) {
    auto const path = paths.controller_file();
    OSORA_TRY(auto const text, read_secret(path));
    auto file = protocol::decode<protocol::ControllerFile>(text);
    if (file.has_error()) return std::move(file).error().in(path.string());
    bool const sane = file->port > 0 && file->port <= 65535 && !file->addresses.empty();
    if (!sane || file->run_uuid != run_uuid) {
        return Error{Errc::invalid_input, path.string() + ": belongs to another run"};
    }
    return file;
}

Result<void> write_controller_file(protocol::RunPaths const& paths,
                                   protocol::ControllerFile const& file) {
    return write_file_atomic(paths.controller_file(), protocol::encode(file) + "\n", 0600);
}

Result<TlsIdentity> take_identity(protocol::RunPaths const& paths) {
    if (auto const kept = read_secret(paths.controller_key()); kept.has_value()) {
        if (auto identity = TlsIdentity::from_pem(*kept); identity.has_value()) return identity;
    }
    OSORA_TRY(auto identity, TlsIdentity::make());
    OSORA_TRY(auto const pem, identity.to_pem());
    OSORA_TRY_VOID(write_file_atomic(paths.controller_key(), pem, 0600));
    return identity;
}

}  // namespace osora::daemon
