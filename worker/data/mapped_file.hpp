// The file behind an address, for a handler of SIGBUS: no memory is allocated, and only
// async-signal-safe calls are made.
#pragma once

#include <array>
#include <string_view>

namespace osora::worker {

using FilePath = std::array<char, 4096>;

/// Writes the path to `path`, with a NUL, and returns it as a view of it; "": no file is mapped
/// there.
[[nodiscard]] std::string_view mapped_file_at(void const* address, FilePath& path);

}  // namespace osora::worker
