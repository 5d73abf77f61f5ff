// What the end of a run says when it was slower than those before it.
#include "cli/regression_word.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<db::analysis::SeriesRun> runs(std::vector<double> const& step_s) {
    std::vector<db::analysis::SeriesRun> made;
    for (double const each : step_s) {
        db::analysis::SeriesRun run;
        run.summary.run.number = static_cast<int>(made.size()) + 1;
        run.summary.run.name = "r";
        run.summary.measured.emplace();
        auto& measured = *run.summary.measured;
        measured.steps_used = 100;
        measured.step_s_median = measured.step_s_mix = each;
        measured.buckets.push_back({.bucket = "64x64x8",
                                    .steps = 100,
                                    .samples_per_step = 8,
                                    .step_s_median = each,
                                    .step_s_mad = 0.01});
        made.push_back(std::move(run));
    }
    return made;
}

TEST(RegressionWord, ASlowRunIsToldWithTheLastGoodOne) {
    auto const word = regression_word(runs({7, 7.05, 6.98, 7.02, 7.01, 6.99, 14}), 7);
    EXPECT_EQ(word.good, 6);
    EXPECT_EQ(word.bad, 7);
    EXPECT_FALSE(word.confirmed) << "one run may be an odd one";
    EXPECT_THAT(word.text, HasSubstr("slower"));
    EXPECT_THAT(word.text, HasSubstr("next     osora bisect 6 7\n"));
}

TEST(RegressionWord, TwoOfTwoConfirm) {
    auto const word = regression_word(runs({7, 7.05, 6.98, 7.02, 7.01, 6.99, 14, 14.1}), 8);
    EXPECT_TRUE(word.confirmed);
    EXPECT_EQ(word.good, 6);
}

TEST(RegressionWord, FastRunsAndShortSeriesSayNothing) {
    EXPECT_THAT(regression_word(runs({7, 7.05, 6.98, 7.02, 7.01, 6.99, 7.03}), 7).text, IsEmpty());
    EXPECT_THAT(regression_word(runs({7, 14}), 2).text, IsEmpty());
    EXPECT_THAT(regression_word(runs({7, 7.05, 6.98, 7.02, 7.01, 6.99, 14}), 3).text, IsEmpty())
        << "not the newest";
    EXPECT_THAT(regression_word({}, 1).text, IsEmpty());
}

}  // namespace
}  // namespace osora::cli
