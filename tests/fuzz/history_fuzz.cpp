// Journals with a right checksum and any content, and damaged archives, on their way into the
// history: they are taken or refused with a message, and what other runs have there stays.
#include "base/files/files.hpp"
#include "db/archive/run_archive.hpp"
#include "db/ingest/ingest.hpp"
#include "db/store/queries.hpp"
#include "protocol/messages/message.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/fuzz/rounds.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

namespace osora::fuzz {
namespace {

namespace fs = std::filesystem;
using db::test::Records;
using db::test::RunMaker;

Records made_run(int number) {
    RunMaker maker(static_cast<std::uint64_t>(number));
    return maker.make({.number = number,
                       .nodes = 2,
                       .ranks_per_node = 2,
                       .steps = 30,
                       .relaunches = 1,
                       .health = true,
                       .matrices = true,
                       .collectives = true});
}

class HistoryFuzz : public testing::Test {
protected:
    HistoryFuzz() { begin(); }
    /// A new history, with one run that is as it should be.
    void begin() {
        store_.reset();
        state_ = std::make_unique<db::test::StateDir>();
        store_ = std::move(*db::Store::open(db::history_file(state_->path())));
        db::test::write_run(state_->path(), "tiny-0001", db::test::journal_bytes(made_run(1)));
        ASSERT_TRUE(db::ingest_all(*store_, state_->path()).has_value());
    }
    void check_history() {
        auto const runs = db::list_runs(*store_, "", 9999);
        ASSERT_TRUE(runs.has_value()) << runs.error().message;
        EXPECT_GE(runs->size(), 1u);
    }
    std::unique_ptr<db::test::StateDir> state_;
    std::unique_ptr<db::Store> store_;
};

TEST_F(HistoryFuzz, Journals) {
    std::vector<std::string> corpus;
    Records const records = made_run(2);
    for (auto const& each : records) corpus.push_back(protocol::encode_message(each.event));
    Mutator mutator(41);
    for (Rounds rounds(25); rounds.next();) {
        if (rounds.done() % 25 == 0) begin();
        Records damaged{records.front()};
        while (damaged.size() < 60) {
            auto event = protocol::decode_message<protocol::RunEvent>(mutator.mutate(corpus));
            if (event.has_error()) continue;
            damaged.push_back({damaged.size(), records.front().wall_us, std::move(*event)});
        }
        db::test::write_run(state_->path(), "tiny-0002", db::test::journal_bytes(damaged));
        auto const taken = db::ingest_all(*store_, state_->path());
        if (taken.has_error()) {
            EXPECT_FALSE(taken.error().message.empty());
        }
        check_history();
        if (HasFailure()) FAIL() << "round " << rounds.done();
    }
}

TEST_F(HistoryFuzz, Archives) {
    auto const file = state_->path() / "runs.osora", copy = state_->path() / "copy.osora";
    std::vector<db::RunRecord> runs;
    for (auto& each : *db::list_runs(*store_, "", 9)) runs.push_back(each.run);
    ASSERT_TRUE(db::export_runs(runs, file).has_value());
    std::vector<std::string> const corpus{*read_file(file)};
    Mutator mutator(42);
    db::test::StateDir other;
    auto const store = std::move(*db::Store::open(db::history_file(other.path())));
    for (Rounds rounds(40); rounds.next();) {
        ASSERT_TRUE(write_file_atomic(copy, mutator.mutate(corpus)).has_value());
        auto const imported = db::import_runs(*store, other.path(), copy);
        if (imported.has_error()) {
            EXPECT_FALSE(imported.error().message.empty());
        }
    }
    EXPECT_TRUE(db::list_runs(*store, "", 9).has_value());
}

/// Values of any kind in any column: the pages of the file are whole.
TEST_F(HistoryFuzz, ArchivesWithOtherValues) {
    auto const file = state_->path() / "runs.osora", copy = state_->path() / "copy.osora";
    std::vector<db::RunRecord> runs;
    for (auto& each : *db::list_runs(*store_, "", 9)) runs.push_back(each.run);
    ASSERT_TRUE(db::export_runs(runs, file).has_value());
    std::vector<std::string> columns;
    {
        SQLite::Database archive(file.string());
        SQLite::Statement query(archive,
                                "SELECT m.name||' SET '||c.name FROM sqlite_schema m, "
                                "pragma_table_info(m.name) c WHERE m.type='table'");
        while (query.executeStep()) columns.push_back(query.getColumn(0).getString());
    }
    ASSERT_FALSE(columns.empty());
    std::vector<std::string> const values{"NULL",
                                          "-1",
                                          "9223372036854775807",
                                          "''",
                                          "x'00ff'",
                                          "'../../x'",
                                          "zeroblob(100000)",
                                          "1e300",
                                          "'a'||char(27)||'[2J'",
                                          "'abc-9999-0000-0000-000000000000'"};
    Mutator mutator(43);
    db::test::StateDir other;
    auto const store = std::move(*db::Store::open(db::history_file(other.path())));
    for (Rounds rounds(40); rounds.next();) {
        fs::copy_file(file, copy, fs::copy_options::overwrite_existing);
        for (std::size_t i = 1 + mutator.pick(3); i > 0; --i) {
            auto const column = columns[mutator.pick(columns.size())];
            auto const name = column.substr(0, column.find(" SET "));
            SQLite::Database archive(copy.string(), SQLite::OPEN_READWRITE);
            archive.tryExec("UPDATE OR IGNORE " + column + "=" +
                            values[mutator.pick(values.size())] +
                            " WHERE rowid IN (SELECT rowid FROM " + name + " LIMIT 1)");
        }
        auto const imported = db::import_runs(*store, other.path(), copy);
        if (imported.has_error()) {
            EXPECT_FALSE(imported.error().message.empty());
        }
    }
    EXPECT_TRUE(db::list_runs(*store, "", 9).has_value());
}

}  // namespace
}  // namespace osora::fuzz
