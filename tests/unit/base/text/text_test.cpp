#include "base/text/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora {
namespace {

using testing::ElementsAre;

TEST(Text, BlanksAtTheEndsGo) {
    EXPECT_EQ(trimmed(" \t a b\r\n"), "a b");
    EXPECT_EQ(trimmed("\v\f"), "");
    EXPECT_EQ(trimmed(""), "");
}

TEST(Text, OnlyAsciiLettersBecomeLower) {
    EXPECT_EQ(lower("A-Z \xC3\x84 9"), "a-z \xC3\x84 9");
}

TEST(Text, EmptyPartsCountAndEmptyWordsDoNot) {
    EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
    EXPECT_THAT(split("", ','), ElementsAre(""));
    EXPECT_THAT(words_of(" a\t\tb\n"), ElementsAre("a", "b"));
    EXPECT_TRUE(words_of(" \n").empty());
}

TEST(Text, NounsFollowTheirNumber) {
    EXPECT_EQ(counted(1, "run"), "1 run");
    EXPECT_EQ(counted(1208, "run"), "1,208 runs");
    EXPECT_EQ(counted(0, "pass"), "0 passes");
    EXPECT_EQ(counted(2, "switch"), "2 switches");
}

TEST(Text, NumbersThatDoNotFitAreNone) {
    EXPECT_EQ(leading_number<int>("12 GB"), 12);
    EXPECT_FALSE(leading_number<int>("GB").has_value());
    EXPECT_FALSE(leading_number<int>("99999999999").has_value());
    EXPECT_EQ(whole_number<int>("12"), 12);
    EXPECT_FALSE(whole_number<int>("12 ").has_value());
    EXPECT_FALSE(whole_number<int>("").has_value());
}

TEST(Text, LinesEndWithOrWithoutANewline) {
    std::vector<std::string> lines;
    each_line("a\n\nb", [&](std::string_view line) { lines.emplace_back(line); });
    EXPECT_THAT(lines, ElementsAre("a", "", "b"));
    each_line("", [&](std::string_view) { FAIL(); });
}

}  // namespace
}  // namespace osora
