// A history.db as an older osora left it, without its journals: it is brought up to date, and what
// follows from its rows is made.
#include "base/files/files.hpp"
#include "db/derived/derived.hpp"
#include "db/ingest/check.hpp"
#include "db/ingest/ingest.hpp"
#include "db/store/migrate.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::db::test {
namespace {

class Schema6 : public testing::Test {
protected:
    Schema6() {
        std::filesystem::path const data = OSORA_HISTORY_DATA;
        SQLite::Database old(file().string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        old.exec(read_file(data / "schema6.sql").value());
    }
    std::filesystem::path file() { return history_file(state_.path()); }
    std::string ask(std::string const& sql) { return test::ask(file(), sql); }
    /// Opens it as today's osora does.
    void bring_up_to_date() {
        auto const store = Store::open(file());
        ASSERT_TRUE(store.has_value()) << store.error().message;
        auto const ingested = ingest_all(**store, state_.path());
        ASSERT_TRUE(ingested.has_value()) << ingested.error().message;
        auto const check = check_history(**store);
        ASSERT_TRUE(check.has_value()) << check.error().message;
        EXPECT_THAT(check->problems, testing::IsEmpty());
    }
    StateDir state_;
};

TEST_F(Schema6, IsOfThatSchema) {
    EXPECT_EQ(ask("PRAGMA user_version"), "6\n");
    EXPECT_EQ(ask("SELECT count(*) FROM step"), "72\n");
}

TEST_F(Schema6, KeepsItsRowsAndGetsWhatFollowsFromThem) {
    auto const before = ask("SELECT run_id,step,epoch,samples FROM step");
    auto const figures = ask("SELECT run_id,step_s_median,step_s_mad,steps_used FROM measured");
    bring_up_to_date();
    EXPECT_EQ(ask("PRAGMA user_version"), std::to_string(schema_version()) + "\n");
    EXPECT_EQ(ask("SELECT run_id,step,attempt,samples FROM step"), before);
    EXPECT_EQ(ask("SELECT run_id,step_s_median,step_s_mad,steps_used FROM measured"), figures);
    EXPECT_EQ(ask("SELECT run,attempt,first_step,last_step,nodes,ranks,steps FROM v_window"),
              "1|0|0|23|1|1|24\n2|0|0|23|1|1|24\n3|0|0|11|1|2|12\n3|1|12|23|1|2|12\n");
    // With one window it is the run.
    EXPECT_EQ(ask("SELECT count(*) FROM v_window w JOIN v_run r USING(run) WHERE run<3 AND "
                  "w.step_s=r.step_s AND w.step_s_mad=r.step_s_mad AND "
                  "w.steps_used=r.steps_used AND abs(w.samples_per_s-r.samples_per_s)<1e-9"),
              "2\n");
    EXPECT_EQ(ask("SELECT group_concat(name||coalesce(attempt,''),' ') FROM (SELECT * FROM v_span "
                  "WHERE run=3 ORDER BY from_us,to_us)"),
              "agents start0 first_step0 checkpoint0 relaunch1 start1 checkpoint1\n");
}

TEST_F(Schema6, SaysWhyTheSlowerRunIsSlower) {
    bring_up_to_date();
    EXPECT_EQ(ask("SELECT DISTINCT run,good_run,verdict,attributable FROM v_attribution"),
              "2|1|slower|1\n");
    EXPECT_EQ(ask("SELECT part FROM v_attribution ORDER BY gap_s DESC LIMIT 1"), "loader\n");
    EXPECT_EQ(ask("SELECT count(*) FROM stale"), "0\n");
    EXPECT_EQ(ask("SELECT count(*) FROM stale_series"), "0\n");
    auto const once = dump(file());
    bring_up_to_date();
    EXPECT_EQ(dump(file()), once);
}

TEST_F(Schema6, WhatIsLeftAtTheLimitIsMadeByTheNextCall) {
    {
        auto const store = Store::open(file());
        using Clock = std::chrono::steady_clock;
        ASSERT_TRUE(derive_stale((*store)->connection(), Clock::time_point::min()).has_value());
        EXPECT_EQ(ask("SELECT count(*) FROM v_window"), "0\n");
    }
    bring_up_to_date();
    EXPECT_EQ(ask("SELECT count(*) FROM v_window"), "4\n");
}

TEST_F(Schema6, ThinnedRunsHaveNoWindowsThatWouldMiscount) {
    {
        SQLite::Database old(file().string(), SQLite::OPEN_READWRITE);
        old.exec("INSERT INTO kept SELECT uuid,99,1,1,'{}' FROM run WHERE number=1");
    }
    bring_up_to_date();
    EXPECT_EQ(ask("SELECT count(*) FROM v_window WHERE run=1"), "0\n");
    EXPECT_EQ(ask("SELECT count(*) FROM v_window WHERE run=2"), "1\n");
    EXPECT_EQ(ask("SELECT matrices FROM kept"), "2\n");
}

}  // namespace
}  // namespace osora::db::test
