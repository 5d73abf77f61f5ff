#include "cli/text/text_table.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace osora::cli {
namespace {

TextTable table() {
    TextTable made;
    made.columns = {{"name", "name", false}, {"s ± MAD", "step_s"}, {"", "step_s_mad"}};
    made.rows = {{text_cell("a|b, \"c\""), spread_cell(7.284, 0.02, {}), {"", "0.02"}},
                 {text_cell("d"), spread_cell(NAN, NAN, {}), {"", ""}}};
    return made;
}

TEST(TextTableTest, DrawsForATerminal) {
    EXPECT_EQ(draw_text(table()),
              " name          s ± MAD\n"
              " a|b, \"c\"  7.28 ± 0.02\n"
              " d                   -\n");
}

TEST(TextTableTest, DrawsMarkdown) {
    EXPECT_EQ(draw_markdown(table()),
              "| name | s ± MAD |\n|---|---:|\n| a\\|b, \"c\" | 7.28 ± 0.02 |\n| d | - |\n");
}

// RFC 4180: quotes double, fields with commas and quotes are quoted.
TEST(TextTableTest, DrawsCsv) {
    EXPECT_EQ(draw_csv(table()), "name,step_s,step_s_mad\n\"a|b, \"\"c\"\"\",7.284,0.02\nd,,\n");
}

TEST(TextTableTest, RoundsToThreeDigits) {
    EXPECT_EQ(three_digits(0.4123), "0.41");
    EXPECT_EQ(three_digits(41.23), "41.2");
    EXPECT_EQ(three_digits(412.3), "412");
    EXPECT_EQ(three_digits(12345.6), "12,346");
    EXPECT_EQ(three_digits(NAN), "-");
    EXPECT_EQ(three_digits(-1e308), "-1e+308");  // outside std::int64_t
    EXPECT_EQ(three_digits(INFINITY), "inf");
    EXPECT_EQ(three_digits(-123456789), "-123,456,789");
    EXPECT_EQ(seconds_cell(0.4123, time_unit({0.2, 0.41, NAN})).text, "412");
    EXPECT_EQ(seconds_cell(0.4123, time_unit({7.0, 0.41})).text, "0.41");
    EXPECT_EQ(spread_cell(7.284, 0.003, {}).text, "7.284 ± 0.003");
    EXPECT_EQ(percent_cell(0.456).text, "46 %");
    EXPECT_EQ(percent_cell(-0.0001).text, "0 %");
}

TEST(TextTableTest, TextFromOutsideCannotLeaveItsCell) {
    EXPECT_EQ(text_cell("a\nb\x1b[1m").text, "a?b?[1m");
    EXPECT_EQ(markdown_text("<b>*x*"), "\\<b\\>\\*x\\*");
}

}  // namespace
}  // namespace osora::cli
