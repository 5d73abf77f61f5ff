#include "daemon/service/supervision.hpp"

#include <gtest/gtest.h>

namespace osora::daemon {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr ControllerEnd kKilled{true, 0, 9, true};

TEST(Supervision, ACleanExitIsTheEnd) {
    Supervision run;
    for (int const code : {0, 1, 93, 130}) {
        EXPECT_EQ(run.on_end(0s, {true, code, 0, false}).what, AfterEnd::forget);
    }
    EXPECT_EQ(run.on_end(0s, {false, 0, 0, false}).what, AfterEnd::forget);
    EXPECT_EQ(run.on_end(0s, {true, 2, 0, false}).why, "the controller exited with 2");
}

TEST(Supervision, CrashesAreFollowedByRestartsEverLater) {
    Supervision run;
    EXPECT_EQ(run.on_end(0s, kKilled).delay, 0ms);
    EXPECT_EQ(run.on_end(1s, kKilled).delay, 500ms);
    EXPECT_EQ(run.on_end(2s, {true, 5, 0, true}).delay, 1000ms);
    EXPECT_EQ(run.on_end(3s, {false, 0, 0, true}).delay, 2000ms);
    EXPECT_EQ(run.on_end(4s, {true, 0, 6, false}).delay, 4000ms)
        << "before it wrote controller.json";
    auto const last = run.on_end(5s, kKilled);
    EXPECT_EQ(last.what, AfterEnd::give_up);
    EXPECT_EQ(last.why, "the controller was killed by signal 9, 6 times within a minute");
}

TEST(Supervision, AControllerThatDidNotStartHasCrashed) {
    Supervision run;
    ControllerEnd end;
    end.not_started = "cannot start controller: fork: out of memory";
    EXPECT_EQ(run.on_end(0s, kKilled).delay, 0ms);
    auto const step = run.on_end(1s, end);
    EXPECT_EQ(step.what, AfterEnd::restart);
    EXPECT_EQ(step.delay, 500ms);
    EXPECT_EQ(step.why, end.not_started);
}

TEST(Supervision, OldCrashesAreForgotten) {
    Supervision run;
    for (int i = 0; i < 50; ++i) {
        auto const step = run.on_end(i * 20s, kKilled);
        EXPECT_EQ(step.what, AfterEnd::restart);
        EXPECT_LE(step.delay, 4s);
    }
}

}  // namespace
}  // namespace osora::daemon
