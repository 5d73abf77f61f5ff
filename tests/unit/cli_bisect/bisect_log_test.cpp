// What a bisect has measured survives, and is found by the same question only.
#include "cli/bisect_log.hpp"

#include "db/ingest.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>

namespace osora::cli {
namespace {

class BisectLogTest : public testing::Test {
protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "osora-bisect-XXXXXX";
        ASSERT_NE(::mkdtemp(folder.data()), nullptr);
        state_ = folder;
    }
    void TearDown() override { std::filesystem::remove_all(state_); }
    std::filesystem::path state_;
};

BisectQuestion question() {
    return {.good = "a", .bad = "b", .rung = "rehearsal", .steps = 20, .atoms = {"x", "y"}};
}

TEST_F(BisectLogTest, IsFoundAgainByTheSameQuestion) {
    {
        auto log = BisectLog::open(state_, question(), false);
        ASSERT_TRUE(log.has_value()) << log.error().message;
        EXPECT_TRUE(log->trials().empty());
        ASSERT_TRUE(log->add({.flipped = "00", .value_s = 1.5, .cost_gpu_s = 3, .run = "r-1"}));
        ASSERT_TRUE(log->add({.flipped = "11", .status = db::analysis::TrialStatus::cannot_start}));
    }
    auto const again = BisectLog::open(state_, question(), false);
    ASSERT_EQ(again->trials().size(), 2u);
    EXPECT_EQ(again->trials()[0].value_s, 1.5);
    EXPECT_EQ(again->trials()[0].run, "r-1");
    EXPECT_EQ(again->trials()[1].status, db::analysis::TrialStatus::cannot_start);
    EXPECT_TRUE(std::isnan(again->trials()[1].value_s));
    auto other = question();
    other.steps = 25;
    EXPECT_TRUE(BisectLog::open(state_, other, false)->trials().empty());
}

TEST_F(BisectLogTest, AnewForgetsAndTwoAtOnceAreRefused) {
    auto log = BisectLog::open(state_, question(), false);
    ASSERT_TRUE(log->add({.flipped = "00"}));
    auto const second = BisectLog::open(state_, question(), false);
    ASSERT_TRUE(second.has_error());
    EXPECT_EQ(second.error().code, Errc::busy);
    log = Error{Errc::io, "closed"};
    EXPECT_TRUE(BisectLog::open(state_, question(), true)->trials().empty());
}

TEST_F(BisectLogTest, HistoryReadsTrialsAndEnd) {
    auto const file = db::history_file(state_);
    auto const ask = [&](std::string const& sql) { return db::test::ask(file, sql); };
    auto const store = std::move(*db::Store::open(file));
    std::string id;
    {
        auto log = BisectLog::open(state_, question(), false);
        id = log->id();
        ASSERT_TRUE(log->add({.flipped = "00", .value_s = 1.5, .cost_gpu_s = 3}));
        ASSERT_TRUE(log->add({.flipped = "01", .value_s = 3, .cost_gpu_s = 6}));
        ASSERT_TRUE(db::ingest_all(*store, state_)->problems.empty());
        EXPECT_EQ(ask("SELECT verdict IS NULL FROM v_investigation"), "1\n");
        ASSERT_TRUE(log->end({.wall_us = 7,
                              .verdict = "proved",
                              .p = 0.01,
                              .culprits = {{.item = "y", .good = "", .bad = "1", .share = 0.9}}}));
    }
    ASSERT_TRUE(db::ingest_all(*store, state_)->problems.empty());
    EXPECT_EQ(ask("SELECT investigation,kind,rung,steps,verdict,p FROM v_investigation"),
              id + "|bisect|rehearsal|20|proved|0.01\n");
    EXPECT_EQ(ask("SELECT sequence,changed_json,step_s,cost_gpu_s FROM v_trial"),
              "1|[]|1.5|3.0\n2|[\"y\"]|3.0|6.0\n");
    EXPECT_EQ(ask("SELECT item,good,bad,share,holds FROM v_culprit"), "y||1|0.9|1\n");
    // It goes on from there, and is open again with another trial.
    auto log = BisectLog::open(state_, question(), false);
    ASSERT_EQ(log->trials().size(), 2u);
    ASSERT_TRUE(log->add({.flipped = "11", .value_s = 3}));
    ASSERT_TRUE(db::ingest_all(*store, state_)->problems.empty());
    EXPECT_EQ(ask("SELECT verdict IS NULL,trials FROM v_investigation"), "1|3\n");
    EXPECT_EQ(ask("SELECT count(*) FROM v_culprit"), "0\n");
}

TEST_F(BisectLogTest, ADamagedFileIsSaidAndKept) {
    std::string id;
    {
        auto log = BisectLog::open(state_, question(), false);
        id = log->id();
        ASSERT_TRUE(log->add({.flipped = "00"}));
    }
    auto const file = state_ / "bisects" / (id + ".json");
    std::filesystem::resize_file(file, 20);
    auto const log = BisectLog::open(state_, question(), false);
    ASSERT_TRUE(log.has_error());
    EXPECT_EQ(log.error().code, Errc::corrupt);
    EXPECT_NE(log.error().message.find(id), std::string::npos);
    EXPECT_EQ(std::filesystem::file_size(file), 20u);
}

}  // namespace
}  // namespace osora::cli
