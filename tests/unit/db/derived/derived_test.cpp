// What follows from several runs follows them: after a resumed run, a run that was replaced, and
// whichever call read the journals, it is what a fresh history has.
#include "db/ingest/ingest.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

namespace osora::db::test {
namespace {

class DerivedRows : public testing::Test {
protected:
    DerivedRows() { store_ = std::move(*Store::open(file())); }
    std::filesystem::path file() { return history_file(state_.path()); }
    std::string ask(std::string const& sql) { return test::ask(file(), sql); }

    /// Steps of a bit more than `step_s`.
    static Records run(int number, double step_s) {
        auto records = RunMaker(static_cast<std::uint64_t>(number))
                           .make({.number = number, .steps = 40, .matrices = true});
        for (auto& record : records) {
            auto* chunk = std::get_if<protocol::MetricChunk>(&record.event);
            if (chunk == nullptr) continue;
            for (auto& mean : chunk->columns["step_time_s"].mean) mean = step_s + 0.01 * mean;
        }
        return records;
    }
    std::filesystem::path write(int number, Records const& records) {
        return write_run(state_.path(), "tiny-" + std::to_string(number), journal_bytes(records));
    }
    void ingest() {
        auto const done = ingest_all(*store_, state_.path());
        ASSERT_TRUE(done.has_value()) << done.error().message;
    }
    /// Not the journals' place, which differs.
    std::string fresh() {
        StateDir other;
        std::filesystem::copy(state_.path() / "runs", other.path() / "runs",
                              std::filesystem::copy_options::recursive);
        auto const store = Store::open(history_file(other.path()));
        EXPECT_TRUE(ingest_all(**store, other.path()).has_value());
        return test::ask(history_file(other.path()), kAll);
    }
    static constexpr char const* kAll =
        "SELECT 'a',run,good_run,part,gap_s,good_s FROM v_attribution UNION ALL SELECT "
        "'c',run,run_before,method,ratio,before_s FROM v_change_point UNION ALL SELECT "
        "'s',run,attempt,name,from_us,to_us FROM v_span UNION ALL SELECT "
        "'w',run,first_step,last_step,step_s,samples_per_s FROM v_window ORDER BY 1,2,3,4,5";
    static constexpr char const* kPairs =
        "SELECT DISTINCT run,good_run FROM v_attribution ORDER BY 1,2";

    StateDir state_;
    std::unique_ptr<Store> store_;
};

TEST_F(DerivedRows, AResumedRunIsComparedWhenItEndsAgain) {
    write(1, run(1, 0.5));
    auto records = run(2, 0.8);
    write(2, records);
    ingest();
    EXPECT_EQ(ask(kPairs), "2|1\n");
    auto const add = [&](protocol::RunEvent event) {
        records.push_back({records.size(), records.back().wall_us + 1000, std::move(event)});
    };
    add(protocol::LaunchOrdered{1, 1, "127.0.0.1", 4000});
    write(2, records);
    ingest();
    EXPECT_EQ(ask(kPairs), "");
    EXPECT_EQ(ask(kAll), fresh());
    add(protocol::RunEnded{protocol::Verdict::ok, 0, ""});
    write(2, records);
    ingest();
    EXPECT_EQ(ask(kPairs), "2|1\n");
    EXPECT_EQ(ask(kAll), fresh());
    // All of it between two looks: the pair is the same, its figures are not.
    auto const before = ask("SELECT gap_s FROM v_attribution");
    add(protocol::LaunchOrdered{2, 1, "127.0.0.1", 4000});
    for (auto const& record : run(3, 0.9)) {
        auto const* chunk = std::get_if<protocol::MetricChunk>(&record.event);
        if (chunk == nullptr) continue;
        auto later = *chunk;
        later.attempt = 2;
        later.step0 += 40;
        add(later);
    }
    add(protocol::RunEnded{protocol::Verdict::ok, 0, ""});
    write(2, records);
    ingest();
    EXPECT_NE(ask("SELECT gap_s FROM v_attribution"), before);
    EXPECT_EQ(ask(kAll), fresh());
}

TEST_F(DerivedRows, AnotherGoodRunIsAnotherComparison) {
    write(1, run(1, 0.5));
    write(2, run(2, 0.55));
    write(3, run(3, 0.8));
    ingest();
    EXPECT_EQ(ask(kPairs), "2|1\n3|2\n");
    auto const before = ask("SELECT gap_s FROM v_attribution WHERE run=2");
    // Run 2 is read again, with other steps.
    auto other = run(2, 0.7);
    other[1].wall_us += 1;
    write(2, other);
    ingest();
    EXPECT_EQ(ask(kPairs), "2|1\n3|2\n");
    EXPECT_NE(ask("SELECT gap_s FROM v_attribution WHERE run=2"), before);
    EXPECT_EQ(ask(kAll), fresh());
    write(2, run(2, 0.9));
    ingest();
    EXPECT_EQ(ask(kPairs), "2|1\n3|1\n");
    EXPECT_EQ(ask(kAll), fresh());
}

TEST_F(DerivedRows, AreLeftToTheNextCommandByTheController) {
    auto const one = write(1, run(1, 0.5));
    auto const two = write(2, run(2, 0.8));
    ASSERT_TRUE(ingest_run(*store_, one).has_value());
    ASSERT_TRUE(ingest_run(*store_, two).has_value());
    EXPECT_EQ(ask("SELECT count(*) FROM v_window"), "2\n");
    EXPECT_EQ(ask("SELECT count(*) FROM stale_series"), "1\n");
    EXPECT_EQ(ask(kPairs), "");
    ingest();
    EXPECT_EQ(ask(kPairs), "2|1\n");
    EXPECT_EQ(ask(kAll), fresh());
    EXPECT_EQ(ask("SELECT count(*) FROM stale_series"), "0\n");
}

TEST_F(DerivedRows, ARunThatHasNotEndedIsNoGroundForThem) {
    write(1, run(1, 0.5));
    auto live = run(2, 0.8);
    live.pop_back();
    write(2, live);
    ingest();
    EXPECT_EQ(ask(kPairs), "");
    EXPECT_EQ(ask("SELECT run FROM v_window ORDER BY 1"), "1\n2\n");
}

/// With a [[stage]] of these frames from step 20 on.
Records with_stage(Records records, int num_frames) {
    namespace json = protocol::json;
    json::value const bucket{
        {"resolution", "64"}, {"num_frames", num_frames}, {"global_batch_size", 2}};
    json::value const stage{{"at_step", 20}, {"chosen", {{"buckets", json::array{bucket}}}}};
    for (auto& record : records) {
        auto* chosen = std::get_if<protocol::PlanChosen>(&record.event);
        if (chosen != nullptr) chosen->plan.as_object()["stages"] = json::array{stage};
    }
    return records;
}

TEST_F(DerivedRows, RunsWithOtherStagesDoOtherWork) {
    write(1, with_stage(run(1, 0.5), 8));
    write(2, with_stage(run(2, 0.8), 16));
    write(3, with_stage(run(3, 0.9), 8));
    write(4, run(4, 0.95));
    ingest();
    std::string const kSame =
        "SELECT count(DISTINCT series_id) FROM run UNION ALL SELECT count(DISTINCT series_id) FROM "
        "run WHERE number IN(1,3)";
    EXPECT_EQ(ask(kSame), "3\n1\n");
    EXPECT_EQ(ask(kPairs), "3|1\n");
    // As an older version wrote it.
    store_.reset();
    SQLite::Database(file().string(), SQLite::OPEN_READWRITE)
        .exec(
            "UPDATE run SET series_id=(SELECT series_id FROM run WHERE number=4);"
            "DELETE FROM attribution; DELETE FROM comparison; DELETE FROM stale_series; PRAGMA "
            "user_version=14");
    ASSERT_EQ(ask(kSame), "1\n1\n");
    store_ = std::move(*Store::open(file()));
    ingest();
    EXPECT_EQ(ask(kSame), "3\n1\n");
    EXPECT_EQ(ask(kPairs), "3|1\n");
    EXPECT_EQ(ask(kAll), fresh());
}

}  // namespace
}  // namespace osora::db::test
