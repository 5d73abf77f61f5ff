#include "cli/log_files.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

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

TEST_F(LogFilesTest, Epochs) {
    fs::create_directories(paths_.dir / "logs" / "10");
    fs::create_directories(paths_.dir / "logs" / "2");
    fs::create_directories(paths_.dir / "logs" / "junk");
    EXPECT_THAT(logged_epochs(paths_), ElementsAre(0, 2, 10));
}

}  // namespace
}  // namespace osora::cli
