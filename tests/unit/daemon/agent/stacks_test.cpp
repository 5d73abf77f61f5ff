// The state of a process: a child that sleeps, one that is stopped, one that writes its own stack,
// and a program that answers where c10d's flight recorder would.
#include "daemon/agent/stacks.hpp"

#include "base/files/files.hpp"
#include "base/process/process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <csignal>

namespace osora::daemon {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

class Stacks : public testing::Test {
protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "osora-stacks-XXXXXX";
        ASSERT_NE(::mkdtemp(folder.data()), nullptr);
        folder_ = folder;
    }
    void TearDown() override {
        for (Child const& each : children_) {
            signal_group(each, SIGKILL);
            [[maybe_unused]] auto const status = reap(each);
        }
        std::filesystem::remove_all(folder_);
    }
    StackSubject start(int rank, std::string const& script) {
        SpawnOptions options{.program = "/bin/sh",
                             .arguments = {"-c", script},
                             .environment = {"PATH=/usr/bin:/bin"},
                             .working_directory = folder_,
                             .descriptors = {},
                             .death_signal = SIGKILL,
                             .new_session = false};
        auto child = spawn(options);
        EXPECT_TRUE(child.has_value());
        children_.push_back(std::move(*child));
        return {rank, children_.back().id};
    }
    std::vector<protocol::RankState> take(std::vector<StackSubject> const& subjects) {
        boost::asio::io_context context;
        auto future =
            boost::asio::co_spawn(context, take_stacks(subjects, folder_), boost::asio::use_future);
        context.run();
        return future.get();
    }
    [[nodiscard]] std::string text(int rank) const {
        auto const content = read_file(folder_ / (std::to_string(rank) + ".txt"));
        return content.has_value() ? *content : "";
    }

    std::filesystem::path folder_;
    std::vector<Child> children_;
};

TEST_F(Stacks, AStoppedProcessDiffersFromOneThatWaits) {
    auto const sleeping = start(0, "exec sleep 1000");
    auto const stopped = start(1, "kill -STOP $$");
    int status = 0;
    ASSERT_EQ(::waitpid(stopped.process.pid, &status, WUNTRACED), stopped.process.pid);
    ASSERT_TRUE(WIFSTOPPED(status));
    auto const states = take({sleeping, stopped});
    ASSERT_EQ(states.size(), 2u);
    EXPECT_THAT(states[0].state, AnyOf(StartsWith("waits in "), "sleeps", "runs"));
    EXPECT_EQ(states[1].rank, 1);
    EXPECT_EQ(states[1].state, "is stopped by a signal");
    EXPECT_THAT(text(1), HasSubstr("process " + std::to_string(stopped.process.pid)));
    EXPECT_THAT(text(1), HasSubstr(": is stopped by a signal"));
}

TEST_F(Stacks, AProcessThatHasEndedHasAnEntryToo) {
    auto const gone = start(0, "exit 0");
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(gone.process.pid), nullptr, WEXITED | WNOWAIT), 0);
    auto const states = take({gone});
    ASSERT_EQ(states.size(), 1u);
    EXPECT_EQ(states[0].state, "has ended");
}

TEST_F(Stacks, TheFlightRecorderIsRequestedAndAwaited) {
    // Like c10d: it listens on a pipe, and writes the dump next to it.
    auto const rank = start(3,
                            "mkfifo flight-request-3.pipe && echo > ready && "
                            "read line < flight-request-3.pipe && echo dump > flight-3; "
                            "exec sleep 1000");
    // The pipe accepts a writer once its reader has opened it: a first try may come too early.
    auto const asked_and_dumped = [&] {
        (void)take({rank});
        return std::filesystem::exists(folder_ / "flight-3");
    };
    bool dumped = false;
    for (int i = 0; i < 200 && !dumped; ++i) dumped = asked_and_dumped();
    EXPECT_TRUE(dumped);
}

TEST(StateText, OfProcsLetters) {
    EXPECT_EQ(state_text('S', "futex_wait_queue"), "waits in futex_wait_queue");
    EXPECT_EQ(state_text('S', "poll_schedule_timeout.constprop.0"),
              "waits in poll_schedule_timeout");
    EXPECT_EQ(state_text('S', "0"), "sleeps");
    EXPECT_EQ(state_text('R', ""), "runs");
    EXPECT_EQ(state_text('D', "nfs_wait_bit"), "is stuck in the kernel in nfs_wait_bit");
    EXPECT_EQ(state_text('t', ""), "is stopped by a signal");
}

TEST(Demangled, NamesAreReadable) {
    EXPECT_EQ(demangled("bin/x(_ZN5osora4mock5Peers5agreeEb+0x1c)[0x55]"),
              "bin/x(osora::mock::Peers::agree(bool)+0x1c)[0x55]");
    EXPECT_EQ(demangled("/lib/libc.so.6(+0x3c050)[0x7f]"), "/lib/libc.so.6(+0x3c050)[0x7f]");
    EXPECT_EQ(demangled("no frame"), "no frame");
}

}  // namespace
}  // namespace osora::daemon
