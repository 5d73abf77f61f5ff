// STATE/secret.key: the key of the digests that stand for secrets in this state folder, so that
// nobody who only has the digests can guess what they are of.
#pragma once

#include "base/result.hpp"

#include <filesystem>
#include <string>

namespace osora::protocol {

/// Made (mode 0600) when it is missing; programs that make it at once get the same one.
[[nodiscard]] Result<std::string> secret_key(std::filesystem::path const& state);

/// "" when there is none.
[[nodiscard]] std::string known_secret_key(std::filesystem::path const& state);

}  // namespace osora::protocol
