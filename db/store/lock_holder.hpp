// The process that holds a lock on a file, for the message "locked by ...". Best effort, never
// fatal.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace osora::db {

/// "sqlite3 (pid 123)" for the first other process of this machine with a lock on one of the files,
/// from /proc/locks; empty when none is found.
[[nodiscard]] std::string lock_holder(std::span<std::filesystem::path const> files);

}  // namespace osora::db
