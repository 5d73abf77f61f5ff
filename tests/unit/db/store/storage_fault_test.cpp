// Whatever operation of the disk fails, and wherever the power goes: history.db opens, what was
// said to be in it is, and the next ingestion makes it what it would have been.
#include "base/files/files.hpp"
#include "db/ingest/ingest.hpp"
#include "protocol/steps/measurement.hpp"
#include "tests/kit/size.hpp"
#include "tests/unit/db/fault_disk.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace osora::db::test {
namespace {

struct Trial {
    Fault fault = Fault::error;
    bool stays = false;
    bool on_network = false;  // a rollback journal in place of the WAL
};

Records records_of_run() {
    return RunMaker(7).make({.nodes = 2,
                             .ranks_per_node = 2,
                             .steps = 60,
                             .relaunches = 1,
                             .resend = true,
                             .health = true,
                             .matrices = true,
                             .collectives = true});
}

/// A run of the same series that is faster, and is there from the start.
std::string journal_of_good_run() {
    auto records = RunMaker(8).make({.nodes = 2, .ranks_per_node = 2, .steps = 20});
    std::get<protocol::RunSubmitted>(records.front().event).run_uuid = uuid_of(0);
    std::get<protocol::RunSubmitted>(records.front().event).number = 0;
    for (auto& record : records) {
        auto* chunk = std::get_if<protocol::MetricChunk>(&record.event);
        if (chunk == nullptr) continue;
        for (auto& mean : chunk->columns["step_time_s"].mean) mean /= 2;
    }
    return journal_bytes(records);
}

/// The search that follows, before and behind its end.
void write_bisect(StateDir const& state, bool ended) {
    std::string const trials =
        R"({"version":1,"question":{"atoms":["a","b"]},"trials":[{"flipped":"01","value_s":1}])";
    std::string const end = R"(,"ended":{"verdict":"proved","culprits":[{"item":"b"}]})";
    std::filesystem::create_directories(state.path() / "bisects");
    write_file_atomic(state.path() / "bisects" / "4f2a19.json", trials + (ended ? end : "") + "}")
        .value();
}

std::int64_t events_of(std::string_view journal) {
    protocol::JournalReader reader;
    auto const records = reader.feed(journal);
    return std::ranges::count_if(
        *records, [](auto const& record) { return !protocol::holds_measurement(record.event); });
}

StoreOptions options_of(Trial const& trial) {
    StoreOptions options;
    options.busy_wait = std::chrono::milliseconds(0);
    options.on_network = [network = trial.on_network](auto const&) {
        return Result<bool>(network);
    };
    return options;
}

std::string content(StateDir const& state) {
    auto text = dump(history_file(state.path()));
    auto const name = state.path().string();
    for (auto at = text.find(name); at != text.npos; at = text.find(name)) {
        text.replace(at, name.size(), "STATE");
    }
    return text;
}

std::int64_t events_in(std::filesystem::path const& file) {
    SQLite::Database plain(file.string(), SQLite::OPEN_READWRITE);
    return plain.execAndGet("SELECT count(*) FROM event").getInt64();
}

/// Writes the journal in two parts and ingests after each, as far as the disk lets it; how many
/// events were there when an ingestion last said that it was done.
std::int64_t work(StateDir const& state, std::string const& journal, Trial const& trial) {
    std::int64_t acknowledged = 0;
    auto const good = journal_of_good_run();
    write_run(state.path(), "good", good);
    for (auto const part : {journal.size() / 2, journal.size()}) {
        write_run(state.path(), "run-0", journal.substr(0, part));
        write_bisect(state, part == journal.size());
        auto const store = Store::open(history_file(state.path()), options_of(trial));
        if (store.has_error()) continue;
        if (ingest_all(**store, state.path(), {.piece_bytes = 6000}).has_error()) continue;
        acknowledged = events_of(good) + events_of(std::string_view(journal).substr(0, part));
    }
    return acknowledged;
}

/// Number of operations of `trial` without a fault, and the content behind it.
std::pair<int, std::string> without_fault(std::string const& journal, Trial const& trial) {
    StateDir state;
    FaultDisk disk(trial.fault, -1, false);
    work(state, journal, trial);
    return {disk.operations(), content(state)};
}

void try_at(int k, std::string const& journal, Trial const& trial, std::string const& expected) {
    StateDir state;
    std::int64_t acknowledged = 0;
    FaultDisk disk(trial.fault, k, trial.stays);
    acknowledged = work(state, journal, trial);
    ASSERT_TRUE(disk.has_failed());
    disk.mend(static_cast<std::uint64_t>(k) * 31 + 1);
    auto const store = Store::open(history_file(state.path()), options_of(trial));
    ASSERT_TRUE(store.has_value()) << store.error().message;
    ASSERT_GE(events_in(history_file(state.path())), acknowledged);
    write_run(state.path(), "run-0", journal);
    auto const ingested = ingest_all(**store, state.path());
    ASSERT_TRUE(ingested.has_value()) << ingested.error().message;
    ASSERT_TRUE(ingested->problems.empty()) << ingested->problems.front();
    ASSERT_EQ(content(state), expected);
    ASSERT_EQ(ingest_all(**store, state.path())->records, 0);
}

class StorageFaults : public testing::TestWithParam<Trial> {};

TEST_P(StorageFaults, WhereverItFailsNothingIsLost) {
    auto const journal = journal_bytes(records_of_run());
    auto const [operations, expected] = without_fault(journal, GetParam());
    ASSERT_GT(operations, 50);
    for (char const* made : {"loader", "slower", "proved", "start", "1 b"}) {
        ASSERT_NE(expected.find(made), std::string::npos) << made;
    }
    int const stride = tests::test_size("OSORA_STRIDE", 149);  // 1 in the soak tier: every one
    for (int k = 3 % stride; k < operations; k += stride) {
        try_at(k, journal, GetParam(), expected);
        if (HasFatalFailure()) {
            FAIL() << "operation " << k << " of " << operations;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, StorageFaults,
    testing::Values(Trial{Fault::error, false, false}, Trial{Fault::error, false, true},
                    Trial{Fault::full, false, false}, Trial{Fault::full, true, false},
                    Trial{Fault::full, true, true}, Trial{Fault::power_cut, true, false},
                    Trial{Fault::power_cut, true, true}),
    [](auto const& info) {
        auto const& trial = info.param;
        std::string const fault = trial.fault == Fault::error  ? "error"
                                  : trial.fault == Fault::full ? "full"
                                                               : "power_cut";
        return fault + (trial.stays ? "_stays" : "_once") +
               (trial.on_network ? "_rollback_journal" : "_wal");
    });

}  // namespace
}  // namespace osora::db::test
