// STATE/secret.key: the key of the digests that replace secrets in this state folder, so that
// nobody can guess a secret from its digest alone.
#pragma once

#include "base/result.hpp"

#include <filesystem>
#include <string>

namespace osora::protocol {

/// Creates it (mode 0600) when it is missing; programs that create it at once get the same key.
[[nodiscard]] Result<std::string> secret_key(std::filesystem::path const& state);

/// "" when there is none.
[[nodiscard]] std::string known_secret_key(std::filesystem::path const& state);

}  // namespace osora::protocol
