// Private to db/: reads the files of osora bisect and osora tune (db/derived/investigation.hpp)
// into their tables. A changed file replaces the rows of its search; rows that it no longer has are
// deleted.
#pragma once

#include "base/result.hpp"
#include "db/store/connection_internal.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::db {

/// Fails only on errors of the database; a file that cannot be read is skipped and reported once in
/// `problems` ("PATH: why"). A missing folder has no files.
[[nodiscard]] Result<void> ingest_investigations(Connection& connection,
                                                 std::filesystem::path const& state_dir,
                                                 std::vector<std::string>& problems);

}  // namespace osora::db
