#include "db/ingest/investigation_ingest.hpp"

#include "base/files/files.hpp"
#include "db/derived/investigation.hpp"
#include "db/ingest/journal_file.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>

namespace osora::db {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kFileBytesMax = 64 << 20;

/// In the order of their names.
std::vector<fs::path> files_in(fs::path const& state_dir) {
    std::vector<fs::path> files;
    for (char const* folder : {"bisects", "tunes"}) {
        std::error_code error;
        for (fs::directory_iterator at(state_dir / folder, error), end; !error && at != end;
             at.increment(error)) {
            std::error_code missing;
            if (at->path().extension() == ".json" && at->is_regular_file(missing)) {
                files.push_back(at->path());
            }
        }
    }
    std::ranges::sort(files);
    return files;
}

/// The items that a trial of "0110" takes from the bad run.
std::vector<std::string> flipped_items(std::string const& flipped,
                                       std::vector<std::string> const& items) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(flipped.size(), items.size()); ++i) {
        if (flipped[i] == '1') names.push_back(items[i]);
    }
    return names;
}

Result<Investigation> read(fs::path const& path) {
    OSORA_TRY(auto const text, read_file(path, kFileBytesMax));
    OSORA_TRY(auto found, protocol::decode<Investigation>(text));
    if (found.version == kInvestigationVersion) return found;
    return Error{Errc::invalid_input, fmt::format("version {}; this osora knows version {}",
                                                  found.version, kInvestigationVersion)};
}

void save_trials(Connection& connection, std::int64_t id, Investigation const& found) {
    int sequence = 0;
    for (auto const& trial : found.trials) {
        auto const& items = found.question.atoms;
        auto const changed =
            trial.changed.empty() ? flipped_items(trial.flipped, items) : trial.changed;
        execute(connection, "INSERT INTO trial VALUES(?1,?2,?3,?4,?5,?6,?7)", id, ++sequence,
                protocol::encode(changed), trial.status, trial.value_s, trial.cost_gpu_s,
                trial.run);
    }
}

void save_end(Connection& connection, std::int64_t id, InvestigationEnd const& end) {
    execute(connection,
            "UPDATE investigation SET ended_us=?2,verdict=?3,relation=?4,p=?5,explained=?6,"
            "good_s=?7,bad_s=?8 WHERE investigation_id=?1",
            id, end.wall_us, end.verdict, end.relation, end.p, end.explained, end.good_s,
            end.bad_s);
    int ordinal = 0;
    for (auto const& each : end.culprits) {
        execute(connection, "INSERT INTO culprit VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)", id,
                ordinal++, each.item, each.good, each.bad, each.share, each.low, each.high,
                each.holds, each.reason);
    }
}

void save(Connection& connection, std::string const& name, Investigation const& found) {
    execute(connection, "DELETE FROM investigation WHERE id=?1", name);
    auto const& question = found.question;
    execute(connection,
            "INSERT INTO investigation(id,kind,series,good_uuid,bad_uuid,rung,steps) "
            "VALUES(?1,?2,?3,?4,?5,?6,?7)",
            name, found.kind, found.series, question.good, question.bad, question.rung,
            question.steps);
    auto const id = connection.database().getLastInsertRowid();
    save_trials(connection, id, found);
    if (found.ended) save_end(connection, id, *found.ended);
}

bool is_known(Connection& connection, std::string const& path, JournalPosition const& now) {
    return select_integer(connection,
                          "SELECT 1 FROM investigation_file WHERE path=?1 AND size_bytes=?2 AND "
                          "mtime_ns=?3",
                          path, now.size_bytes, now.mtime_ns)
        .has_value();
}

Result<void> ingest_file(Connection& connection, fs::path const& path,
                         std::vector<std::string>& problems) {
    auto const now = look_at(path);
    if (now.has_error()) return {};  // deleted meanwhile
    if (is_known(connection, path.string(), *now)) return {};
    auto const found = read(path);
    std::string const problem = found.has_error() ? found.error().message : "";
    if (!problem.empty()) problems.push_back(fmt::format("{}: {}", path.string(), problem));
    return in_transaction(connection, "write history", [&]() -> Result<void> {
        if (found.has_value()) save(connection, path.stem().string(), *found);
        execute(connection, "INSERT OR REPLACE INTO investigation_file VALUES(?1,?2,?3,?4)",
                path.string(), now->size_bytes, now->mtime_ns, problem);
        return {};
    });
}

}  // namespace

Result<void> ingest_investigations(Connection& connection, fs::path const& state_dir,
                                   std::vector<std::string>& problems) {
    for (auto const& path : files_in(state_dir)) {
        OSORA_TRY_VOID(guarded(connection, "read history", [&]() -> Result<void> {
            return ingest_file(connection, path, problems);
        }));
    }
    return {};
}

}  // namespace osora::db
