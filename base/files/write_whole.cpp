#include "base/files/write_whole.hpp"

#include "base/files/files.hpp"

#include <unistd.h>

#include <cerrno>

namespace osora {

Result<void> write_whole(int descriptor, std::string_view bytes,
                         std::filesystem::path const& path) {
    while (!bytes.empty()) {
        ssize_t const wrote = ::write(descriptor, bytes.data(), bytes.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return file_error(errno, "write", path);
        bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return {};
}

}  // namespace osora
