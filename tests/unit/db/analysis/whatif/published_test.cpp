// The what-if replay against what was published with the trace (tests/data/stragglers).
#include "base/files/files.hpp"
#include "db/analysis/whatif/gunzip.hpp"
#include "db/analysis/whatif/whatif.hpp"

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include <algorithm>
#include <filesystem>
#include <random>
#include <sstream>

namespace osora::db::whatif {
namespace {

namespace json = boost::json;

/// The published figures were computed in 32 bits from times of microseconds.
constexpr double kRounding = 2e-6;

std::string file(char const* name) {
    return read_file(std::filesystem::path(OSORA_SOURCE_DIR) / "tests/data/stragglers" / name)
        .value();
}

JobShape shape_st() {
    return read_job_shape(file("meta-ST.yaml")).value();
}

std::string csv_st() {
    return gunzip(file("ops-ST.csv.gz")).value();
}

double figure(json::value const& from, std::string const& key) {
    return from.at(key).to_number<double>();
}

// How long it takes is measured by bench/analysis.
TEST(Published, SlowdownOfSt) {
    auto const found = what_if(csv_st(), shape_st()).value();
    auto const result = json::parse(file("result-ST.json"));
    EXPECT_NEAR(found.slowdown, figure(result, "blocking_slowdown"), kRounding);
    EXPECT_NEAR(found.slowdown, 1.1787, 5e-5);
    EXPECT_EQ(found.steps.size(), 32u);
    EXPECT_TRUE(found.steps_left_out.empty());
    EXPECT_EQ(found.rows_unreadable, 0);
    for (auto const& step : found.steps) {
        auto const name = std::to_string(step.step);
        EXPECT_NEAR(step.no_delay_s, figure(result.at("step_t_nodelay"), name), kRounding) << name;
        EXPECT_NEAR(step.slowdown, figure(result.at("blocking_step_slowdown"), name), kRounding);
        // The trace has the start of a transfer without the wait, so the first start is later.
        EXPECT_NEAR(step.actual_s, figure(result.at("step_t_base"), name), 5e-4) << name;
        EXPECT_NEAR(found.ideal_s, figure(result.at("step_t_noblk"), name), kRounding);
    }
}

TEST(Published, DecompositionsOfSt) {
    auto const found = what_if(csv_st(), shape_st()).value();
    auto const result = json::parse(file("result-ST.json"));
    auto const& types = result.at("blocking_decompose_by_optype").as_object();
    ASSERT_EQ(found.slowdown_of_type.size(), types.size());
    for (auto const& [type, slowdown] : found.slowdown_of_type) {
        EXPECT_NEAR(slowdown, types.at(type).to_number<double>(), kRounding) << type;
    }
    auto const check = [&](std::vector<double> const& slowdowns, char const* key) {
        ASSERT_EQ(slowdowns.size(), result.at(key).as_object().size());
        for (std::size_t i = 0; i < slowdowns.size(); ++i) {
            EXPECT_NEAR(slowdowns[i], figure(result.at(key), std::to_string(i)), kRounding) << key;
        }
    };
    check(found.slowdown_of_stage, "blocking_decompose_by_stage");
    check(found.slowdown_of_dp_rank, "blocking_decompose_by_dp_rank");
}

TEST(Published, SharesOfTheLastStageAndTheWorstWorkersOfSt) {
    auto const found = what_if(csv_st(), shape_st()).value();
    auto const stage = json::parse(file("ms-ST.json")), worker = json::parse(file("mw-ST.json"));
    EXPECT_NEAR(found.no_delay_s, figure(stage, "tori"), kRounding);
    EXPECT_NEAR(found.ideal_s, figure(stage, "tideal"), kRounding);
    EXPECT_NEAR(found.of_last_stage.removed, figure(stage, "Ms"), 1e-5);
    EXPECT_NEAR(found.of_last_stage.added, figure(stage, "add"), 1e-5);
    EXPECT_NEAR(found.of_worst_workers.removed, figure(worker, "Mw"), 1e-5);
    EXPECT_NEAR(found.of_worst_workers.added, figure(worker, "add"), 1e-5);
    EXPECT_EQ(found.worst_workers, 1);
    EXPECT_EQ(found.workers.front().stage, 3);
    EXPECT_EQ(found.holder, Holder::last_stage);
    EXPECT_EQ(found.held_by, "stage 3, the last one");
}

std::vector<std::string> lines_of(std::string const& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

std::string joined(std::vector<std::string> const& lines) {
    std::string text;
    for (auto const& line : lines) text += line + "\n";
    return text;
}

TEST(Published, TheOrderOfRowsDoesNotMatter) {
    auto lines = lines_of(csv_st());
    auto const found = what_if(joined(lines), shape_st()).value();
    std::mt19937_64 random(7);
    std::shuffle(lines.begin() + 1, lines.end(), random);
    auto const shuffled = what_if(joined(lines), shape_st()).value();
    EXPECT_EQ(found.slowdown, shuffled.slowdown);
    EXPECT_EQ(found.slowdown_of_type, shuffled.slowdown_of_type);
    EXPECT_EQ(found.of_worst_workers.removed, shuffled.of_worst_workers.removed);
}

// Data-parallel ranks are alike: swapping their names swaps what is said of them.
TEST(Published, NamesOfDataParallelRanksDoNotMatter) {
    auto lines = lines_of(csv_st());
    auto const found = what_if(joined(lines), shape_st()).value();
    for (std::size_t i = 1; i < lines.size(); ++i) {
        auto& rank = lines[i][lines[i].find(',') + 1];
        rank = rank == '0' ? '1' : '0';
    }
    auto const swapped = what_if(joined(lines), shape_st()).value();
    EXPECT_NEAR(found.slowdown, swapped.slowdown, 1e-9);
    EXPECT_NEAR(found.slowdown_of_dp_rank[0], swapped.slowdown_of_dp_rank[1], 1e-9);
    EXPECT_NEAR(found.of_last_stage.removed, swapped.of_last_stage.removed, 1e-9);
}

}  // namespace
}  // namespace osora::db::whatif
