#include "tests/unit/cli/report/figures_kit.hpp"

#include "base/text/csv.hpp"
#include "cli/text/html.hpp"
#include "db/store/connection_internal.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <sstream>

namespace osora::cli::test {
namespace {

constexpr char const* kUsed = R"sql(
CREATE TEMP VIEW used AS
WITH reached AS (SELECT *, max(attempt) OVER (PARTITION BY run_id ORDER BY step) AS newest
                 FROM step),
kept AS (SELECT *, row_number() OVER (PARTITION BY run_id,attempt ORDER BY step) AS place,
         count(*) OVER (PARTITION BY run_id,attempt) AS steps,
         max(ranks) OVER (PARTITION BY run_id,attempt) AS all_ranks
         FROM reached WHERE attempt=newest)
SELECT * FROM kept WHERE place > min(20, (steps+4)/5, steps-1) AND ranks=all_ranks;
CREATE TEMP VIEW timed AS SELECT u.run_id,u.step,u.bucket,u.samples,m.name,s.mean,s.vmin,s.vmax
FROM used u JOIN step_summary s USING(run_id,step) JOIN metric m USING(metric_id);
)sql";

/// Cells of a text table: columns are two or more blanks apart; row names may be indented.
Figures of_text(std::string const& text, std::vector<std::string> const& keys) {
    Figures figures;
    std::istringstream lines(text);
    std::string line;
    std::getline(lines, line);  // the header
    static std::regex const gap(" {2,}");
    while (std::getline(lines, line) && !line.empty()) {
        line = std::regex_replace(line, std::regex("^ +"), "");
        std::sregex_token_iterator cell(line.begin(), line.end(), gap, -1), end;
        std::string const row = *cell++;
        for (auto const& key : keys) {
            if (cell != end) figures[row + "/" + key] = *cell++;
        }
    }
    return figures;
}

/// Cells of the HTML table: what is shown, and behind "=" all digits.
Figures of_html(std::string const& html) {
    Figures figures;
    static std::regex const cell(
        R"re(<t([hd])[^>]*data-key="([^"]*)" data-value="([^"]*)">([^<]*)<)re");
    std::string row;
    for (std::sregex_iterator at(html.begin(), html.end(), cell), end; at != end; ++at) {
        if ((*at)[1] == "h") row = (*at)[3];
        if ((*at)[1] == "h" && (*at)[2] != "ranks") continue;
        figures[row + "/" + (*at)[2].str()] = (*at)[4];
        figures[row + "/" + (*at)[2].str() + "="] = (*at)[3];
    }
    return figures;
}

Figures of_table_csv(std::string const& text) {
    Figures figures;
    CsvReader reader(text);
    auto const header = reader.next();
    while (auto const row = reader.next()) {
        for (std::size_t i = 0; i < row->fields.size(); ++i) {
            figures[row->fields[0] + "/" + header->fields[i]] = row->fields[i];
        }
    }
    return figures;
}

}  // namespace

Sql::Sql(db::Store& store) : store_(store) {
    store_.connection().database().exec(kUsed);
}

Sql::~Sql() {
    store_.connection().database().exec("DROP VIEW timed; DROP VIEW used");
}

double Sql::one(std::string const& expression) const {
    SQLite::Statement row(store_.connection().database(), "SELECT " + expression);
    row.executeStep();
    return row.getColumn(0).isNull() ? NAN : row.getColumn(0).getDouble();
}

std::vector<std::string> Sql::list(std::string const& query) const {
    std::vector<std::string> values;
    SQLite::Statement row(store_.connection().database(), query);
    while (row.executeStep()) values.push_back(row.getColumn(0).getString());
    return values;
}

Forms forms_of(TextTable const& table, std::vector<std::string> const& keys) {
    return {of_text(draw_text(table), keys), of_html(html_table(table, "")),
            of_table_csv(draw_csv(table))};
}

std::string median_of(std::string const& query) {
    return fmt::format(
        "(SELECT avg(v) FROM (SELECT v,row_number() OVER (ORDER BY v) AS r,"
        "count(*) OVER () AS n FROM ({})) WHERE r IN ((n+1)/2,(n+2)/2))",
        query);
}
std::string mad_of(std::string const& query) {
    return median_of(fmt::format("SELECT abs(v-{}) AS v FROM ({})", median_of(query), query));
}

Figures of_csv(std::string const& text, std::string const& section) {
    Figures figures;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::smatch found;
        static std::regex const row(R"(([^,]*),([^,]*),([^,]*),(.*))");
        if (!std::regex_match(line, found, row) || found[1] != section) continue;
        figures[found[2].str() + "/" + found[3].str()] = found[4];
    }
    return figures;
}

void expect_shown(std::string const& shown, double value, double per, std::string const& what) {
    if (std::isnan(value)) {
        EXPECT_EQ(shown, "-") << what;
        return;
    }
    std::string digits = shown.substr(0, shown.find(" "));
    std::erase(digits, ',');
    auto const point = digits.find('.');
    int const decimals =
        point == std::string::npos ? 0 : static_cast<int>(digits.size() - point) - 1;
    EXPECT_NEAR(std::stod(digits), value * per, 0.5000001 * std::pow(10, -decimals))
        << what << " shows " << shown;
}

void expect_exact(std::string const& digits, double value, std::string const& what) {
    if (std::isnan(value)) {
        EXPECT_EQ(digits, "") << what;
    } else {
        EXPECT_NEAR(std::stod(digits.empty() ? "nan" : digits), value,
                    1e-9 * std::abs(value) + 1e-12)
            << what;
    }
}

void expect_cell(Forms const& forms, std::string const& row, Column const& column, double value) {
    std::string const name = row + "/" + column.key;
    expect_shown(forms.text.at(name), value, column.per, "text " + name);
    expect_shown(forms.html.at(name), value, column.per, "html " + name);
    expect_exact(forms.html.at(name + "="), value, "html " + name);
    expect_exact(forms.csv.at(name), value, "csv " + name);
}

}  // namespace osora::cli::test
