// What collectives cost, from journals into v_collective and reports: against sums over the
// records, through archives, vacuum and a rebuild.
#include "db/archive/run_archive.hpp"
#include "db/ingest/ingest.hpp"
#include "db/retention/retention.hpp"
#include "db/store/queries.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

namespace osora::db::test {
namespace {

constexpr char const* kRows =
    "SELECT class,bucket,warmup,attempt,rank_steps,calls,bytes,seconds,exposed_s,ranks,nodes FROM "
    "v_collective ORDER BY 1,2,3,4";

RunShape shape() {
    return {.nodes = 2,
            .ranks_per_node = 2,
            .steps = 2000,
            .relaunches = 1,
            .chunk_steps_max = 300,
            .collectives = true};
}

/// As kRows, added up here.
std::string expected_rows(Records const& records) {
    std::map<std::tuple<std::string, std::string, bool, int>, protocol::CollectiveSum> sums;
    for (auto const& record : records) {
        auto const* reported = std::get_if<protocol::CollectiveSums>(&record.event);
        if (reported == nullptr) continue;
        for (auto const& each : reported->sums) {
            auto& sum = sums[{each.cost.name, each.bucket, each.warmup, reported->attempt}];
            sum.rank_steps += each.rank_steps;
            sum.cost.calls += each.cost.calls;
            sum.cost.bytes += each.cost.bytes;
            sum.cost.seconds += each.cost.seconds;
            sum.cost.exposed_s += each.cost.exposed_s;
        }
    }
    std::string text;
    for (auto const& [key, sum] : sums) {
        auto const& [name, bucket, warmup, attempt] = key;
        text += fmt::format("{}|{}|{:d}|{}|{}|{}|{}|{}|{}|4|2\n", name, bucket, warmup, attempt,
                            sum.rank_steps, sum.cost.calls, sum.cost.bytes, sum.cost.seconds,
                            sum.cost.exposed_s);
    }
    return text;
}

class CollectiveRows : public testing::Test {
protected:
    CollectiveRows() : records_(RunMaker(3).make(shape())) {
        write_run(state_.path(), "tiny-0001", journal_bytes(records_));
        auto const store = open();
        EXPECT_TRUE(ingest_all(*store, state_.path()).has_value());
    }
    std::unique_ptr<Store> open() { return std::move(*Store::open(history_file(state_.path()))); }
    std::string rows() { return ask(history_file(state_.path()), kRows); }
    StateDir state_;
    Records records_;
};

TEST_F(CollectiveRows, AreTheSumsOfTheRecords) {
    EXPECT_EQ(rows(), expected_rows(records_));
    EXPECT_EQ(ask(history_file(state_.path()),
                  "SELECT count(*) FROM event WHERE kind="
                  "'collectives'"),
              "0\n");
    auto const again = open();
    EXPECT_TRUE(ingest_all(*again, state_.path()).has_value());
    EXPECT_EQ(rows(), expected_rows(records_)) << "what was read is not read again";
}

TEST_F(CollectiveRows, ReportsAddThemUpAfterTheFirstSteps) {
    auto const store = open();
    auto const history = load_run(*store, find_run(*store, "1")->run_id).value();
    ASSERT_EQ(history.collectives.size(), 2u);
    auto const& gradients = history.collectives[0];
    EXPECT_EQ(gradients.name, "gradients all_reduce");
    EXPECT_EQ(gradients.ranks, 4);
    // Two buckets, two nodes, two launches, five steps of two ranks; two calls of 1 MB a step.
    EXPECT_EQ(gradients.rank_steps, 2 * 2 * 2 * 10);
    EXPECT_EQ(gradients.calls, 2 * gradients.rank_steps);
    EXPECT_EQ(gradients.bytes, 1e6 * static_cast<double>(gradients.calls));
    EXPECT_EQ(history.collectives[1].name, "stop vote");
}

TEST_F(CollectiveRows, StayThroughVacuumRebuildAndAnArchive) {
    auto const expected = expected_rows(records_);
    StateDir elsewhere;
    {
        auto const store = open();
        auto const other = std::move(*Store::open(history_file(elsewhere.path())));
        auto const archive = state_.path() / "case.osora";
        ASSERT_TRUE(export_runs({*find_run(*store, "1")}, archive).has_value());
        ASSERT_TRUE(import_runs(*other, elsewhere.path(), archive).has_value());
        RetentionRules rules;
        rules.now_us = 4'000'000'000'000'000;  // much later
        rules.is_live = [](std::string const&) { return false; };
        auto const plan = plan_retention(*store, rules).value();
        EXPECT_FALSE(plan.runs.empty());
        EXPECT_TRUE(apply_retention(*store, plan, rules).has_value());
    }
    EXPECT_EQ(ask(history_file(elsewhere.path()), kRows), expected);
    EXPECT_EQ(rows(), expected);
    ASSERT_TRUE(rebuild(state_.path()).has_value());
    EXPECT_EQ(rows(), expected);
}

TEST_F(CollectiveRows, DamageIsLeftOut) {
    auto records = records_;
    for (auto& record : records) {
        auto* reported = std::get_if<protocol::CollectiveSums>(&record.event);
        if (reported != nullptr && reported->number == 1) reported->sums.front().cost.seconds = -1;
    }
    std::get<protocol::RunSubmitted>(records.front().event).run_uuid = uuid_of(2);
    write_run(state_.path(), "tiny-0002", journal_bytes(records));
    auto const store = open();
    EXPECT_TRUE(ingest_all(*store, state_.path()).has_value());
    EXPECT_EQ(ask(history_file(state_.path()),
                  fmt::format("SELECT count(*),min(warmup) FROM v_collective WHERE uuid='{}'",
                              uuid_of(2))),
              "6|1\n");
}

}  // namespace
}  // namespace osora::db::test
