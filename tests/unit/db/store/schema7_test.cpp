// A history.db of schema 7, from before collectives were counted: its rows stay, and v_collective
// has the probes' figures that it had.
#include "base/files/files.hpp"
#include "db/ingest/check.hpp"
#include "db/ingest/ingest.hpp"
#include "db/store/migrate.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::db::test {
namespace {

constexpr char const* kAsBefore =
    "SELECT run,uuid,backend,collective,ranks,nodes,size_bytes,time_us,algbw_gbps FROM "
    "v_collective";

class Schema7 : public testing::Test {
protected:
    Schema7() {
        std::filesystem::path const data = OSORA_HISTORY_DATA;
        SQLite::Database old(file().string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        old.exec(read_file(data / "schema7.sql").value());
        old.exec("UPDATE plan SET sp_size=2 WHERE run_id=1");
        old.exec("INSERT INTO probe_collective VALUES(1,7,0,'gloo','all_reduce',4,2,1000000,250)");
    }
    std::filesystem::path file() { return history_file(state_.path()); }
    std::string ask(std::string const& sql) { return test::ask(file(), sql); }
    StateDir state_;
};

TEST_F(Schema7, GetsCollectivesAndLosesNothing) {
    ASSERT_EQ(ask("PRAGMA user_version"), "7\n");
    auto const probes = ask(kAsBefore);
    auto const rows = [&] {
        return ask("SELECT count(*) FROM step") + ask("SELECT * FROM measured") +
               ask("SELECT * FROM v_window") + ask("SELECT * FROM v_span") +
               ask("SELECT * FROM v_attribution");
    };
    auto const before = rows();
    {
        auto const store = Store::open(file());
        ASSERT_TRUE(store.has_value()) << store.error().message;
        ASSERT_TRUE(ingest_all(**store, state_.path()).has_value());
        auto const check = check_history(**store);
        ASSERT_TRUE(check.has_value()) << check.error().message;
        EXPECT_THAT(check->problems, testing::IsEmpty());
    }
    EXPECT_EQ(ask("PRAGMA user_version"), std::to_string(schema_version()) + "\n");
    EXPECT_EQ(rows(), before);
    EXPECT_EQ(ask(kAsBefore), probes);
    EXPECT_THAT(probes, testing::HasSubstr("|gloo|all_reduce|4|2|1000000|250.0|4.0\n"));
    EXPECT_EQ(ask("SELECT count(class)+count(bucket)+count(exposed_s) FROM v_collective"), "0\n");
    EXPECT_EQ(ask("SELECT count(*) FROM collective_sum"), "0\n");
    // How ranks share tokens was not stored while there was one way.
    EXPECT_EQ(ask("SELECT sp_size,sp_kind FROM v_run WHERE run<3 ORDER BY run"), "2|ulysses\n1|\n");
}

}  // namespace
}  // namespace osora::db::test
