#include "cli/run/stop_text.hpp"

#include <gtest/gtest.h>

namespace osora::cli {
namespace {

TEST(StopText, SaysWhatEachKindOfJobDoes) {
    protocol::RunStatus train, exec, rehearsal, scoring;
    exec.exec = rehearsal.rehearsal = scoring.scoring = true;
    EXPECT_EQ(stopping(train, "its step"), "stopping after its step, with a checkpoint");
    EXPECT_EQ(stopping(rehearsal, "this step"), "stopping after this step");
    EXPECT_EQ(stopping(scoring, "its step"), "stopping after the clips in progress");
    EXPECT_EQ(stopping(exec, "its step"), "stopping, its ranks get SIGTERM");
    EXPECT_EQ(resume_hint(train, 7), "osora resume 7 continues");
    EXPECT_EQ(resume_hint(scoring, 7), "osora resume 7 continues");
    EXPECT_EQ(resume_hint(rehearsal, 7), "osora resume 7 repeats it");
}

}  // namespace
}  // namespace osora::cli
