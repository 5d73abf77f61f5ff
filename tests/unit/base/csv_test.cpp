#include "base/csv.hpp"

#include <gtest/gtest.h>

namespace osora {
namespace {

using Fields = std::vector<std::string>;

std::vector<CsvRow> rows(std::string_view text) {
    CsvReader reader(text);
    std::vector<CsvRow> all;
    while (auto row = reader.next()) all.push_back(std::move(*row));
    return all;
}

// The examples of RFC 4180, section 2, and what pandas and Excel write.
TEST(Csv, ReadsQuotesCommasAndLineEnds) {
    auto const all =
        rows("\xEF\xBB\xBFpath,text\r\n\"a,b\",\"say \"\"hi\"\"\"\r\n\"two\nlines\",x\n,\n");
    ASSERT_EQ(all.size(), 4u);
    EXPECT_EQ(all[0].fields, (Fields{"path", "text"}));
    EXPECT_EQ(all[1].fields, (Fields{"a,b", "say \"hi\""}));
    EXPECT_EQ(all[2].fields, (Fields{"two\nlines", "x"}));
    EXPECT_EQ(all[3].fields, (Fields{"", ""}));
    EXPECT_EQ(all[1].line, 2);
    EXPECT_EQ(all[2].line, 3);
    EXPECT_EQ(all[3].line, 5);
}

TEST(Csv, BlankLinesAndAMissingLastLineEnd) {
    auto const all = rows("a\n\n\r\nb,c");
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[1].fields, (Fields{"b", "c"}));
    EXPECT_EQ(all[1].line, 4);
    EXPECT_TRUE(rows("").empty());
    EXPECT_TRUE(rows("\xEF\xBB\xBF").empty());
    EXPECT_EQ(rows("a,")[0].fields, (Fields{"a", ""}));
}

TEST(Csv, AnOpenQuoteCostsItsLineOnly) {
    auto const all = rows("a\n\"b,c\nd\ne\n");
    ASSERT_EQ(all.size(), 4u);
    EXPECT_NE(all[1].fault, "");
    EXPECT_EQ(all[1].line, 2);
    EXPECT_EQ(all[2].fields, (Fields{"d"}));
    EXPECT_EQ(all[3].line, 4);
}

}  // namespace
}  // namespace osora
