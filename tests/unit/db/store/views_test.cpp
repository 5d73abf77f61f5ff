// The views compared with their tables, read by another path, and their names, on which users'
// queries rely.
#include "db/ingest/ingest.hpp"
#include "db/store/migrate.hpp"
#include "db/store/queries.hpp"
#include "db/store/sql_query.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace osora::db::test {
namespace {

using testing::HasSubstr;

class Views : public testing::Test {
protected:
    Views() {
        for (int number = 1; number <= 2; ++number) {
            write_run(state_.path(), "tiny-" + std::to_string(number),
                      journal_bytes(RunMaker(static_cast<std::uint64_t>(number))
                                        .make({.number = number,
                                               .nodes = 2,
                                               .ranks_per_node = 2,
                                               .steps = 60,
                                               .relaunches = number - 1,
                                               .nan = true,
                                               .health = true})));
        }
        store_ = std::move(*Store::open(history_file(state_.path())));
        EXPECT_TRUE(ingest_all(*store_, state_.path()).has_value());
    }
    std::string ask(std::string const& sql) { return test::ask(history_file(state_.path()), sql); }
    StateDir state_;
    std::unique_ptr<Store> store_;
};

TEST_F(Views, AreThoseOfTheGuide) {
    std::ifstream file(OSORA_GUIDE);
    std::stringstream guide;
    guide << file.rdbuf();
    auto const columns =
        ask("SELECT m.name,c.name FROM sqlite_master m,pragma_table_info(m.name) c "
            "WHERE m.type='view'");
    std::stringstream lines(columns);
    int seen = 0;
    for (std::string line; std::getline(lines, line); ++seen) {
        auto const bar = line.find('|');
        EXPECT_THAT(guide.str(), HasSubstr("| `" + line.substr(0, bar) + "` |"));
        EXPECT_THAT(guide.str(), HasSubstr("`" + line.substr(bar + 1) + "`")) << line;
    }
    EXPECT_GT(seen, 100);
}

TEST_F(Views, RunSaysWhatReportsSay) {
    auto const runs = list_runs(*store_, "", 9);
    ASSERT_EQ(runs->size(), 2u);
    for (auto const& run : *runs) {
        auto const where = " FROM v_run WHERE run=" + std::to_string(run.run.number);
        EXPECT_EQ(
            ask("SELECT uuid,name,series,verdict,nodes,ranks,steps,steps_used,dp_size" + where),
            fmt::format("{}|{}|tiny|ok|2|4|60|{}|4\n", run.run.uuid, run.run.name,
                        run.measured->steps_used));
        EXPECT_EQ(ask("SELECT count(*)" + where +
                      fmt::format(" AND abs(step_s-{:.17g})<1e-12", run.measured->step_s_median)),
                  "1\n");
    }
    EXPECT_EQ(ask("SELECT series,runs,first_run,last_run FROM v_series"), "tiny|2|1|2\n");
}

TEST_F(Views, StepHasTheMeansOfItsMetrics) {
    EXPECT_EQ(ask("SELECT count(*) FROM v_step"), ask("SELECT count(*) FROM step"));
    EXPECT_EQ(ask("SELECT run,step,loss,step_time_s,step_time_max_s FROM v_step ORDER BY 1,2"),
              ask("SELECT r.number,l.step,l.mean,t.mean,t.vmax FROM run r JOIN step_summary l "
                  "USING(run_id) JOIN step_summary t USING(run_id,step) JOIN metric a ON "
                  "a.metric_id=l.metric_id AND a.name='loss' JOIN metric b ON "
                  "b.metric_id=t.metric_id AND b.name='step_time_s' ORDER BY 1,2"));
    EXPECT_EQ(ask("SELECT run,step,mean FROM v_metric WHERE metric='loss' ORDER BY 1,2"),
              ask("SELECT run,step,loss FROM v_step ORDER BY 1,2"));
}

TEST_F(Views, WhatDiffersIsOneJoin) {
    auto const differs =
        ask("SELECT kind,key,a.value,b.value FROM (SELECT * FROM v_item WHERE run=1) a FULL JOIN "
            "(SELECT * FROM v_item WHERE run=2) b USING(kind,key) WHERE a.value IS NOT b.value");
    EXPECT_EQ(differs, "software|commit|c1|c0\n");
}

TEST_F(Views, EventsRanksAndNodesNameTheirHosts) {
    EXPECT_EQ(ask("SELECT rank,node,hostname,cpus FROM v_rank WHERE run=1 ORDER BY rank"),
              "0|0|n0|0\n1|0|n0|1\n2|1|n1|2\n3|1|n1|3\n");
    EXPECT_EQ(ask("SELECT node,hostname,cores FROM v_node WHERE run=2 ORDER BY node"),
              "0|n0|2\n1|n1|2\n");
    EXPECT_EQ(ask("SELECT count(*) FROM v_event"), ask("SELECT count(*) FROM event"));
    EXPECT_EQ(ask("SELECT DISTINCT hostname FROM v_event WHERE kind='agent_joined' AND node=1"),
              "n1\n");
    EXPECT_EQ(ask("SELECT DISTINCT hostname,gpu,xids FROM v_gpu_health WHERE gpu=1 ORDER BY 1"),
              "n0|1|[79,31]\nn1|1|[79,31]\n");
}

TEST_F(Views, BucketsStandBesideThePlan) {
    EXPECT_EQ(ask("SELECT bucket,num_frames,micro_batch_size,predicted_step_s FROM v_bucket WHERE "
                  "run=1 ORDER BY 1"),
              "64x64x1|||\n64x64x8|8|2|0.5\n");
}

TEST_F(Views, AreRecreatedByAMigration) {
    store_.reset();
    {
        SQLite::Database plain(history_file(state_.path()).string(), SQLite::OPEN_READWRITE);
        std::vector<std::string> views;
        SQLite::Statement row(plain, "SELECT name FROM sqlite_master WHERE type='view'");
        while (row.executeStep()) views.push_back(row.getColumn(0).getString());
        row.reset();
        for (auto const& view : views) plain.exec("DROP VIEW " + view);
        for (char const* table : {"run", "run_rank", "event", "step", "rank_matrix", "launch",
                                  "span", "run_window", "collective_sum"}) {
            plain.exec(fmt::format("ALTER TABLE {} RENAME COLUMN attempt TO epoch", table));
        }
        plain.exec(
            "ALTER TABLE run_node RENAME COLUMN metric_attempt TO metric_epoch;"
            "ALTER TABLE plan DROP COLUMN shard_size;"
            "ALTER TABLE plan DROP COLUMN first_stage_step;"
            "ALTER TABLE plan DROP COLUMN sp_kind;"
            "ALTER TABLE plan DROP COLUMN rank_wait_s;"
            "ALTER TABLE plan DROP COLUMN rank_balance;"
            "ALTER TABLE plan_bucket DROP COLUMN tokens_per_sample;"
            "DROP TABLE plan_batch;"
            "CREATE VIEW v_gone AS SELECT epoch FROM step;"
            "PRAGMA user_version=8");
    }
    ASSERT_TRUE(Store::open(history_file(state_.path())).has_value());
    EXPECT_EQ(ask("SELECT count(*) FROM sqlite_master WHERE name='v_gone'"), "0\n");
    EXPECT_EQ(ask("SELECT count(*) FROM v_step WHERE run=1"), "60\n");
}

}  // namespace
}  // namespace osora::db::test
