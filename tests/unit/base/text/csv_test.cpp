#include "base/text/csv.hpp"

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

// The next quote belongs to another row: the text between them is no field.
TEST(Csv, ABrokenQuoteDoesNotTakeTheNextRow) {
    for (std::string const next : {"\"A dog\"", "\"A dog, running\"", "\"\"\"Stop\"\" he said\""}) {
        auto const all = rows("a,b,c\n1,\"open,3\n2," + next + ",4\n5,fine,6\n");
        ASSERT_EQ(all.size(), 4u) << next;
        EXPECT_EQ(all[1].line, 2);
        EXPECT_NE(all[1].fault.find("quote"), std::string::npos);
        EXPECT_EQ(all[1].fields[0], "1");
        EXPECT_EQ(all[2].line, 3);
        EXPECT_EQ(all[2].fields[0], "2");
        EXPECT_EQ(all[2].fields[2], "4");
        EXPECT_EQ(all[3].line, 4);
    }
    EXPECT_EQ(rows("\"a\" ,\"b\"\t\n")[0].fields, (Fields{"a", "b"}));
}

TEST(Csv, ARowMayBeRejectedByTheCaller) {
    CsvReader reader("1,\"open\n2,\",\n3,4\n");
    auto row = reader.next();
    ASSERT_TRUE(row);
    EXPECT_EQ(row->last_line, 2);
    reader.reject(*row, "two rows");
    EXPECT_EQ(row->fault, "two rows");
    row = reader.next();
    EXPECT_EQ(row->line, 2);
    EXPECT_NE(row->fault, "");
    EXPECT_EQ(reader.next()->line, 3);
    EXPECT_FALSE(reader.next());
}

TEST(Csv, OtherSeparators) {
    EXPECT_EQ(csv_separator("path,text\na;b;c;d\n"), ',');
    EXPECT_EQ(csv_separator("\xEF\xBB\xBFpath;\"a, b, c\";fps\r\n"), ';');
    EXPECT_EQ(csv_separator("path\ttext\n"), '\t');
    EXPECT_EQ(csv_separator("path\n"), ',');
    EXPECT_EQ(csv_separator("sep=|\npath,text\n"), '|');
    EXPECT_EQ(csv_separator(""), ',');
    CsvReader reader("\xEF\xBB\xBFsep=;\r\na;\"b;c\"\r\n", ';');
    auto const row = reader.next();
    ASSERT_TRUE(row);
    EXPECT_EQ(row->line, 2);
    EXPECT_EQ(row->fields, (Fields{"a", "b;c"}));
}

}  // namespace
}  // namespace osora
