// Private to db/: the format that both sides of run_archive.hpp use.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace osora::db {

/// "OSOA": an archive of runs.
constexpr int kArchiveId = 0x4f534f41;
constexpr int kArchiveVersion = 1;
constexpr std::int64_t kArchivePieceBytes = 1 << 20;

/// The only files that an archive may hold. The journal comes first and is required.
struct ArchiveFile {
    std::string_view name;
    std::int64_t bytes_max;
};
inline constexpr std::array<ArchiveFile, 7> kArchiveFiles{{{"journal", std::int64_t{64} << 30},
                                                           {"run.toml", 16 << 20},
                                                           {"submission.json", 16 << 20},
                                                           {"plan.json", 16 << 20},
                                                           {"job.json", 16 << 20},
                                                           {"slurm.json", 16 << 20},
                                                           {"probe.json", 256 << 20}}};

/// Statements as sqlite_master returns them: an archive with any other statement is refused unread.
inline constexpr std::array<std::string_view, 3> kArchiveSchema{
    "CREATE TABLE run(uuid TEXT PRIMARY KEY, name TEXT NOT NULL, number INT NOT NULL, sha256 TEXT "
    "NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE file(uuid TEXT NOT NULL, name TEXT NOT NULL, bytes INT NOT NULL, PRIMARY "
    "KEY(uuid,name)) STRICT, WITHOUT ROWID",
    "CREATE TABLE piece(uuid TEXT NOT NULL, name TEXT NOT NULL, ordinal INT NOT NULL, sha256 TEXT "
    "NOT NULL, content BLOB NOT NULL, UNIQUE(uuid,name,ordinal)) STRICT"};

/// The text that run.sha256 covers: a line for the run, then one for each file and each of its
/// pieces.
inline void append_listing(std::string& listing, std::string_view what, std::string_view detail) {
    listing.append(what).append(" ").append(detail).append("\n");
}

}  // namespace osora::db
