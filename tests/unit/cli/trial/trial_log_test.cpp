// What a search has measured survives, and is found by the same question only.
#include "cli/trial/trial_log.hpp"

#include "base/files/files.hpp"
#include "cli/trial/trial_run.hpp"
#include "db/ingest/ingest.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

namespace osora::cli {
namespace {

class TrialLogTest : public testing::Test {
protected:
    Result<TrialLog> open(LogMode mode, int steps = 20) {
        db::Investigation what;
        what.question = {
            .good = "a", .bad = "b", .rung = "rehearsal", .steps = steps, .atoms = {"x", "y"}};
        return TrialLog::open(state_ / "bisects", what, mode);
    }
    db::test::StateDir folder_;
    std::filesystem::path state_ = folder_.path();
};

// 128 ranks for a minute, of an hour that the command took because the job was queued: 7,680
// GPU-seconds, whether the run ended well or not.
TEST(TrialCost, IsThatOfAllRanksWithoutTheQueue) {
    db::analysis::RunReport report;
    report.run.run.ranks = 128;
    report.wall_s = 60;
    report.measured.step_s_mix = 0.5;
    auto const good = trial_end("r-1", kExitOk, 3600, report);
    EXPECT_TRUE(good.failure.empty());
    EXPECT_EQ(investigated(good, {}).cost_gpu_s, 7680);
    auto const failed = trial_end("r-2", kExitBad, 3600, report);
    EXPECT_EQ(failed.failure, "run r-2 ended with 1");
    EXPECT_EQ(investigated(failed, {}).cost_gpu_s, 7680);
    EXPECT_EQ(investigated(failed, {}).status, "aborted");
    auto const unknown = trial_end("r-3", kExitOk, 90, Error{Errc::not_found, "no such run"});
    EXPECT_EQ(unknown.failure, "no such run");
    EXPECT_EQ(investigated(unknown, {}).cost_gpu_s, 90);
}

TEST_F(TrialLogTest, IsFoundAgainByTheSameQuestion) {
    {
        auto log = open(LogMode::resume);
        ASSERT_TRUE(log.has_value()) << log.error().message;
        EXPECT_TRUE(log->trials().empty());
        ASSERT_TRUE(log->add({.flipped = "00",
                              .value_s = 1.5,
                              .cost_gpu_s = 3,
                              .run = "r-1",
                              .figures = {{"samples_per_step", 8.0}, {"wait_s", std::nan("")}}}));
        ASSERT_TRUE(log->add({.flipped = "11", .status = "cannot_start", .failure = "no"}));
    }
    auto const again = open(LogMode::resume);
    ASSERT_EQ(again->trials().size(), 2u);
    EXPECT_EQ(again->trials()[0].value_s, 1.5);
    EXPECT_EQ(again->trials()[0].run, "r-1");
    EXPECT_EQ(again->trials()[0].figures.at("samples_per_step"), 8.0);
    EXPECT_TRUE(std::isnan(again->trials()[0].figures.at("wait_s")));
    EXPECT_EQ(again->trials()[1].status, "cannot_start");
    EXPECT_EQ(again->trials()[1].failure, "no");
    EXPECT_TRUE(std::isnan(again->trials()[1].value_s));
    EXPECT_TRUE(open(LogMode::resume, 25)->trials().empty());
}

TEST_F(TrialLogTest, AnewDiscardsAndTwoAtOnceAreRefused) {
    auto log = open(LogMode::resume);
    ASSERT_TRUE(log->add({.flipped = "00"}));
    auto const second = open(LogMode::resume);
    ASSERT_TRUE(second.has_error());
    EXPECT_EQ(second.error().code, Errc::busy);
    log = Error{Errc::io, "closed"};
    EXPECT_TRUE(open(LogMode::anew)->trials().empty());
}

TEST_F(TrialLogTest, CallsWithSeparateLogsDoNotInterfere) {
    auto one = open(LogMode::own), other = open(LogMode::own);
    ASSERT_TRUE(one.has_value() && other.has_value());
    EXPECT_NE(one->id(), other->id());
}

TEST_F(TrialLogTest, AnEndIsGoneWithTheNextTrial) {
    auto const text = [&](TrialLog const& log) {
        return read_file(state_ / "bisects" / (log.id() + ".json"), 1 << 20).value();
    };
    auto log = open(LogMode::resume);
    ASSERT_TRUE(log->end({.verdict = "proved"}));
    EXPECT_NE(text(*log).find("\"verdict\":\"proved\""), std::string::npos);
    ASSERT_TRUE(log->add({.flipped = "00"}));
    EXPECT_EQ(text(*log).find("proved"), std::string::npos);
}

/// What v_* views say of the logs.
class TrialLogInHistory : public TrialLogTest {
protected:
    std::string ask(std::string const& sql) {
        auto const file = db::history_file(state_);
        auto const store = db::Store::open(file);
        EXPECT_TRUE(db::ingest_all(**store, state_)->problems.empty());
        return db::test::ask(file, sql);
    }
};

TEST_F(TrialLogInHistory, ABisectIsOpenUntilItEndsAndAgainWithAnotherTrial) {
    auto log = open(LogMode::resume);
    ASSERT_TRUE(log->add({.flipped = "00", .value_s = 1.5, .cost_gpu_s = 3}));
    ASSERT_TRUE(log->add({.flipped = "01", .value_s = 3, .cost_gpu_s = 6}));
    EXPECT_EQ(ask("SELECT verdict IS NULL FROM v_investigation"), "1\n");
    ASSERT_TRUE(log->end({.verdict = "proved",
                          .p = 0.01,
                          .culprits = {{.item = "y", .good = "", .bad = "1", .share = 0.9}}}));
    EXPECT_EQ(ask("SELECT investigation,kind,rung,steps,verdict,p,ended_us>1700000000000000 FROM "
                  "v_investigation"),
              log->id() + "|bisect|rehearsal|20|proved|0.01|1\n");
    EXPECT_EQ(ask("SELECT sequence,changed_json,step_s,cost_gpu_s FROM v_trial"),
              "1|[]|1.5|3.0\n2|[\"y\"]|3.0|6.0\n");
    EXPECT_EQ(ask("SELECT item,good,bad,share,holds FROM v_culprit"), "y||1|0.9|1\n");
    ASSERT_TRUE(log->add({.changed = {"commit ab12"}, .flipped = "11", .value_s = 3}));
    EXPECT_EQ(ask("SELECT verdict IS NULL,trials FROM v_investigation"), "1|3\n");
    EXPECT_EQ(ask("SELECT changed_json FROM v_trial WHERE sequence=3"), "[\"commit ab12\"]\n");
    EXPECT_EQ(ask("SELECT count(*) FROM v_culprit"), "0\n");
}

TEST_F(TrialLogInHistory, TrialsThatFailedAndSettingsThatWereJudged) {
    db::Investigation what{.kind = "tune", .series = "stage1"};
    what.question.rung = "rehearsal";
    what.question.steps = 25;
    auto log = TrialLog::open(state_ / "tunes", what, LogMode::own);
    TrialEnd end{.step_s = 0.9, .wall_s = 10, .ranks = 4};
    end.run = "stage1-tune-0008";
    ASSERT_TRUE(log->add(investigated(end, {"parallel.grad_bucket_mib=50"})));
    ASSERT_TRUE(log->add(investigated(
        {.wall_s = 3, .exit_code = kExitBad, .failure = "run 9 ended with 1"}, {"x=2"})));
    ASSERT_TRUE(
        log->add(investigated({.exit_code = kExitUsage, .failure = "is not valid"}, {"x=3"})));
    EXPECT_EQ(ask("SELECT kind,series,rung,steps,trials FROM v_investigation"),
              "tune|stage1|rehearsal|25|3\n");
    EXPECT_EQ(ask("SELECT changed_json,status,step_s,cost_gpu_s,name FROM v_trial"),
              "[\"parallel.grad_bucket_mib=50\"]|measured|0.9|40.0|stage1-tune-0008\n"
              "[\"x=2\"]|aborted||3.0|\n"
              "[\"x=3\"]|cannot_start||0.0|\n");
    plan::TuneVerdict kept{.key = "parallel.grad_bucket_mib",
                           .value = "50",
                           .decision = {.gain = 0.1, .low = 0.05, .high = 0.2, .reason = "10 %"},
                           .kept = true,
                           .failure = ""};
    plan::TuneVerdict failed{
        .key = "x", .value = "2", .decision = {}, .kept = false, .failure = "run 9 ended with 1"};
    ASSERT_TRUE(log->end({.verdict = "helps", .culprits = judged_settings({kept, failed})}));
    EXPECT_EQ(ask("SELECT item,bad,share,share_low,share_high,holds,reason FROM v_culprit"),
              "parallel.grad_bucket_mib|50|0.1|0.05|0.2|1|10 %\n"
              "x|2||||0|run 9 ended with 1\n");
}

TEST_F(TrialLogTest, ADamagedFileIsSaidAndKept) {
    std::string id;
    {
        auto log = open(LogMode::resume);
        id = log->id();
        ASSERT_TRUE(log->add({.flipped = "00"}));
    }
    auto const file = state_ / "bisects" / (id + ".json");
    std::filesystem::resize_file(file, 20);
    auto const log = open(LogMode::resume);
    ASSERT_TRUE(log.has_error());
    EXPECT_EQ(log.error().code, Errc::corrupt);
    EXPECT_NE(log.error().message.find(id), std::string::npos);
    EXPECT_EQ(std::filesystem::file_size(file), 20u);
}

}  // namespace
}  // namespace osora::cli
