#include "db/ingest/ingest.hpp"

#include "base/files/file_lock.hpp"
#include "base/files/files.hpp"
#include "db/analysis/measure.hpp"
#include "db/store/queries.hpp"
#include "protocol/json.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

namespace osora::db::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Ingest : public testing::Test {
protected:
    Ingest() { store_ = std::move(*Store::open(file())); }
    fs::path file() { return history_file(state_.path()); }
    IngestReport ingest() {
        auto report = ingest_all(*store_, state_.path());
        EXPECT_TRUE(report.has_value()) << report.error().message;
        return report.has_value() ? *report : IngestReport{};
    }
    fs::path write(std::string const& name, std::string const& bytes) {
        return write_run(state_.path(), name, bytes);
    }
    std::string one(std::string const& sql) {
        SQLite::Database db(file().string());
        return db.execAndGet(sql).getString();
    }
    StateDir state_;
    std::unique_ptr<Store> store_;
};

std::string run_bytes(int number, RunShape shape = {}) {
    shape.number = number;
    return journal_bytes(RunMaker(static_cast<std::uint64_t>(number)).make(shape));
}

TEST_F(Ingest, ReadsOnlyWhatIsNew) {
    auto const bytes = run_bytes(1);
    auto const run = write("tiny-0001", bytes.substr(0, bytes.size() / 2));
    auto const first = ingest();
    EXPECT_EQ(first.changed, 1);
    EXPECT_EQ(ingest().records, 0);
    std::ofstream(run / "journal", std::ios::app) << bytes.substr(bytes.size() / 2);
    auto const second = ingest();
    EXPECT_EQ(first.records + second.records,
              static_cast<std::int64_t>(RunMaker(1).make({}).size()));
    EXPECT_EQ(ingest().changed, 0);
}

/// See Golden.AJournalOfAnOlderOsoraIsRead.
TEST_F(Ingest, ReadsAJournalOfAnOlderOsora) {
    write("recorded-0001",
          *read_file(std::string(OSORA_SOURCE_DIR) + "/tests/data/protocol/journal1_recorded"));
    EXPECT_THAT(ingest().problems, IsEmpty());
    EXPECT_EQ(one("SELECT count(*)||' '||min(ranks)||' '||sum(samples) FROM step"), "10 3 60");
    EXPECT_EQ(one("SELECT count(*) FROM step_summary JOIN metric USING(metric_id) WHERE "
                  "name='loss' AND n=3 AND vmin=10-step AND abs(vmax-(10.2-step))<1e-12 AND "
                  "abs(mean-(10.1-step))<1e-12 AND argmax=2"),
              "10");
    EXPECT_EQ(one("SELECT metric_attempt||' '||metric_step FROM run_node"), "0 10");
}

TEST_F(Ingest, NodesThatTrainDifferentBucketsAreBothNamed) {
    auto records = RunMaker(1).make({.nodes = 2, .steps = 9});
    for (auto& record : records) {
        auto* chunk = std::get_if<protocol::MetricChunk>(&record.event);
        if (chunk == nullptr || chunk->node != 1) continue;
        for (auto& bucket : chunk->bucket) bucket = "8x8x1";
    }
    write("tiny-0001", journal_bytes(records));
    ingest();
    EXPECT_EQ(one("SELECT group_concat(DISTINCT bucket) FROM (SELECT bucket FROM step ORDER BY 1)"),
              "64x64x1+8x8x1,64x64x8+8x8x1");
}

/// Found by history_fuzz: the sum over nodes went beyond an int.
TEST_F(Ingest, CountsThatNoStepHasStayNumbers) {
    auto records = RunMaker(1).make({.nodes = 2, .steps = 9});
    for (auto& record : records) {
        auto* chunk = std::get_if<protocol::MetricChunk>(&record.event);
        if (chunk == nullptr) continue;
        for (auto& samples : chunk->samples) samples = 2'000'000'000;
    }
    write("tiny-0001", journal_bytes(records));
    ingest();
    EXPECT_EQ(one("SELECT min(samples) FROM step"), "2147483647");
}

TEST_F(Ingest, KeepsTheRecordsBeforeDamage) {
    auto records = RunMaker(1).make({.steps = 40});
    auto bytes = journal_bytes(records);
    auto const front = journal_bytes({records.begin(), records.begin() + 12});
    bytes[front.size() + 20] ^= 1;
    auto const run = write("tiny-0001", bytes);
    auto const report = ingest();
    EXPECT_THAT(report.problems, ElementsAre(HasSubstr("wrong checksum")));
    EXPECT_THAT(ingest().problems, IsEmpty());
    EXPECT_EQ(one("SELECT count(*) FROM event WHERE kind='journal_damaged'"), "1");
    records.resize(12);
    EXPECT_EQ(dump_steps(file()), expected_steps(records));

    bytes[front.size() + 20] ^= 1;  // mended
    write("tiny-0001", bytes);
    EXPECT_THAT(ingest().problems, IsEmpty());
    EXPECT_EQ(one("SELECT count(*) FROM event WHERE kind='journal_damaged'"), "0");
    EXPECT_EQ(dump_steps(file()), expected_steps(RunMaker(1).make({.steps = 40})));
}

TEST_F(Ingest, LeavesATornRecordForLater) {
    auto const bytes = run_bytes(1);
    write("tiny-0001", bytes.substr(0, bytes.size() - 7));
    EXPECT_THAT(ingest().problems, IsEmpty());
    EXPECT_EQ(one("SELECT verdict FROM run"), "none");
    write("tiny-0001", bytes);
    ingest();
    EXPECT_EQ(one("SELECT verdict FROM run"), "ok");
}

TEST_F(Ingest, KnowsAJournalThatWasReplacedByAnotherRun) {
    write("tiny-0001", run_bytes(1));
    ingest();
    write("tiny-0001", run_bytes(2, {.steps = 90}));
    ingest();
    EXPECT_EQ(one("SELECT group_concat(number) FROM (SELECT number FROM run ORDER BY 1)"), "1,2");
    EXPECT_EQ(one("SELECT max(step) FROM step JOIN run USING(run_id) WHERE number=2"), "89");
    write("found again", run_bytes(1));
    EXPECT_THAT(ingest().problems, IsEmpty());
    EXPECT_THAT(one("SELECT run_dir FROM run WHERE number=1"), HasSubstr("found again"));
}

TEST_F(Ingest, ReadsARewrittenJournalAgain) {
    write("tiny-0001", run_bytes(1));
    ingest();
    auto const other = RunMaker(77).make({.number = 1, .steps = 50});
    write("tiny-0001", journal_bytes(other));
    ingest();
    EXPECT_EQ(one("SELECT count(*) FROM run"), "1");
    EXPECT_EQ(dump_steps(file()), expected_steps(other));
}

TEST_F(Ingest, FollowsAMovedFolderAndIgnoresACopy) {
    auto const run = write("tiny-0001", run_bytes(1));
    ingest();
    fs::rename(run, state_.path() / "runs" / "moved");
    EXPECT_THAT(ingest().problems, IsEmpty());
    EXPECT_THAT(one("SELECT run_dir FROM run"), HasSubstr("runs/moved"));
    auto const before = dump(file());
    write("the copy", run_bytes(1));
    EXPECT_THAT(ingest().problems, ElementsAre(HasSubstr("a copy of run tiny-0001")));
    EXPECT_THAT(ingest().problems, IsEmpty());
    EXPECT_EQ(dump(file()), before);
}

TEST_F(Ingest, KeepsRunsWhoseFoldersAreGone) {
    auto const run = write("tiny-0001", run_bytes(1));
    ingest();
    auto const before = dump(file());
    fs::remove_all(run);
    write("tiny-0002", run_bytes(2));
    fs::remove_all(state_.path() / "runs" / "tiny-0002");
    EXPECT_THAT(ingest().problems, IsEmpty());
    EXPECT_EQ(dump(file()), before);
}

TEST_F(Ingest, PassesOverWhatIsNoJournal) {
    write("notes", "dear diary, today the loss went up\n");
    write("empty", "");
    fs::create_directories(state_.path() / "runs" / "no journal");
    write("tiny-0001", run_bytes(1));
    auto const report = ingest();
    EXPECT_THAT(report.problems, ElementsAre(HasSubstr("notes/journal: journal, offset 0")));
    EXPECT_EQ(report.changed, 1);
    EXPECT_EQ(one("SELECT count(*) FROM run"), "1");
}

TEST_F(Ingest, OneProcessAtATime) {
    write("tiny-0001", run_bytes(1));
    auto const lock = FileLock::acquire(file().string() + ".lock");
    auto const report =
        ingest_all(*store_, state_.path(), {.lock_wait = std::chrono::milliseconds(20)});
    ASSERT_TRUE(report.has_error());
    EXPECT_EQ(report.error().code, Errc::busy);
}

TEST_F(Ingest, ManyProcessesAtOnceGiveTheSameRows) {
    for (int run = 1; run <= 4; ++run) {
        write("tiny-000" + std::to_string(run), run_bytes(run, {.steps = 150, .relaunches = 1}));
    }
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
        pid_t const child = fork();
        if (child == 0) {
            auto const store = Store::open(file());
            IngestOptions const options{.lock_wait = std::chrono::seconds(60), .piece_bytes = 3000};
            _exit(store.has_value() && ingest_all(**store, state_.path(), options) ? 0 : 1);
        }
        children.push_back(child);
    }
    for (pid_t const child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    auto const together = dump(file());
    ASSERT_TRUE(rebuild(state_.path()).has_value());
    EXPECT_EQ(together, dump(file()));
}

TEST_F(Ingest, RebuildsADamagedDatabaseAndKeepsTheOldOne) {
    write("tiny-0001", run_bytes(1));
    ingest();
    store_.reset();
    auto const before = dump(file());
    std::ofstream(file()) << "not a database any more";
    fs::remove(file().string() + "-wal");
    ASSERT_EQ(Store::open(file()).error().code, Errc::corrupt);
    auto const rebuilt = rebuild(state_.path());
    ASSERT_TRUE(rebuilt.has_value()) << rebuilt.error().message;
    EXPECT_EQ(*read_file(rebuilt->kept), "not a database any more");
    EXPECT_EQ(dump(file()), before);
}

// After `history vacuum --journals` the database is all that is left of a run.
TEST_F(Ingest, ARebuildNamesTheRunsThatOnlyTheOldFileHas) {
    write("tiny-0001", run_bytes(1));
    write("tiny-0002", run_bytes(2));
    ingest();
    store_.reset();
    fs::remove(state_.path() / "runs" / "tiny-0001" / "journal");
    auto const rebuilt = rebuild(state_.path());
    ASSERT_TRUE(rebuilt.has_value()) << rebuilt.error().message;
    ASSERT_EQ(rebuilt->only_in_kept.size(), 1u);
    EXPECT_EQ(rebuilt->only_in_kept[0], "tiny-0001");
    EXPECT_EQ(ask(rebuilt->kept, "SELECT count(*) FROM run"), "2\n");
    EXPECT_TRUE(rebuild(state_.path())->only_in_kept.empty());
}

TEST_F(Ingest, CopiesWhatDescribesARun) {
    write("tiny-0001", run_bytes(1, {.nodes = 2, .ranks_per_node = 2, .relaunches = 1}));
    ingest();
    EXPECT_EQ(one("SELECT ranks||' '||launches||' '||verdict FROM run"), "4 2 ok");
    EXPECT_EQ(one("SELECT value FROM fp_item JOIN run ON fp_id=fp_env WHERE key='NCCL_DEBUG'"),
              "v0 | v1");
    EXPECT_EQ(one("SELECT value FROM fp_item JOIN run ON fp_id=fp_hardware WHERE key='cpu'"),
              "fast | slow");
    EXPECT_EQ(one("SELECT value FROM fp_item JOIN run ON fp_id=fp_software WHERE key='commit'"),
              "c1");
    EXPECT_EQ(one("SELECT value FROM fp_item JOIN run ON fp_id=fp_config WHERE "
                  "key='bucket[0].num_frames'"),
              "8");
    EXPECT_EQ(one("SELECT group_concat(cores) FROM run_node"), "2,2");
    EXPECT_EQ(one("SELECT count(*)||' '||min(device) FROM run_rank"), "4 cpu");
    EXPECT_EQ(one("SELECT step_time_s||' '||threads_per_rank FROM plan"), "0.5 1");
    EXPECT_EQ(one("SELECT height||' '||global_batch_size FROM plan_bucket"), "64 8");
}

TEST_F(Ingest, ARunIsSubmittedBeforeItWaitsInAQueue) {
    constexpr std::int64_t kHour_us = 3'600'000'000;
    auto records = RunMaker(1).make({.number = 1});
    auto const begin_us = records.front().wall_us;
    auto const ran_us = records.back().wall_us - begin_us;
    std::get<protocol::RunSubmitted>(records.front().event).submitted_us = begin_us - kHour_us;
    write("tiny-0001", journal_bytes(records));
    ingest();
    auto const expect = [&] {
        EXPECT_EQ(one("SELECT submitted_us FROM v_run"), std::to_string(begin_us - kHour_us));
        EXPECT_EQ(one("SELECT started_us FROM v_run"), std::to_string(begin_us));
        EXPECT_EQ(one("SELECT CAST(round(1e6*wall_s) AS INT) FROM v_run"), std::to_string(ran_us));
        EXPECT_EQ(one("SELECT CAST(since_submit_s AS INT) FROM v_event WHERE sequence=0"), "3600");
    };
    expect();
    store_.reset();  // as an older version wrote it
    SQLite::Database(file().string(), SQLite::OPEN_READWRITE)
        .exec("UPDATE run SET submitted_us=started_us; PRAGMA user_version=14");
    store_ = std::move(*Store::open(file()));
    expect();
}

TEST_F(Ingest, ThePlanIsNotComparedWithTheStepsOfAStage) {
    auto const with_stage = [](int number, int at_step) {
        auto records = RunMaker(static_cast<std::uint64_t>(number)).make({.number = number});
        protocol::PlanChosen plan;
        plan.plan =
            protocol::parse_json(fmt::format(R"({{"predicted": {{"step_time_s": 0.5}}, "stages": [
                        {{"at_step": {}, "predicted": {{"step_time_s": 4}}}}]}})",
                                             at_step))
                .value();
        records.insert(records.end() - 1, protocol::JournalRecord{0, records.back().wall_us, plan});
        for (std::size_t i = 0; i < records.size(); ++i) records[i].sequence = i;
        return journal_bytes(records);
    };
    write("tiny-0001", with_stage(1, 25));
    write("tiny-0002", with_stage(2, 40));
    ingest();
    EXPECT_EQ(one("SELECT group_concat(first_stage_step) FROM plan"), "25,40");
    EXPECT_EQ(one("SELECT steps||' '||coalesce(predicted_over_measured,'none') FROM v_run WHERE "
                  "run=1"),
              "40 none");
    EXPECT_EQ(one("SELECT predicted_over_measured>0 FROM v_run WHERE run=2"), "1");
}

/// The plan of RunMaker leaves out fields, as another version may.
TEST_F(Ingest, PlanAndMeasuredFiguresReadBack) {
    write("tiny-0001", run_bytes(1, {.nodes = 2, .ranks_per_node = 2}));
    ingest();
    auto const run = load_run(*store_, find_run(*store_, "1")->run_id);
    ASSERT_TRUE(run.has_value()) << run.error().message;
    ASSERT_TRUE(run->summary.plan && run->summary.measured);
    auto const& [layout, figures, batches] = *run->summary.plan;
    EXPECT_TRUE(batches.empty());
    EXPECT_EQ(layout.dp_size, 4);
    EXPECT_EQ(layout.zero_stage, 0);
    EXPECT_EQ(layout.shard_size, 0);
    EXPECT_EQ(layout.recompute, "");
    EXPECT_EQ(figures.step_time_s, 0.5);
    EXPECT_EQ(figures.step_time_error, 0.25);
    EXPECT_TRUE(std::isnan(figures.compute_s)) << "not known, rather than 0";
    ASSERT_EQ(layout.buckets.size(), 1u);
    auto const& bucket = layout.buckets.front();
    EXPECT_EQ(bucket.label(), "64x64x8");
    EXPECT_EQ(bucket.resolution, "64");
    EXPECT_EQ(bucket.micro_batch_size, 2);
    EXPECT_EQ(bucket.grad_accum_steps, 1);
    EXPECT_EQ(bucket.global_batch_size, 8);
    EXPECT_EQ(bucket.step_time_s, 0.5);
    EXPECT_TRUE(std::isnan(bucket.gflop_per_sample));
    EXPECT_EQ(protocol::encode(*run->summary.measured),
              protocol::encode(analysis::measure(run->steps)));
}

TEST_F(Ingest, KeepsCoresOfRanksAndHealthOfNodes) {
    write("tiny-0001", run_bytes(1, {.nodes = 2, .relaunches = 1, .health = true}));
    ingest();
    ingest();
    EXPECT_EQ(one("SELECT group_concat(cpus) FROM run_rank"), "0,1");
    EXPECT_EQ(one("SELECT count(*)||' '||min(why)||' '||max(node) FROM node_health"),
              "4 GPU 1: Xid 79 1");
    EXPECT_EQ(one("SELECT count(*)||' '||count(memory_available_bytes)||' '||min(load) FROM "
                  "node_health"),
              "4 0 1.5");
    EXPECT_EQ(one("SELECT count(*)||' '||count(temperature_c)||' '||max(temperature_c)||' '||"
                  "min(xids) FROM gpu_health"),
              "8 4 71.0 [79,31]");
    EXPECT_EQ(one("SELECT count(*) FROM event WHERE kind='health'"), "0");
}

TEST_F(Ingest, KeepsWhatEachRankTook) {
    RunShape const shape{.nodes = 2, .ranks_per_node = 2, .relaunches = 1, .matrices = true};
    write("tiny-0001", run_bytes(1, shape));
    ingest();
    ingest();
    EXPECT_EQ(one("SELECT count(*)||' '||sum(steps)||' '||max(first_rank) FROM rank_matrix"),
              "4 48 2");
    EXPECT_EQ(one("SELECT count(*) FROM event WHERE kind='rank_matrix'"), "0");
    auto const run = load_run(*store_, 1);
    ASSERT_TRUE(run.has_value()) << run.error().message;
    auto const ranks = analysis::rank_work(run->arrivals);
    ASSERT_EQ(ranks.size(), 4u);
    EXPECT_EQ(ranks[0].rank, 3);
    EXPECT_EQ(ranks[0].steps, 24);
    EXPECT_NEAR(ranks[0].median_s, 0.6, 0.001);
    EXPECT_NEAR(ranks[0].excess, 0.2, 0.003);
    EXPECT_NEAR(ranks[1].excess, 0, 0.001);
}

TEST_F(Ingest, SharesASeriesOnlyBetweenRunsOfTheSameWork) {
    write("tiny-0001", run_bytes(1));
    write("tiny-0002", run_bytes(2, {.nodes = 2}));
    write("tiny-0003", run_bytes(3, {.arch = "mmdit-tiny"}));
    ingest();
    EXPECT_EQ(one("SELECT count(*) FROM series WHERE name='tiny'"), "2");
    EXPECT_EQ(one("SELECT count(DISTINCT series_id) FROM run WHERE number<3"), "1");
}

}  // namespace
}  // namespace osora::db::test
