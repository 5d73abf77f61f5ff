// The only way to open a file for reading: anything else (a FIFO without a writer, a device, a
// socket, a folder) is refused at once instead of waiting for ever.
#pragma once

#include "base/files/descriptor.hpp"
#include "base/result.hpp"

#include <filesystem>

namespace osora {

/// Opens `path` for reading; `flags` are added, such as O_NOFOLLOW. not_found, io: it cannot be
/// opened; invalid_input: not a regular file, with what it is. Never waits for a writer.
[[nodiscard]] Result<Descriptor> open_regular(std::filesystem::path const& path, int flags = 0);

/// The same check without opening it, for libraries that open by name.
[[nodiscard]] Result<void> check_regular(std::filesystem::path const& path);

/// Whether `path` names a stream that the user passed open: /dev/stdin, /dev/stdout, /dev/fd/N.
[[nodiscard]] bool is_stream_path(std::filesystem::path const& path);

}  // namespace osora
