#include "cli/text/terminal.hpp"

#include <gtest/gtest.h>

namespace osora::cli {
namespace {

TEST(Terminal, WidthCountsCodePointsAndNoSequences) {
    EXPECT_EQ(display_width("abc"), 3);
    EXPECT_EQ(display_width("a · ±"), 5);
    Terminal terminal;
    terminal.colour = true;
    EXPECT_EQ(display_width(terminal.styled(Style::bad, "failed")), 6);
}

TEST(Terminal, ColourOnlyWhereThereIsSome) {
    Terminal terminal;
    EXPECT_EQ(terminal.styled(Style::bad, "x"), "x");
    terminal.colour = true;
    EXPECT_EQ(terminal.styled(Style::bad, "x"), "\x1b[31mx\x1b[0m");
    EXPECT_EQ(terminal.styled(Style::plain, "x"), "x");
}

TEST(Terminal, PipesAndDumbTerminalsAreNotInteractive) {
    EXPECT_FALSE(terminal_of(-1, {"TERM=xterm"}).interactive);
    EXPECT_FALSE(terminal_of(-1, {"TERM=xterm"}).colour);
    EXPECT_EQ(columns_of(-1), 80);
}

TEST(Terminal, ClipsAtCodePoints) {
    EXPECT_EQ(clipped("a·b", 2), "a·");
    EXPECT_EQ(clipped("a·b", 3), "a·b");
    EXPECT_EQ(clipped("a·b", 0), "");
}

TEST(Terminal, FillsParagraphs) {
    EXPECT_EQ(filled("one two three", 2, 9), "  one two\n  three\n");
    EXPECT_EQ(filled("a b\n\nc", 0, 80), "a b\n\nc\n");
    EXPECT_EQ(filled("averylongword x", 0, 5), "averylongword\nx\n");
    EXPECT_EQ(filled("", 0, 80), "");
}

TEST(Terminal, TextFromOutsideCannotMoveTheCursor) {
    EXPECT_EQ(printable("a\x1b[2Jb\nc"), "a?[2Jb?c");
}

}  // namespace
}  // namespace osora::cli
