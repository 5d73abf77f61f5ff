// What counts as a value of a CSV file, and what is said of the rest.
#include "cli/detect/value_column.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::cli::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<double> values(std::string const& text, std::optional<std::string> const& column = {}) {
    auto const read = read_value_column(text, column);
    EXPECT_TRUE(read.has_value()) << read.error().message;
    return read.has_value() ? *read : std::vector<double>();
}
std::string error(std::string const& text, std::optional<std::string> const& column = {}) {
    auto const read = read_value_column(text, column);
    return read.has_error() ? read.error().message : "";
}

TEST(ValueColumn, OneValueALine) {
    EXPECT_THAT(values("1\n2.5\n-3e2\n+4"), ElementsAre(1, 2.5, -300, 4));
    EXPECT_THAT(values("\xEF\xBB\xBFstep_s\r\n1\r\n\r\n  2 \r\n   \r\n"), ElementsAre(1, 2));
    EXPECT_THAT(values("\"time, s\"\n\"1\"\n2\n"), ElementsAre(1, 2));
    EXPECT_THAT(values(""), IsEmpty());
    EXPECT_THAT(values("step_s\n"), IsEmpty());
}

TEST(ValueColumn, OneOfSeveralColumns) {
    std::string const text = "run,step_s,2\na,7,5\nb,8,6\n";
    EXPECT_THAT(values(text, "step_s"), ElementsAre(7, 8));
    EXPECT_THAT(values(text, "2"), ElementsAre(7, 8));
    EXPECT_THAT(values("1,2\n3,4\n", "1"), ElementsAre(1, 3));  // no header
    EXPECT_EQ(error(text),
              "3 columns (run, step_s, 2): say which with --column NAME or a number from 1");
    EXPECT_EQ(error(text, "step"), "--column step: no such column; did you mean step_s?");
    EXPECT_EQ(error(text, "loss"), "--column loss: no such column; there are run, step_s, 2");
    EXPECT_EQ(error(text, "4"), "--column 4: there are columns 1 to 3");
    EXPECT_EQ(error(text, "0"), "--column 0: there are columns 1 to 3");
}

// What Excel saves as CSV in many locales: iOfficeAI/OfficeCLI 352, SheetJS/sheetjs 2239.
TEST(ValueColumn, OtherSeparatorsAndADecimalComma) {
    EXPECT_THAT(values("run;step_s\r\na;1,0129\r\nb;1.02\r\n", "step_s"),
                ElementsAre(1.0129, 1.02));
    EXPECT_THAT(values("sep=;\nrun;step_s\na;1,5\n", "2"), ElementsAre(1.5));
    EXPECT_THAT(values("run\tstep_s\na, b\t7\n", "step_s"), ElementsAre(7));
    EXPECT_THAT(values("step | s\n7\n8\n"), ElementsAre(7, 8)) << "one column";
    EXPECT_EQ(error("run;step_s\na;1,5,0\n", "2"), "line 2: '1,5,0' is no number");
    EXPECT_EQ(error("run,step_s\na,\"1,5\"\n", "2"), "line 2: '1,5' is no number")
        << "or fifteen hundred";
}

TEST(ValueColumn, BadValuesAreNamedWithTheirLine) {
    EXPECT_EQ(error("1\n\n2\nx\n"), "line 4: 'x' is no number");
    EXPECT_EQ(error("7,3\n7,4\n"),
              "2 columns (7, 3): say which with --column NAME or a number from 1");
    EXPECT_EQ(error("7.3s\n7.4s\n"), "line 1: '7.3s' is no number");  // no header either
    EXPECT_EQ(error("s\n1,2\n"), "line 2: 2 columns, not 1 as above");
    EXPECT_EQ(error("a,b\n1,\n", "b"), "line 2: the field is empty");
    EXPECT_EQ(error("1\n\"2\n3\n"), "line 2: a quote is opened and never closed");
    for (std::string const bad : {"nan", "inf", "-inf", "1e400", "1e101", "infinity"}) {
        EXPECT_THAT(error("1\n" + bad), HasSubstr("line 2: '" + bad + "' is not a number between"));
        EXPECT_THAT(error(bad + "\n1"), HasSubstr("line 1: ")) << "no header";
    }
    EXPECT_THAT(error("1\n" + std::string(1000, 'x')), testing::SizeIs(testing::Lt(80u)));
    EXPECT_THAT(error(std::string("1\n\x1b[31m\n")), HasSubstr("'?[31m'"));
    EXPECT_THAT(error(std::string("1\n\0\n", 4)), HasSubstr("is no number"));
}

TEST(ValueColumn, Shares) {
    EXPECT_EQ(parse_share("--x", "0.05").value(), 0.05);
    EXPECT_EQ(parse_share("--x", "5%").value(), 0.05);
    EXPECT_EQ(parse_share("--x", " 5 % ").value(), 0.05);
    EXPECT_EQ(parse_share("--x", "a%").error().message, "--x: 'a' is no number");
}

}  // namespace
}  // namespace osora::cli::test
