#include "cli/run/follow/live_figures.hpp"

#include "views.hpp"

#include <gtest/gtest.h>

namespace osora::cli {
namespace {

protocol::RunView launched(Story& story, int steps) {
    protocol::RunView view;
    fold(view, story.submitted(2, steps));
    for (auto const& each : story.launch(0.2, 0, 2, 0)) fold(view, each);
    return view;
}

TEST(LiveFigures, NothingIsKnownBeforeTheFirstStep) {
    Story story;
    auto const figures = live_figures(launched(story, 100));
    for (auto const* each : {&figures.loss, &figures.smooth_loss, &figures.step_time_s,
                             &figures.samples_per_s, &figures.eta_s}) {
        EXPECT_TRUE(each->is_null()) << protocol::json::serialize(*each);
    }
}

// Ten steps of 2 s with 8 samples each, 90 are left.
TEST(LiveFigures, AreThoseOfTheView) {
    Story story;
    auto view = launched(story, 100);
    fold(view, story.steps(20, 0, 2, {0, 10}, {2, 0.5}));
    auto const figures = live_figures(view);
    EXPECT_DOUBLE_EQ(figures.loss.to_number<double>(), 0.5);
    EXPECT_DOUBLE_EQ(figures.step_time_s.to_number<double>(), 2);
    EXPECT_DOUBLE_EQ(figures.samples_per_s.to_number<double>(), 4);
    EXPECT_DOUBLE_EQ(figures.eta_s.to_number<double>(), 180);
    auto stopped = view;
    stopped.status.verdict = protocol::Verdict::cancelled;
    EXPECT_TRUE(live_figures(stopped).eta_s.is_null()) << "its other steps do not come";
    fold(view, story.steps(200, 0, 2, {10, 90}, {2, 0.5}));
    EXPECT_EQ(live_figures(view).eta_s.to_number<double>(), 0) << "that is known";
}

// A user program whose number of steps osora does not know, and which reports no loss.
TEST(LiveFigures, AnUnknownEndIsNoEndNow) {
    Story story;
    auto view = launched(story, 0);
    auto record = story.steps(20, 0, 2, {0, 10}, {2, 0.5});
    auto& chunk = std::get<protocol::MetricChunk>(record.event);
    chunk.columns.erase("loss");
    chunk.samples.assign(10, 0);
    fold(view, record);
    auto const figures = live_figures(view);
    EXPECT_TRUE(figures.eta_s.is_null());
    EXPECT_TRUE(figures.loss.is_null());
    EXPECT_TRUE(figures.smooth_loss.is_null());
    EXPECT_TRUE(figures.samples_per_s.is_null());
    EXPECT_DOUBLE_EQ(figures.step_time_s.to_number<double>(), 2);
}

TEST(LiveFigures, NoBytesAndNoTimeAreNull) {
    EXPECT_TRUE(null_if_zero(0).is_null());
    EXPECT_EQ(null_if_zero(std::int64_t{5} << 32), std::int64_t{5} << 32);
}

TEST(LiveFigures, StepsWithoutTimesHaveNoRate) {
    Story story;
    auto view = launched(story, 100);
    auto record = story.steps(20, 0, 2, {0, 10}, {2, 0.5});
    std::get<protocol::MetricChunk>(record.event).columns.erase("step_time_s");
    fold(view, record);
    ASSERT_EQ(view.steps_done, 10);
    auto const figures = live_figures(view);
    EXPECT_TRUE(figures.step_time_s.is_null());
    EXPECT_TRUE(figures.samples_per_s.is_null());
    EXPECT_TRUE(figures.eta_s.is_null());
    EXPECT_DOUBLE_EQ(figures.loss.to_number<double>(), 0.5);
}

}  // namespace
}  // namespace osora::cli
