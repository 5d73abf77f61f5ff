// Writing all of a text to an open file.
#pragma once

#include "base/result.hpp"

#include <filesystem>
#include <string_view>

namespace osora {

/// Goes on after signals and partial writes. `path`: the file's name in errors (io, out_of_space).
[[nodiscard]] Result<void> write_whole(int descriptor, std::string_view bytes,
                                       std::filesystem::path const& path);

}  // namespace osora
