#include "cli/run/follow/log_files.hpp"

#include "base/files/descriptor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class LogFilesTest : public testing::Test {
protected:
    LogFilesTest() : paths_{fs::path(testing::TempDir()) / fmt::format("run logs {}", ::getpid())} {
        fs::create_directories(paths_.rank_log(0, 0).parent_path());
    }
    ~LogFilesTest() override { fs::remove_all(paths_.dir); }

    void append(int rank, std::string const& text) {
        std::ofstream(paths_.rank_log(0, rank), std::ios::app) << text;
    }
    std::vector<std::string> drained(LogFiles& files, bool last) {
        std::vector<std::string> shown;
        files.drain(last, [&](FoldedLine const& line) {
            shown.push_back(rank_list(line.ranks) + ": " + line.text);
        });
        return shown;
    }
    protocol::RunPaths paths_;
};

TEST_F(LogFilesTest, FoldsAndKeepsAnUnfinishedLineForLater) {
    append(0, "loading\nstep ");
    append(1, "loading\n");
    LogFiles files(paths_, 0, {0, 1});
    EXPECT_THAT(drained(files, false), ElementsAre("0-1: loading"));
    append(0, "1\n");
    append(1, "step 1\nbye");
    EXPECT_THAT(drained(files, false), ElementsAre("0-1: step 1"));
    EXPECT_THAT(drained(files, true), ElementsAre("1: bye"));
    EXPECT_THAT(drained(files, true), IsEmpty());
}

TEST_F(LogFilesTest, FilesMayComeLater) {
    LogFiles files(paths_, 0, {5});
    EXPECT_THAT(drained(files, false), IsEmpty());
    EXPECT_FALSE(files.any_open());
    append(5, "here\r\n");
    EXPECT_THAT(drained(files, false), ElementsAre("5: here"));
    EXPECT_TRUE(files.any_open());
}

TEST_F(LogFilesTest, ProgressBarsShowTheirLastVersion) {
    append(0, " 10%\r 50%\r100%\nx\n");
    LogFiles files(paths_, 0, {0});
    EXPECT_THAT(drained(files, true), ElementsAre("0: 100%", "0: x"));
}

TEST_F(LogFilesTest, LongLogsFoldBeyondTheWindow) {
    constexpr int kLines = 5000;  // many windows
    for (int rank = 0; rank < 3; ++rank) {
        std::string text;
        for (int i = 0; i < kLines; ++i) text += fmt::format("line {}\n", i);
        append(rank, text);
    }
    LogFiles files(paths_, 0, {0, 1, 2});
    auto const shown = drained(files, true);
    ASSERT_EQ(shown.size(), static_cast<std::size_t>(kLines));
    EXPECT_EQ(shown.front(), "0-2: line 0");
    EXPECT_EQ(shown.back(), fmt::format("0-2: line {}", kLines - 1));
}

TEST_F(LogFilesTest, ALineWithoutEndIsCut) {
    append(0, std::string(1 << 20, 'x') + "\nnext\n");
    LogFiles files(paths_, 0, {0});
    auto const shown = drained(files, true);
    ASSERT_FALSE(shown.empty());
    EXPECT_EQ(shown.back(), "0: next");
    for (auto const& line : shown) EXPECT_LE(line.size(), LineFolder::kLineBytesMax + 10);
}

TEST_F(LogFilesTest, RanksThatHaveWrittenNothingAreNamed) {
    append(0, "\n");
    append(2, "");
    append(4, "");
    append(5, "no end");
    LogFiles files(paths_, 0, {0, 2, 3, 4, 5});
    (void)drained(files, false);
    EXPECT_THAT(files.silent().empty, ElementsAre(2, 4));
    EXPECT_THAT(files.silent().missing, ElementsAre(3));
    append(2, "late\n");
    (void)drained(files, true);
    EXPECT_THAT(files.silent().empty, ElementsAre(4));
}

TEST(SilentRanksText, SaysWhichRanksAndWhere) {
    protocol::RunPaths const paths{"/state/runs/demo-0001"};
    EXPECT_EQ(silent_ranks_text(paths, 0, {}), "");
    EXPECT_EQ(silent_ranks_text(paths, 2, {.empty = {3}, .missing = {}}),
              "rank 3 has written nothing (/state/runs/demo-0001/logs/2/3.log)");
    EXPECT_EQ(silent_ranks_text(paths, 0, {.empty = {0, 1, 2, 7}, .missing = {5}}),
              "ranks 0-2,7 have written nothing (/state/runs/demo-0001/logs/0/RANK.log); "
              "rank 5 has no log file (/state/runs/demo-0001/logs/0/5.log)");
    EXPECT_EQ(silent_ranks_text(paths, 0, {.empty = {}, .missing = {1, 2}}),
              "ranks 1-2 have no log files (/state/runs/demo-0001/logs/0/RANK.log)");
}

TEST_F(LogFilesTest, Attempts) {
    fs::create_directories(paths_.dir / "logs" / "10");
    fs::create_directories(paths_.dir / "logs" / "2");
    fs::create_directories(paths_.dir / "logs" / "junk");
    EXPECT_THAT(logged_attempts(paths_), ElementsAre(0, 2, 10));
}

TEST_F(LogFilesTest, TheMiddleThatIsGoneIsSaidAndTheNewestLinesAreThere) {
    std::string text = "first\n";
    while (text.size() < (1 << 20)) text += "a line that is in the way\n";
    append(0, text + "second last\nlast\n");
    std::int64_t const size = static_cast<std::int64_t>(text.size());
    Descriptor const file(::open(paths_.rank_log(0, 0).c_str(), O_WRONLY | O_CLOEXEC));
    if (::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096,
                    size / 65536 * 65536 - 4096) != 0) {
        GTEST_SKIP() << "this file system has no holes";
    }
    LogFiles files(paths_, 0, {0});
    auto const shown = drained(files, true);
    ASSERT_GT(shown.size(), 4u);
    EXPECT_EQ(shown.front(), "0: first");
    EXPECT_EQ(shown[shown.size() - 2], "0: second last");
    EXPECT_EQ(shown.back(), "0: last");
    EXPECT_EQ(std::ranges::count(shown, "0: [osora: lines are gone from here: faults.log_mib]"), 1);
    for (std::string const& each : shown) EXPECT_EQ(each.find('\0'), std::string::npos);
}

}  // namespace
}  // namespace osora::cli
