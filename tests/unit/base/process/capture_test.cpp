#include "base/process/capture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

SpawnOptions shell(std::string const& script) {
    SpawnOptions options;
    options.program = "/bin/sh";
    options.arguments = {"-c", script};
    options.environment = {"PATH=/usr/bin:/bin"};
    return options;
}

TEST(Capture, BothStreamsInputAndStatus) {
    auto const captured = run_captured(shell("cat; echo oops >&2; exit 3"), 20s, "in\n");
    ASSERT_TRUE(captured.has_value()) << captured.error().message;
    EXPECT_EQ(captured->out, "in\n");
    EXPECT_EQ(captured->err, "oops\n");
    EXPECT_EQ(captured->status.exit_code, 3);
    EXPECT_FALSE(captured->ok());
}

TEST(Capture, MoreThanAPipeHolds) {
    std::string const large(3 << 20, 'x');
    auto const captured = run_captured(shell("cat; head -c 300000 /dev/zero >&2"), 20s, large);
    ASSERT_TRUE(captured.has_value()) << captured.error().message;
    EXPECT_EQ(captured->out, large);
    EXPECT_EQ(captured->err.size(), 300000u);
    EXPECT_TRUE(captured->ok());
}

TEST(Capture, ADeadlineAndProcessesThatOutliveIt) {
    auto const late = run_captured(shell("sleep 100"), 50ms);
    ASSERT_TRUE(late.has_error());
    EXPECT_EQ(late.error().code, Errc::timed_out);
    EXPECT_EQ(late.error().message, "sh: no answer within 0.05 s");
    // capture() does not wait for a grandchild that keeps the pipes open.
    auto const left = run_captured(shell("sleep 2 & echo done"), 20s);
    ASSERT_TRUE(left.has_value());
    EXPECT_EQ(left->out, "done\n");
}

TEST(Capture, ProgramsInAPath) {
    EXPECT_EQ(find_in_path("sh", "/nowhere::/bin").value(), "/bin/sh");
    EXPECT_THAT(find_in_path("no-such-thing", "/usr/bin:/bin").error().message,
                testing::HasSubstr("no-such-thing: no such program in PATH"));
}

}  // namespace
}  // namespace osora
