// What tune and bisect --scaling tried, as history reads it.
#include "cli/trial_log.hpp"

#include "db/ingest.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::cli {
namespace {

class TrialLogTest : public testing::Test {
protected:
    std::string ask(std::string const& sql) {
        auto const file = db::history_file(state_.path());
        auto const store = db::Store::open(file);
        EXPECT_TRUE(db::ingest_all(**store, state_.path())->problems.empty());
        return db::test::ask(file, sql);
    }
    db::test::StateDir state_;
};

TrialEnd measured(double step_s, std::string run) {
    TrialEnd end{.step_s = step_s, .wall_s = 10, .ranks = 4};
    end.run = std::move(run);
    return end;
}

TEST_F(TrialLogTest, IsWholeAfterEachTrial) {
    TrialLog log(state_.path(), "tune", "stage1");
    log.question().rung = "rehearsal";
    log.question().steps = 25;
    EXPECT_EQ(ask("SELECT count(*) FROM v_investigation"), "0\n");
    log.add(measured(1, "stage1-tune-0007"), {});
    log.add(measured(0.9, "stage1-tune-0008"), {"parallel.grad_bucket_mib=50"});
    log.add({.exit_code = kExitInterrupted, .failure = "stopped"}, {"x=1"});
    log.add({.wall_s = 3, .exit_code = kExitBad, .failure = "run 9 ended with 1"}, {"x=2"});
    log.add({.exit_code = kExitUsage, .failure = "is not valid"}, {"x=3"});
    EXPECT_EQ(ask("SELECT kind,series,rung,steps,verdict IS NULL,trials FROM v_investigation"),
              "tune|stage1|rehearsal|25|1|4\n");
    EXPECT_EQ(ask("SELECT changed_json,status,step_s,cost_gpu_s,name FROM v_trial"),
              "[]|measured|1.0|40.0|stage1-tune-0007\n"
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
    log.end({.verdict = "helps", .culprits = judged_settings({kept, failed})});
    EXPECT_EQ(ask("SELECT item,bad,share,share_low,share_high,holds,reason FROM v_culprit"),
              "parallel.grad_bucket_mib|50|0.1|0.05|0.2|1|10 %\n"
              "x|2||||0|run 9 ended with 1\n");
    EXPECT_EQ(ask("SELECT verdict,ended_us>1700000000000000 FROM v_investigation"), "helps|1\n");
}

TEST_F(TrialLogTest, EachCallIsOneOfItsOwn) {
    for (char const* kind : {"tune", "scaling", "scaling"}) {
        TrialLog log(state_.path(), kind, "stage1");
        log.add(measured(1, ""), {"resources.nodes=2"});
    }
    EXPECT_EQ(ask("SELECT kind,count(*) FROM v_investigation GROUP BY 1"), "scaling|2\ntune|1\n");
}

TEST_F(TrialLogTest, WithoutAPlaceItKeepsNothing) {
    TrialLog nowhere("", "tune", "stage1");
    nowhere.add(measured(1, ""), {});
    TrialLog refused(state_.path() / "runs" / "\n" / std::string(300, 'x'), "tune", "stage1");
    testing::internal::CaptureStderr();
    refused.add(measured(1, ""), {});
    refused.add(measured(1, ""), {});
    auto const told = testing::internal::GetCapturedStderr();
    EXPECT_THAT(told, testing::StartsWith("note: not kept for history: "));
    EXPECT_EQ(told.find("note:", 1), std::string::npos);
}

}  // namespace
}  // namespace osora::cli
