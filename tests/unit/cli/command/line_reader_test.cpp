// Lines of a pipe, as they come.
#include "cli/command/line_reader.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace osora::cli {
namespace {

class LineReaderTest : public testing::Test {
protected:
    void SetUp() override { ASSERT_EQ(::pipe(ends_.data()), 0); }
    void TearDown() override {
        finish();
        ::close(ends_[0]);
    }
    void send(std::string const& text) {
        ASSERT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    void finish() {
        if (ends_[1] >= 0) ::close(ends_[1]);
        ends_[1] = -1;
    }
    std::array<int, 2> ends_{-1, -1};
};

TEST_F(LineReaderTest, TheLastLineNeedsNoEnd) {
    send("one\n\nthree");
    finish();
    LineReader lines(ends_[0], 16);
    EXPECT_EQ(lines.next()->text, "one");
    EXPECT_TRUE(lines.has_line());
    EXPECT_EQ(lines.next()->text, "");
    EXPECT_FALSE(lines.has_line());
    auto const last = lines.next();
    EXPECT_EQ(last->text, "three");
    EXPECT_EQ(last->number, 3);
    EXPECT_FALSE(lines.next());
}

TEST_F(LineReaderTest, AnswersBeforeMoreIsSent) {
    LineReader lines(ends_[0], 16);
    send("one\ntw");
    EXPECT_EQ(lines.next()->text, "one");
    EXPECT_FALSE(lines.has_line());
    send("o\n");
    EXPECT_EQ(lines.next()->text, "two");
}

TEST_F(LineReaderTest, TooLongALineIsSkippedToItsEnd) {
    send("0123456789\nok\n0123456789");
    finish();
    LineReader lines(ends_[0], 4);
    EXPECT_FALSE(lines.next()->whole);
    auto const second = lines.next();
    EXPECT_TRUE(second->whole);
    EXPECT_EQ(second->text, "ok");
    EXPECT_FALSE(lines.next()->whole);
    EXPECT_FALSE(lines.next());
}

}  // namespace
}  // namespace osora::cli
