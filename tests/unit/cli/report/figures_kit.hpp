// Figures as the forms of a report write them, and the same figures asked of history.db in SQL that
// says what they mean without the code under test.
#pragma once

#include "cli/text/text_table.hpp"
#include "db/store/store.hpp"

#include <map>
#include <string>
#include <vector>

namespace osora::cli::test {

using Figures = std::map<std::string, std::string>;  // "row/column" -> the cell's text

/// A table's figures in each form; HTML has all digits under "row/column=".
struct Forms {
    Figures text, html, csv;
};
/// `keys`: of the columns after the first, as in the text.
[[nodiscard]] Forms forms_of(TextTable const& table, std::vector<std::string> const& keys);
/// Of "section,item,quantity,value" rows.
[[nodiscard]] Figures of_csv(std::string const& text, std::string const& section);

/// SQL for the median of column v of a query, and for its median absolute deviation.
[[nodiscard]] std::string median_of(std::string const& query);
[[nodiscard]] std::string mad_of(std::string const& query);

/// With views `used` (steps after the warm-up of their attempt that every rank reported, of the
/// run as it went on) and `timed` (their metrics).
class Sql {
public:
    explicit Sql(db::Store& store);
    ~Sql();
    Sql(Sql const&) = delete;
    Sql& operator=(Sql const&) = delete;
    /// NaN for NULL.
    [[nodiscard]] double one(std::string const& expression) const;
    [[nodiscard]] std::vector<std::string> list(std::string const& query) const;

private:
    db::Store& store_;
};

/// Whether `shown`, rounded for people, is `value` in `per` (1000 for ms, 100 for %).
void expect_shown(std::string const& shown, double value, double per, std::string const& what);
void expect_exact(std::string const& digits, double value, std::string const& what);

struct Column {
    std::string key;
    double per = 1;
};
/// In all three forms.
void expect_cell(Forms const& forms, std::string const& row, Column const& column, double value);

}  // namespace osora::cli::test
