#include "db/foreign/import_log.hpp"

#include "base/files/files.hpp"
#include "base/sha256.hpp"
#include "db/foreign/inspector_log.hpp"
#include "db/foreign/mlperf_log.hpp"
#include "db/ingest/ingest.hpp"
#include "db/store/connection_internal.hpp"
#include "db/store/run_store.hpp"
#include "protocol/journal/journal.hpp"
#include "protocol/run_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace osora::db {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSqliteHeader = "SQLite format 3";

struct Source {
    LoggedRun run;
    std::string sha256;
};

Result<std::vector<fs::path>> files_of(fs::path const& folder) {
    std::error_code error;
    std::vector<fs::path> files;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        if (at->is_regular_file()) files.push_back(at->path());
    }
    if (error) return file_error(error.value(), "read", folder);
    std::ranges::sort(files);
    return files;
}

Result<Source> read_folder(fs::path const& folder) {
    OSORA_TRY(auto const files, files_of(folder));
    InspectorLogs logs;
    std::string digests;
    for (auto const& file : files) {
        OSORA_TRY(auto const text, read_file(file));
        if (!is_inspector_log(text)) continue;
        auto const added = logs.add(text);
        if (added.has_error()) return Error(added.error()).in(file.string());
        digests += sha256_hex(text);
    }
    auto run = std::move(logs).result();
    if (run.has_error()) return std::move(run).error().in(folder.string());
    return Source{std::move(*run), sha256_hex(digests)};
}

Result<LoggedRun> read_text(std::string_view text) {
    if (is_mlperf_log(text)) return read_mlperf_log(text);
    InspectorLogs logs;
    OSORA_TRY_VOID(logs.add(text));
    return std::move(logs).result();
}

Result<Source> read_source(fs::path const& file) {
    std::error_code none;
    if (fs::is_directory(file, none)) return read_folder(file);
    OSORA_TRY(auto const text, read_file(file));
    auto run = read_text(text);
    if (run.has_error()) return std::move(run).error().in(file.string());
    return Source{std::move(*run), sha256_hex(text)};
}

/// Version 8 of RFC 9562: from the content, so that the same log is the same run.
std::string uuid_of_digest(std::string const& sha256) {
    return fmt::format("{}-{}-8{}-8{}-{}", sha256.substr(0, 8), sha256.substr(8, 4),
                       sha256.substr(13, 3), sha256.substr(17, 3), sha256.substr(20, 12));
}

Result<std::string> journal_of(LoggedRun const& run, std::string const& uuid) {
    std::string bytes(protocol::kJournalHeader);
    for (auto const& record : records_of(run, uuid)) {
        OSORA_TRY(auto const encoded, protocol::encode_record(record));
        bytes += encoded;
    }
    return bytes;
}

}  // namespace

Result<bool> is_log(fs::path const& file) {
    std::error_code none;
    if (fs::is_directory(file, none)) return true;
    std::string start(kSqliteHeader.size(), '\0');
    std::ifstream(file, std::ios::binary).read(start.data(), std::ssize(start));
    if (start == kSqliteHeader) return false;
    OSORA_TRY(auto const text, read_file(file));
    return is_mlperf_log(text) || is_inspector_log(text);
}

Result<Imported> import_log(Store& store, fs::path const& state_dir, fs::path const& file) {
    OSORA_TRY(auto const source, read_source(file));
    auto const uuid = uuid_of_digest(source.sha256);
    OSORA_TRY(auto const journal, journal_of(source.run, uuid));
    auto const records = records_of(source.run, uuid);
    auto const& submitted = std::get<protocol::RunSubmitted>(records.front().event);
    ArchivedRun const run{uuid, submitted.run_name, 0, static_cast<std::int64_t>(journal.size())};
    if (has_journal(store.connection(), uuid)) return Imported{{}, {run}};
    auto const runs = protocol::StatePaths{fs::absolute(state_dir)}.runs();
    auto const folder = runs / protocol::imported_folder_name(run.name, uuid);
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return file_error(error.value(), "make", folder);
    fs::permissions(folder, fs::perms::owner_all, error);
    OSORA_TRY_VOID(write_file_atomic(folder / protocol::kJournalFile, journal, 0600));
    OSORA_TRY_VOID(sync_directory(runs));
    OSORA_TRY_VOID(ingest_all(store, state_dir));
    return Imported{{run}, {}};
}

}  // namespace osora::db
