// Options that name a file to write.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace osora::cli {

/// Checked before the work, not after. Errors: invalid_input if `file` is empty, not a regular file
/// (a device would be replaced), or in no folder.
[[nodiscard]] Result<void> check_new_file(std::string_view option, std::string const& file);

}  // namespace osora::cli
