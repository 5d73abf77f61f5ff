// A log that is limited in size while another program writes it.
#include "daemon/agent/log_cap.hpp"
#include "base/files/files.hpp"
#include "base/text/units.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace osora::daemon {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(PartToFree, IsTheMiddleOnceThereIsTooMuch) {
    EXPECT_TRUE(part_to_free(kGiB, {}, 0).is_empty()) << "no cap";
    EXPECT_TRUE(part_to_free(64 * kMiB, {}, 64 * kMiB).is_empty());
    FilePart const first = part_to_free(65 * kMiB, {}, 64 * kMiB);
    EXPECT_EQ(first.begin, kMiB) << "the beginning stays";
    EXPECT_EQ(first.end, 17 * kMiB) << "and the newest three quarters";
    EXPECT_TRUE(part_to_free(75 * kMiB, first, 64 * kMiB).is_empty());
    FilePart const next = part_to_free(81 * kMiB, first, 64 * kMiB);
    EXPECT_EQ(next, (FilePart{17 * kMiB, 33 * kMiB})) << "continues after the freed part";
}

TEST(PartToFree, SmallCapsLeaveSomethingAtBothEnds) {
    FilePart const part = part_to_free(20 * kMiB, {}, kMiB);
    EXPECT_EQ(part.begin, 64 * kKiB);
    EXPECT_GE(20 * kMiB - part.end, 768 * kKiB);
    EXPECT_LE(20 * kMiB - part.end, kMiB);
}

TEST(LogCap, HoldsAFileThatSomebodyElseAppendsTo) {
    auto const path = std::filesystem::path(testing::TempDir()) / fmt::format("cap-{}", ::getpid());
    Descriptor const writer(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
    ASSERT_TRUE(writer.is_open());
    LogCap cap(path, kMiB);
    std::string newest;
    for (int i = 0; i < 2000; ++i) {
        std::string text;
        for (int j = 0; j < 100; ++j)
            text +=
                fmt::format("line {} of the log of a rank\n", newest = fmt::format("{}.{}", i, j));
        ASSERT_EQ(::write(writer.get(), text.data(), text.size()),
                  static_cast<ssize_t>(text.size()));
        if (auto const held = cap.hold(); held.has_error()) {
            std::filesystem::remove(path);
            GTEST_SKIP() << held.error().message;
        }
        struct stat info {};
        ASSERT_EQ(::stat(path.c_str(), &info), 0);
        ASSERT_LE(info.st_blocks * 512, kMiB + 128 * kKiB);
    }
    auto const text = read_file(path, 64 << 20);
    ASSERT_TRUE(text.has_value()) << text.error().message;
    EXPECT_THAT(*text, StartsWith("line 0.0 of the log"));
    std::string const tail = text->substr(text->size() - 700 * kKiB);
    EXPECT_EQ(tail.find('\0'), std::string::npos) << "the newest lines are whole";
    EXPECT_TRUE(text->ends_with(fmt::format("line {} of the log of a rank\n", newest)));
    std::filesystem::remove(path);
}

TEST(LogCap, LeavesOtherThingsThanFilesAlone) {
    EXPECT_TRUE(LogCap("/dev/null", kMiB).hold().has_value());
    EXPECT_TRUE(LogCap("/nowhere/at/all", kMiB).hold().has_value());
}

}  // namespace
}  // namespace osora::daemon
