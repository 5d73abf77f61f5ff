// Rows of a query as people and programs read them.
#include "cli/history/sql_text.hpp"

#include "cli/text/terminal.hpp"
#include "protocol/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

namespace osora::cli::test {
namespace {

using db::SqlBlob;
using db::SqlResult;
using db::SqlValue;
using testing::HasSubstr;

SqlResult result_of(std::vector<std::string> columns, std::vector<std::vector<SqlValue>> rows) {
    return {std::move(columns), std::move(rows), false};
}

SqlResult mixed() {
    return result_of({"run", "step_s", "name", "note", "body"},
                     {{std::int64_t{1234567}, 1.0 / 3, std::string("a,\"b\"\nc"), SqlValue(),
                       SqlBlob{std::string("\0\xab", 2)}}});
}

TEST(SqlText, IsATable) {
    EXPECT_EQ(render(mixed(), ReportFormat::text, 80),
              "     run    step_s  name     note  body\n"
              " 1234567  0.333333  a,\"b\"?c  NULL  blob 2 B\n");
}

TEST(SqlText, KeepsEveryDigitForPrograms) {
    EXPECT_EQ(render(mixed(), ReportFormat::csv, 80),
              "run,step_s,name,note,body\n"
              "1234567,0.3333333333333333,\"a,\"\"b\"\"\nc\",,x'00AB'\n");
    EXPECT_EQ(render(mixed(), ReportFormat::json, 80),
              "{\"schema\":\"osora.history.sql/1\",\"columns\":[\"run\",\"step_s\",\"name\","
              "\"note\",\"body\"],\"rows\":[[1234567,3.333333333333333E-1,\"a,\\\"b\\\"\\nc\",null,"
              "\"x'00AB'\"]],\"more\":false}\n");
}

TEST(SqlText, JsonIsJsonWhateverTheBytes) {
    auto const text =
        render(result_of({"\xff"}, {{std::string("a\x80\xc3\xa9\xe0\x80\x80z\xf0\x9f\x98\x80")},
                                    {std::numeric_limits<double>::infinity()},
                                    {-std::numeric_limits<double>::infinity()}}),
               ReportFormat::json, 80);
    auto const read = protocol::parse_json(text);
    ASSERT_TRUE(read.has_value()) << text;
    EXPECT_THAT(text, HasSubstr("a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz"
                                "\xf0\x9f\x98\x80"));
    EXPECT_THAT(text, HasSubstr("[\"Infinity\"],[\"-Infinity\"]"));
}

TEST(SqlText, CutsTextAndNeverNumbers) {
    auto const wide =
        render(result_of({"run", "cause", "detail"},
                         {{std::int64_t{1}, std::string(90, 'c'), std::string(70, 'd')}}),
               ReportFormat::text, 80);
    std::istringstream lines(wide);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80) << line;
    EXPECT_THAT(wide, HasSubstr("ccc...  ddd"));
    std::vector<std::string> names;
    std::vector<SqlValue> numbers;
    for (int i = 0; i < 12; ++i) {
        names.push_back("figure_" + std::to_string(i));
        numbers.emplace_back(std::int64_t{1'000'000'000'000} + i);
    }
    auto const many = render(result_of(names, {numbers}), ReportFormat::text, 80);
    EXPECT_THAT(many, HasSubstr("row 1\n  figure_0   1000000000000\n"));
    EXPECT_THAT(many, HasSubstr("  figure_11  1000000000011\n"));
}

TEST(SqlText, HasAHeaderWithoutRows) {
    EXPECT_EQ(render(result_of({"a", "b"}, {}), ReportFormat::text, 80), " a  b\n");
    EXPECT_EQ(render(result_of({"a", ""}, {}), ReportFormat::csv, 80), "a, \n");
}

}  // namespace
}  // namespace osora::cli::test
