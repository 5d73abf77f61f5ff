// The history is there for a reader even when its file is not.
#include "cli/command/history_access.hpp"

#include "base/files/file_lock.hpp"
#include "db/store/queries.hpp"
#include "protocol/run_directory.hpp"
#include "tests/unit/cli/report/demo_run.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace osora::cli::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class HistoryAccess : public testing::Test {
protected:
    HistoryAccess() {
        run_dir_ = db::test::write_run(state_.path(), "demo-0041",
                                       db::test::journal_bytes(records_of({.number = 41})));
    }
    std::size_t runs(OpenHistory& history) { return db::list_runs(*history.store, "", 9)->size(); }
    db::test::StateDir state_;
    std::filesystem::path run_dir_;
};

TEST_F(HistoryAccess, IngestsFirst) {
    auto history = open_history(state_.path());
    ASSERT_TRUE(history.has_value()) << history.error().message;
    EXPECT_THAT(history->warnings, IsEmpty());
    EXPECT_EQ(runs(*history), 1u);
    EXPECT_TRUE(std::filesystem::exists(db::history_file(state_.path())));
}

TEST_F(HistoryAccess, ReadsTheJournalsOfADamagedHistory) {
    std::ofstream(db::history_file(state_.path())) << std::string(5000, 'x');
    auto history = open_history(state_.path());
    ASSERT_TRUE(history.has_value()) << history.error().message;
    EXPECT_THAT(history->warnings,
                testing::Contains(testing::AllOf(HasSubstr("osora history rebuild"),
                                                 HasSubstr("read from the journals instead"))));
    EXPECT_EQ(runs(*history), 1u);
    EXPECT_EQ(std::filesystem::file_size(db::history_file(state_.path())), 5000u);
}

TEST_F(HistoryAccess, ReadsTheJournalsWhenAnotherProgramHasTheFile) {
    { ASSERT_TRUE(open_history(state_.path()).has_value()); }
    SQLite::Database other(db::history_file(state_.path()).string(), SQLite::OPEN_READWRITE);
    other.exec("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=DELETE; BEGIN EXCLUSIVE");
    auto history = open_history(state_.path(), {.busy_wait = std::chrono::milliseconds(50)});
    ASSERT_TRUE(history.has_value()) << history.error().message;
    EXPECT_THAT(history->warnings, ElementsAre(HasSubstr("locked for 0.1 s")));
    EXPECT_EQ(runs(*history), 1u);
}

TEST_F(HistoryAccess, RefusesANewerSchema) {
    { ASSERT_TRUE(open_history(state_.path()).has_value()); }
    SQLite::Database(db::history_file(state_.path()).string(), SQLite::OPEN_READWRITE)
        .exec("PRAGMA user_version=99");
    auto const history = open_history(state_.path());
    ASSERT_TRUE(history.has_error());
    EXPECT_EQ(history.error().code, Errc::invalid_input);
}

TEST_F(HistoryAccess, IsEmptyWithoutAStateFolder) {
    auto history = open_history(state_.path() / "none");
    ASSERT_TRUE(history.has_value()) << history.error().message;
    EXPECT_EQ(runs(*history), 0u);
    EXPECT_FALSE(std::filesystem::exists(state_.path() / "none"));
}

TEST_F(HistoryAccess, LooksAtTheControllersLock) {
    db::RunRecord run;
    run.run_dir = run_dir_.string();
    EXPECT_FALSE(liveness_of(run).controller_alive);
    EXPECT_TRUE(liveness_of(run).folder_exists);
    auto const lock = FileLock::acquire(protocol::RunPaths{run_dir_}.lock());
    EXPECT_TRUE(liveness_of(run).controller_alive);
    std::filesystem::remove_all(run_dir_);
    EXPECT_FALSE(liveness_of(run).folder_exists);
}

}  // namespace
}  // namespace osora::cli::test
