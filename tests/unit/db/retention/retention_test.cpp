// Old runs are thinned and their reports stay; nothing comes back by itself, nothing live goes.
#include "db/retention/retention.hpp"

#include "base/files/files.hpp"
#include "db/analysis/report/run_report.hpp"
#include "db/ingest/check.hpp"
#include "db/ingest/ingest.hpp"
#include "db/store/queries.hpp"
#include "protocol/json.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

namespace osora::db::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kDayUs = 86'400'000'000;
constexpr RunShape kShape{.nodes = 2,
                          .ranks_per_node = 2,
                          .steps = 2000,
                          .relaunches = 1,
                          .chunk_steps_max = 300,
                          .matrices = true};

TEST(Thinning, KeepsEveryTenthAndThoseNearEvents) {
    std::vector<int> const events{3, 900, 940, 1990};
    std::set<int> gone;
    for (auto const& range : ranges_to_thin(1999, events)) {
        for (int step = range.start; step < range.stop; ++step) {
            if (step % kThinKeepEvery == 0) continue;
            EXPECT_TRUE(gone.insert(step).second) << step;
        }
    }
    for (int step = 0; step < 2000; ++step) {  // as the rule reads
        bool near = step < kThinKeepFirst || step == 1999 || step % kThinKeepEvery == 0;
        for (int const event : events) near = near || std::abs(step - event) <= kThinWindow;
        EXPECT_EQ(gone.contains(step), !near) << step;
    }
    EXPECT_THAT(ranges_to_thin(-1, {}), IsEmpty());
    EXPECT_THAT(ranges_to_thin(499, {}), IsEmpty());
    EXPECT_THAT(ranges_to_thin(700, {}), ElementsAre(StepRange{500, 700}));
}

/// A run whose ranks have reported all of its steps, up to the fault and from the start of the
/// second launch on.
Records records_of_run() {
    auto records = RunMaker(3).make(kShape);
    auto const fault = std::ranges::find_if(records, [](auto const& record) {
        return std::holds_alternative<protocol::RankFailed>(record.event);
    });
    int last = 0;
    for (auto at = records.begin(); at != fault; ++at) {
        auto const* chunk = std::get_if<protocol::MetricChunk>(&at->event);
        if (chunk == nullptr) continue;
        last = std::max(last, chunk->step0 + static_cast<int>(chunk->bucket.size()) - 1);
    }
    Records all(records.begin(), fault);
    auto const add = [&](int attempt, int until) {
        for (int step = 12; step + 12 <= until; step += 12) {
            all.push_back({0, fault->wall_us, matrix_of(kShape, attempt, step / 12 % 2, step)});
        }
    };
    add(0, last + 1);
    all.insert(all.end(), fault, records.end() - 1);
    add(1, kShape.steps);
    all.push_back(records.back());
    protocol::PlanChosen plan;
    plan.plan = protocol::parse_json(R"({"predicted": {"step_time_s": 0.5},
        "stages": [{"at_step": 1500, "predicted": {"step_time_s": 0.5}}]})")
                    .value();
    all.insert(all.begin() + 1, protocol::JournalRecord{0, all.front().wall_us, plan});
    for (std::size_t i = 0; i < all.size(); ++i) all[i].sequence = i;
    return all;
}

/// "step0 attempt, ..." of the matrices that stay, as the rule reads.
std::set<std::pair<int, int>> matrices_that_stay(Records const& records) {
    std::map<int, int> last_of_attempt;
    std::set<int> near;
    for (auto const& record : records) {
        if (auto const* matrix = std::get_if<protocol::RankMatrix>(&record.event)) {
            int& last = last_of_attempt[matrix->attempt];
            last = std::max(last, matrix->step0 + matrix->steps - 1);
        }
    }
    std::vector<int> notices;
    for (auto const& record : records) {
        if (auto const* failed = std::get_if<protocol::RankFailed>(&record.event)) {
            near.insert(last_of_attempt.at(failed->attempt));
        }
        if (auto const* notice = std::get_if<protocol::RunNotice>(&record.event)) {
            if (std::ranges::find(notices, notice->step) == notices.end()) {
                notices.push_back(notice->step);
            }
        }
    }
    for (int const step : notices) {
        if (near.size() < kMatrixWindowsMax) near.insert(step);
    }
    std::set<std::pair<int, int>> stay;
    for (auto const& record : records) {
        auto const* matrix = std::get_if<protocol::RankMatrix>(&record.event);
        for (int i = 0; matrix != nullptr && i < matrix->steps; ++i) {
            int const step = matrix->step0 + i;
            bool kept = step < kMatrixKeepFirst;
            for (int const each : near) kept = kept || std::abs(step - each) <= kMatrixWindow;
            if (kept) stay.emplace(matrix->step0, matrix->attempt);
        }
    }
    return stay;
}

class Retention : public testing::Test {
protected:
    Retention() {
        dir_ = write_run(state_.path(), "tiny-0001", journal_bytes(records_of_run()));
        store_ = std::move(*Store::open(history_file(state_.path())));
        ingest();
        rules_.now_us = 1'700'000'000'000'000 + 400 * kDayUs;
        rules_.is_live = [this](std::string const&) { return live_; };
    }
    void ingest() {
        auto const report = ingest_all(*store_, state_.path());
        ASSERT_TRUE(report.has_value()) << report.error().message;
    }
    std::int64_t vacuum() {
        auto const plan = plan_retention(*store_, rules_);
        auto const done = apply_retention(*store_, *plan, rules_);
        EXPECT_TRUE(done.has_value()) << done.error().message;
        return done.has_value() ? *done : -1;
    }
    std::set<std::pair<int, int>> matrices() {
        std::set<std::pair<int, int>> found;
        SQLite::Database plain(history_file(state_.path()).string(), SQLite::OPEN_READONLY);
        SQLite::Statement row(plain, "SELECT step0,attempt FROM rank_matrix");
        while (row.executeStep()) {
            found.emplace(row.getColumn(0).getInt(), row.getColumn(1).getInt());
        }
        return found;
    }
    std::string one(std::string const& sql) {
        SQLite::Database plain(history_file(state_.path()).string(), SQLite::OPEN_READONLY);
        return plain.execAndGet(sql).getString();
    }
    /// What `osora report` takes from steps, every digit.
    std::string report() {
        auto const run = find_run(*store_, "1");
        auto const report = analysis::run_report(*load_run(*store_, run->run_id), {});
        std::string text =
            one("SELECT json_group_array(json_array(steps,next_step,steps_used,"
                "step_s_median,step_s_mad,samples_per_s,wait_share,loss_last)) FROM "
                "measured");
        for (auto const& phase : report.phases) {
            text += fmt::format(" {} {} {}", phase.name, phase.mean_s, phase.share);
        }
        for (auto const& each : report.rank_work) {
            text += fmt::format(" {} {} {}", each.rank, each.median_s, each.excess);
        }
        for (auto const& each : report.buckets) {
            text += fmt::format(" {} {}", each.measured.bucket, each.measured.step_s_median);
        }
        for (auto const& each : report.stages) {
            text += fmt::format(" {} {} {} {}", each.first_step, each.steps, each.steps_used,
                                each.step_s_median);
        }
        return text + fmt::format(" {} {}", report.measured.steps, report.measured.comm_share);
    }
    StateDir state_;
    fs::path dir_;
    std::unique_ptr<Store> store_;
    RetentionRules rules_;
    bool live_ = false;
};

TEST_F(Retention, ReportsStayAndRowsGo) {
    auto const before = report();
    auto const plan = plan_retention(*store_, rules_);
    ASSERT_EQ(plan->runs.size(), 1u);
    auto const rows = std::stoi(one("SELECT count(*) FROM step"));
    EXPECT_GT(vacuum(), 0);
    EXPECT_EQ(rows - std::stoi(one("SELECT count(*) FROM step")), plan->runs[0].step_rows);
    EXPECT_GT(plan->runs[0].step_rows, 1000);
    EXPECT_EQ(matrices(), matrices_that_stay(records_of_run()));
    EXPECT_EQ(one("SELECT count(*) FROM step_summary s LEFT JOIN step t USING(run_id,step) WHERE "
                  "t.step IS NULL"),
              "0");
    EXPECT_EQ(one("SELECT count(*) FROM step WHERE step<500"), "500");
    EXPECT_EQ(one("SELECT max(step) FROM step"), "1999");
    EXPECT_EQ(report(), before);
    EXPECT_TRUE(fs::exists(dir_ / "journal"));
    EXPECT_THAT(plan_retention(*store_, rules_)->runs, IsEmpty());
}

TEST_F(Retention, StepsThatStayStandForTheOthers) {
    auto const steps = [&] { return load_run(*store_, find_run(*store_, "1")->run_id)->steps; };
    EXPECT_THAT(steps().stands_for, IsEmpty());
    vacuum();
    auto const left = steps();
    ASSERT_EQ(left.stands_for.size(), left.size());
    double all = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
        all += left.weight(i);
        bool const is_near = i > 0 && left.step[i] == left.step[i - 1] + 1;
        if (left.step[i] < 500 || (is_near && left.step[i] % 10 != 0)) {
            EXPECT_EQ(left.weight(i), 1) << left.step[i];
        }
    }
    EXPECT_LT(left.size(), 1000u);
    // At both ends of a thinned range up to nine steps belong to none.
    EXPECT_NEAR(all, 2000, 100);
}

TEST_F(Retention, MatricesGoFirstAndTheReportStillStays) {
    auto const before = report();
    rules_.now_us = 1'700'000'000'000'000 + 20 * kDayUs;
    auto const all = matrices().size();
    auto const bytes = std::stoll(one("SELECT sum(length(data)) FROM rank_matrix"));
    auto const due = plan_retention(*store_, rules_)->runs.at(0).matrix_bytes;
    vacuum();
    auto const left = matrices_that_stay(records_of_run());
    EXPECT_EQ(matrices(), left);
    EXPECT_LT(left.size(), all / 2);
    EXPECT_EQ(std::stoll(one("SELECT sum(length(data)) FROM rank_matrix")), bytes - due);
    EXPECT_EQ(one("SELECT count(*) FROM step"), "2000");
    EXPECT_EQ(report(), before);
    EXPECT_THAT(plan_retention(*store_, rules_)->runs, IsEmpty());
    rules_.now_us += 400 * kDayUs;
    vacuum();
    EXPECT_EQ(matrices(), left);
    EXPECT_LT(std::stoi(one("SELECT count(*) FROM step")), 1000);
    EXPECT_EQ(report(), before);
}

TEST_F(Retention, NothingComesBack) {
    auto const before = report();
    vacuum();
    auto const left = dump(history_file(state_.path()));
    ingest();
    EXPECT_EQ(dump(history_file(state_.path())), left);
    fs::last_write_time(dir_ / "journal", fs::file_time_type::clock::now());
    ingest();
    EXPECT_EQ(dump(history_file(state_.path())), left);
    std::ofstream(dir_ / "journal", std::ios::app) << std::string(3, '\0');  // a torn tail
    ingest();
    EXPECT_EQ(dump(history_file(state_.path())), left);
    fs::rename(dir_, state_.path() / "runs" / "moved");
    ingest();
    EXPECT_EQ(matrices(), matrices_that_stay(records_of_run()));
    EXPECT_LT(std::stoi(one("SELECT count(*) FROM step")), 1000);
    EXPECT_EQ(report(), before);
}

TEST_F(Retention, AResumedRunIsCompleteAgain) {
    vacuum();
    auto records = records_of_run();
    records.push_back({records.size(), records.back().wall_us + 1,
                       protocol::LaunchOrdered{2, 4, "127.0.0.1", 4000}});
    write_file_atomic(dir_ / "journal", journal_bytes(records)).value();
    ingest();
    EXPECT_EQ(one("SELECT count(*) FROM step"), "2000");
    EXPECT_EQ(one("SELECT count(*) FROM kept"), "0");
    EXPECT_EQ(dump_steps(history_file(state_.path())), expected_steps(records));
}

TEST_F(Retention, LeavesWhatIsLiveYoungOrUnended) {
    auto const before = dump(history_file(state_.path()));
    live_ = true;
    EXPECT_EQ(plan_retention(*store_, rules_)->live, 1);
    vacuum();
    EXPECT_EQ(dump(history_file(state_.path())), before);
    live_ = false;
    rules_.now_us = 1'700'000'000'000'000 + kDayUs;
    vacuum();
    EXPECT_EQ(dump(history_file(state_.path())), before);
    rules_.now_us += 400 * kDayUs;
    RunShape open = kShape;
    open.ended = false;
    open.number = 2;
    write_run(state_.path(), "tiny-0002", journal_bytes(RunMaker(4).make(open)));
    ingest();
    vacuum();
    EXPECT_EQ(one("SELECT count(*) FROM step JOIN run USING(run_id) WHERE number=2"), "2000");
    EXPECT_NE(one("SELECT count(*) FROM rank_matrix"), "0");
}

TEST_F(Retention, BoundsTheBytesOfMatrices) {
    rules_.now_us = 1'700'000'000'000'000 + kDayUs;
    rules_.matrix_bytes = 10;
    auto const before = report();
    vacuum();
    EXPECT_EQ(one("SELECT count(*) FROM rank_matrix"), "0");
    EXPECT_EQ(one("SELECT count(*) FROM step"), "2000");
    EXPECT_EQ(one("SELECT matrices FROM kept"), "2");
    fs::rename(dir_, state_.path() / "runs" / "moved");
    ingest();
    EXPECT_EQ(one("SELECT count(*) FROM rank_matrix"), "0");
    EXPECT_EQ(report(), before);
}

TEST(MatrixWindows, AreTheFirstStepsAndThoseNearEvents) {
    EXPECT_THAT(matrix_windows({}), ElementsAre(StepRange{0, 100}));
    std::vector<int> const events{400, 20, 120, 460};
    EXPECT_THAT(matrix_windows(events), ElementsAre(StepRange{0, 171}, StepRange{350, 511}));
    std::vector<int> many;
    for (int i = 0; i < 500; ++i) many.push_back(10'000 * (i + 1));
    EXPECT_EQ(matrix_windows(many).size(), 1u + kMatrixWindowsMax);
}

TEST_F(Retention, JournalsGoOnlyWhenAsked) {
    auto const before = report();
    rules_.journals = true;
    vacuum();
    EXPECT_FALSE(fs::exists(dir_ / "journal"));
    ingest();
    EXPECT_EQ(report(), before);
    EXPECT_THAT(check_history(*store_)->problems, IsEmpty());
    EXPECT_THAT(check_history(*store_)->notes,
                ElementsAre(HasSubstr("journal: gone"), HasSubstr("1 runs are thinned")));
}

TEST_F(Retention, MakesAnOlderFileShrinkable) {
    store_.reset();
    {
        SQLite::Database plain(history_file(state_.path()).string(), SQLite::OPEN_READWRITE);
        plain.exec("PRAGMA auto_vacuum=NONE; VACUUM");
    }
    store_ = std::move(*Store::open(history_file(state_.path())));
    EXPECT_GT(vacuum(), 0);
    EXPECT_EQ(one("PRAGMA auto_vacuum"), "2");
    EXPECT_THAT(check_history(*store_)->problems, IsEmpty());
}

TEST_F(Retention, CheckFindsWhatIsWrong) {
    EXPECT_THAT(check_history(*store_)->problems, IsEmpty());
    auto const bytes = *read_file(dir_ / "journal");
    auto other = bytes;
    other[other.size() / 2] ^= 1;
    write_file_atomic(dir_ / "journal", other).value();
    EXPECT_THAT(check_history(*store_)->problems, ElementsAre(HasSubstr("wrong checksum")));
    write_file_atomic(dir_ / "journal", bytes.substr(0, 2000)).value();
    EXPECT_THAT(check_history(*store_)->problems, ElementsAre(HasSubstr("changed since")));
    write_file_atomic(dir_ / "journal", bytes).value();
    {
        SQLite::Database plain(history_file(state_.path()).string(), SQLite::OPEN_READWRITE);
        plain.exec("DELETE FROM event WHERE sequence=1; INSERT INTO step VALUES(77,1,0,1,1,'',0)");
    }
    EXPECT_THAT(
        check_history(*store_)->problems,
        ElementsAre(HasSubstr("1 rows of step without their run"), HasSubstr("in history.db")));
}

}  // namespace
}  // namespace osora::db::test
