// The one way to open a file that is to be read: what is no file (a FIFO without a writer, a
// device, a socket, a folder) is refused at once, in place of a wait that has no end.
#pragma once

#include "base/files/descriptor.hpp"
#include "base/result.hpp"

#include <filesystem>

namespace osora {

/// `path`, opened for reading; `flags` are added, as O_NOFOLLOW. not_found, io: it cannot be
/// opened; invalid_input: not a regular file, with what it is. Never waits for somebody to write.
[[nodiscard]] Result<Descriptor> open_regular(std::filesystem::path const& path, int flags = 0);

/// The same without opening it, for libraries that open by name.
[[nodiscard]] Result<void> check_regular(std::filesystem::path const& path);

/// Whether `path` names what the user handed over as an open stream: /dev/stdin, /dev/fd/N.
[[nodiscard]] bool is_stream_path(std::filesystem::path const& path);

}  // namespace osora
