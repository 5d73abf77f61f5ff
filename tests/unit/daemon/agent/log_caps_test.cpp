// Logs that a thread limits, so that the agent's loop never waits for a disk.
#include "daemon/agent/log_caps.hpp"
#include "base/text/units.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <future>
#include <utility>
#include <vector>

namespace osora::daemon {
namespace {

class LogCapsTest : public testing::Test {
protected:
    ~LogCapsTest() override { std::filesystem::remove(path_); }
    std::filesystem::path const path_ =
        std::filesystem::path(testing::TempDir()) / ("caps-" + std::to_string(::getpid()));
};

TEST_F(LogCapsTest, NobodyWaitsForADiskThatDoesNotAnswer) {
    std::promise<void> asked, answers;
    bool first = true;
    {
        LogCaps caps([&](LogCap&) -> Result<void> {
            if (!std::exchange(first, false)) return {};
            asked.set_value();
            answers.get_future().wait();
            return Error{Errc::io, "no space for a hole"};
        });
        caps.add(1, 0, LogCap(path_, kMiB));
        asked.get_future().wait();
        caps.add(2, 1, LogCap(path_, kMiB));
        caps.finish(1);
        EXPECT_TRUE(caps.take_failures().empty());
        answers.set_value();
        std::vector<LogCaps::Failure> failures;
        while (failures.empty()) failures = caps.take_failures();
        ASSERT_EQ(failures.size(), 1u);
        EXPECT_EQ(failures[0].rank, 0);
    }
}

TEST_F(LogCapsTest, WhatALogHoldsAtTheEndIsLimited) {
    std::ofstream(path_) << std::string(4 << 20, 'x');
    bool refused = false;
    {
        LogCaps caps([&refused](LogCap& cap) {
            auto held = cap.hold();
            if (held.has_error() &&
                held.error().message.find(std::strerror(EOPNOTSUPP)) != std::string::npos)
                refused = true;
            return held;
        });
        caps.add(1, 0, LogCap(path_, kMiB));
        caps.finish(1);
    }
    if (refused) GTEST_SKIP() << "the file system cannot free a part of a file";
    struct stat info {};
    ASSERT_EQ(::stat(path_.c_str(), &info), 0);
    EXPECT_LE(info.st_blocks * 512, kMiB + 128 * kKiB);
    EXPECT_EQ(info.st_size, 4 << 20);
}

}  // namespace
}  // namespace osora::daemon
