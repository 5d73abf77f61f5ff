// What users may ask, and that nothing they ask changes or leaves the file.
#include "db/store/sql_query.hpp"

#include "base/files/files.hpp"
#include "db/ingest/ingest.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::db::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class SqlQuery : public testing::Test {
protected:
    SqlQuery() {
        write_run(state_.path(), "tiny-0001", journal_bytes(RunMaker(1).make({.steps = 30})));
        store_ = std::move(*Store::open(history_file(state_.path())));
        EXPECT_TRUE(ingest_all(*store_, state_.path()).has_value());
    }
    Error refused(std::string const& sql, SqlLimits const& limits = {}) {
        auto const result = query_sql(*store_, sql, limits);
        EXPECT_TRUE(result.has_error()) << sql;
        return result.has_error() ? result.error() : Error{Errc::io, "it ran: " + sql};
    }
    StateDir state_;
    std::unique_ptr<Store> store_;
};

TEST_F(SqlQuery, GivesValuesAsTheyAre) {
    auto const result = query_sql(*store_, "SELECT 1 AS a,2.5,'x',NULL,x'00ff'; -- the end");
    ASSERT_TRUE(result.has_value()) << result.error().message;
    EXPECT_EQ(result->columns[0], "a");
    EXPECT_THAT(result->rows,
                ElementsAre(ElementsAre(SqlValue(std::int64_t{1}), SqlValue(2.5),
                                        SqlValue(std::string("x")), SqlValue(),
                                        SqlValue(SqlBlob{std::string("\0\xff", 2)}))));
}

TEST_F(SqlQuery, CutsAtTheLimit) {
    auto const some = query_sql(*store_, "SELECT step FROM v_step WHERE run=1", {.rows = 7});
    EXPECT_EQ(some->rows.size(), 7u);
    EXPECT_TRUE(some->more);
    EXPECT_FALSE(query_sql(*store_, "SELECT step FROM v_step", {.rows = 30})->more);
}

TEST_F(SqlQuery, ChangesNothing) {
    auto const before = *read_file(history_file(state_.path()));
    auto const aside = (state_.path() / "aside.db").string();
    for (std::string const& sql : {std::string("DELETE FROM run"),
                                   std::string("INSERT INTO metric(name,unit) VALUES('a','b')"),
                                   std::string("UPDATE run SET name='x' RETURNING name"),
                                   std::string("DROP TABLE step"),
                                   std::string("CREATE TABLE t(a)"),
                                   std::string("CREATE TEMP TABLE t AS SELECT 1"),
                                   std::string("ATTACH '" + aside + "' AS a"),
                                   std::string("VACUUM INTO '" + aside + "'"),
                                   std::string("VACUUM"),
                                   std::string("PRAGMA user_version=9"),
                                   std::string("PRAGMA journal_mode=DELETE"),
                                   std::string("PRAGMA query_only=OFF"),
                                   std::string("PRAGMA wal_checkpoint(TRUNCATE)"),
                                   std::string("PRAGMA writable_schema=ON"),
                                   std::string("SELECT load_extension('/tmp/x.so')"),
                                   std::string("BEGIN EXCLUSIVE"),
                                   std::string("WITH x AS (SELECT 1) DELETE FROM run"),
                                   std::string("REINDEX"),
                                   std::string("ANALYZE"),
                                   std::string("SELECT 1; DELETE FROM run"),
                                   std::string("EXPLAIN DELETE FROM run")}) {
        EXPECT_EQ(refused(sql).code, Errc::invalid_input) << sql;
    }
    EXPECT_FALSE(std::filesystem::exists(aside));
    EXPECT_EQ(*read_file(history_file(state_.path())), before);
    EXPECT_THAT(refused("DELETE FROM run").message, HasSubstr("only read here"));
    EXPECT_THAT(refused("PRAGMA user_version=9").message, HasSubstr("PRAGMA user_version"));
    // The walls are down again for whoever writes next.
    write_run(state_.path(), "tiny-0002", journal_bytes(RunMaker(2).make({.number = 2})));
    auto const ingested = ingest_all(*store_, state_.path());
    ASSERT_TRUE(ingested.has_value()) << ingested.error().message;
    EXPECT_EQ(ingested->changed, 1);
}

TEST_F(SqlQuery, NamesTheNearest) {
    EXPECT_THAT(refused("SELECT * FROM v_stp").message,
                AllOf(HasSubstr("no such table: v_stp"), HasSubstr("did you mean v_step?")));
    EXPECT_THAT(refused("SELECT s.stpe_time_s FROM v_step s").message,
                AllOf(HasSubstr("no such column"), HasSubstr("did you mean step_time_s?")));
    EXPECT_THAT(refused("SELEC 1").message, HasSubstr("syntax error"));
    EXPECT_THAT(refused("").message, HasSubstr("no statement"));
    EXPECT_THAT(refused("-- nothing").message, HasSubstr("no statement"));
    EXPECT_THAT(refused(std::string("SELECT 1\0, 2", 12)).message, HasSubstr("NUL"));
}

TEST_F(SqlQuery, EndsInTime) {
    constexpr char const* kForever =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n";
    EXPECT_EQ(refused(kForever, {.time = std::chrono::milliseconds(20)}).code, Errc::timed_out);
    SqlLimits limits;
    int looks = 0;
    limits.stopped = [&looks] { return ++looks > 3; };
    EXPECT_EQ(refused(kForever, limits).code, Errc::cancelled);
}

TEST_F(SqlQuery, IsBoundedInMemory) {
    EXPECT_THAT(refused("SELECT randomblob(100000000)").message, HasSubstr("too big"));
    EXPECT_THAT(refused("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT "
                        "hex(zeroblob(10000)) FROM n",
                        {.bytes = 1 << 20})
                    .message,
                HasSubstr("larger than 1.00 MiB"));
}

TEST_F(SqlQuery, ShowsTheSchema) {
    for (char const* sql : {"PRAGMA table_info(v_run)", "SELECT name FROM pragma_table_info('run')",
                            "EXPLAIN QUERY PLAN SELECT * FROM v_run",
                            "SELECT m.name FROM sqlite_master m, pragma_table_info(m.name)",
                            "SELECT key, value FROM v_series, json_each(work_json)"}) {
        auto const result = query_sql(*store_, sql);
        ASSERT_TRUE(result.has_value()) << sql << ": " << result.error().message;
        EXPECT_FALSE(result->rows.empty()) << sql;
    }
}

TEST_F(SqlQuery, WorksOnAStoreInMemory) {
    auto const store = Store::in_memory();
    ASSERT_TRUE(ingest_all(**store, state_.path()).has_value());
    EXPECT_EQ(query_sql(**store, "SELECT run FROM v_run")->rows.size(), 1u);
    EXPECT_TRUE(query_sql(**store, "DELETE FROM run").has_error());
}

}  // namespace
}  // namespace osora::db::test
