// The code points are those of ECMA-48 and of Unicode's UAX 9; the answers were written by hand.
#include "base/text/printable.hpp"

#include <gtest/gtest.h>

namespace osora {
namespace {

TEST(Printable, LeavesTextOfAnyLanguage) {
    for (char const* text : {"", "a b", "naïve", "訓練", "🎬", "100 % ± 3 µs"}) {
        EXPECT_EQ(printable(text), text);
    }
}

TEST(Printable, HidesWhatMovesTheCursorOrTurnsTextAround) {
    EXPECT_EQ(printable("a\x1b[2Jb\x7f\n"), "a?[2Jb??");
    EXPECT_EQ(printable("a\xc2\x9b"
                        "2J"),
              "a?2J")
        << "U+009B is CSI";
    EXPECT_EQ(printable("a\xe2\x80\xae"
                        "gpj.exe"),
              "a?gpj.exe")
        << "U+202E";
    for (char const* mark : {"\xd8\x9c", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa",
                             "\xe2\x81\xa6", "\xe2\x81\xa9", "\xe2\x80\xa8", "\xef\xbb\xbf"}) {
        EXPECT_EQ(printable(mark), "?");
    }
}

TEST(Printable, BytesThatAreNoUtf8AreHiddenOneByOne) {
    EXPECT_EQ(printable("\x9b"
                        "2J"),
              "?2J")
        << "CSI of a terminal that reads Latin-1";
    EXPECT_EQ(printable("\xff\xfe"), "??");
    EXPECT_EQ(printable("\xe8\xa8"), "??") << "cut off";
    EXPECT_EQ(printable("\xc0\xaf"), "??") << "overlong";
}

TEST(Printable, KeepsWhatTheCallerNames) {
    EXPECT_EQ(printable("a\tb\nc\r\x1b", "\n\t"), "a\tb\nc??");
}

TEST(ScreenText, KeepsColoursAndLinesOnly) {
    EXPECT_EQ(screen_text("\x1b[1mbold\x1b[0m\n"), "\x1b[1mbold\x1b[0m\n");
    EXPECT_EQ(screen_text("\x1b[2J\x1b]0;title\x07"), "?[2J?]0;title?");
    EXPECT_EQ(screen_text("\x1b"), "?");
    EXPECT_EQ(screen_text("\x1b[31"), "?[31");
    EXPECT_EQ(screen_text("\x1b[31mred\xc2\x9b"
                          "2J"),
              "\x1b[31mred?2J");
}

TEST(PrintableJson, HoldsTheSameValues) {
    EXPECT_EQ(printable_json("{\"a\":\"\xc2\x9b\xe2\x80\xae\"}\n"), "{\"a\":\"\\u009b\\u202e\"}\n");
    EXPECT_EQ(printable_json("{\n\t\"b\": \"訓練\"\r\n}"), "{\n\t\"b\": \"訓練\"\r\n}");
}

}  // namespace
}  // namespace osora
