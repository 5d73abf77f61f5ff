// Private to db/: the files of osora bisect and osora tune (db/derived/investigation.hpp) into
// their tables. A file that has changed replaces the rows of its search; what a file no longer says
// goes.
#pragma once

#include "base/result.hpp"
#include "db/store/connection_internal.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::db {

/// Fails on errors of the database only; a file that cannot be read is left out and told once in
/// `problems` ("PATH: why"). A folder that is not there holds no files.
[[nodiscard]] Result<void> ingest_investigations(Connection& connection,
                                                 std::filesystem::path const& state_dir,
                                                 std::vector<std::string>& problems);

}  // namespace osora::db
