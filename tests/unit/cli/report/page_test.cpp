// The HTML page: hostile text, its policy, and that it says what the text says.
#include "cli/report/report_figures.hpp"
#include "cli/report/report_page.hpp"
#include "cli/report/report_render.hpp"
#include "cli/text/html.hpp"
#include "tests/unit/cli/report/demo_run.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/beast/core/detail/base64.hpp>

#include "base/sha256.hpp"

#include <regex>

namespace osora::cli::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// </script>, quotes, U+2028, U+202E (turns the direction of writing), a byte that is not UTF-8.
constexpr char const* kHostile = "</script><!--'\"&\xE2\x80\xA8\xE2\x80\xAE\xFF\x01 end";

std::size_t count_of(std::string const& text, std::string_view wanted) {
    std::size_t count = 0;
    for (auto at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) {
        ++count;
    }
    return count;
}

/// "sha256-..." from the hex digits of another part of osora.
std::string policy_hash(std::string const& text) {
    std::string bytes;
    auto const hex = sha256_hex(text);
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    namespace base64 = boost::beast::detail::base64;
    std::string encoded(base64::encoded_size(bytes.size()), '\0');
    encoded.resize(base64::encode(encoded.data(), bytes.data(), bytes.size()));
    return "'sha256-" + encoded + "'";
}

std::string between(std::string const& text, std::string const& from, std::string const& to) {
    auto const begin = text.find(from) + from.size();
    return text.substr(begin, text.find(to, begin) - begin);
}

DemoRun demo() {
    return {.number = 42,
            .ranks_per_node = 2,
            .comm_share = 0.1,
            .wait_share = 0.2,
            .killed_at = 110,
            .skipped_clips = 2};
}

std::string page_of_run(db::analysis::RunReport const& report,
                        web::PageAssets const& assets = {"body{}", "draw()", "a licence"}) {
    auto const store = history_of({demo()});
    auto const found = db::find_run(*store, "42").value();
    auto const history = db::load_run(*store, found.run_id).value();
    return html_page(page_of(report, run_figures(report, history)), assets);
}

TEST(HtmlText, EscapesAndReplacesWhatCouldHide) {
    EXPECT_EQ(html_text(kHostile),
              "&lt;/script&gt;&lt;!--&#39;&quot;&amp;\uFFFD\uFFFD\uFFFD\uFFFD end");
    EXPECT_EQ(html_text("§ ± 漢字 \xF0\x9F\x9A\x80"), "§ ± 漢字 \xF0\x9F\x9A\x80");
    EXPECT_EQ(clean_text("\xC0\xAF\xED\xA0\x80"),
              "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");  // overlong, surrogate
}

TEST(HtmlJson, CannotEndTheBlock) {
    auto const text = html_json(protocol::json::object{{"a<b", "</script><!--&"}});
    EXPECT_THAT(text, Not(HasSubstr("<")));
    EXPECT_THAT(text, Not(HasSubstr("&")));
    EXPECT_EQ(protocol::parse_json(text)->at("a<b"), "</script><!--&");
}

TEST(HtmlTable, HasHeadersAndAllDigits) {
    TextTable table;
    table.columns = {{"a<b", "name", false}, {"s ± MAD", "step_s"}, {"", "step_s_mad"}};
    table.rows = {{text_cell(kHostile), spread_cell(7.284, 0.02, {}), {"", "0.02"}}};
    auto const html = html_table(table, "\"x\"");
    EXPECT_THAT(html, HasSubstr("<caption>&quot;x&quot;</caption>"));
    EXPECT_THAT(html, HasSubstr("<th scope=\"col\">a&lt;b</th>"));
    EXPECT_THAT(html,
                HasSubstr("<td class=\"number\" data-key=\"step_s\" data-value=\"7.284\">7.28 ± "
                          "0.02</td>"));
    EXPECT_EQ(count_of(html, "<th scope=\"row\""), 1u);
    EXPECT_THAT(html, Not(HasSubstr("</script")));
}

TEST(ReportPageTest, HostileNamesStayText) {
    auto report = report_of(demo());
    report.run.run.name = kHostile;
    report.state.cause = kHostile;
    report.notices = {{kHostile, "warning", 1, kHostile}};
    report.next = {std::string("osora logs ") + kHostile};
    report.buckets[0].measured.bucket = kHostile;
    auto const page = page_of_run(report);
    EXPECT_EQ(count_of(page, "</script>"), 2u);  // the data's and the program's
    EXPECT_EQ(count_of(page, "<script"), 2u);
    EXPECT_EQ(count_of(page, "<!--"), 0u);
    EXPECT_EQ(count_of(page, "\xE2\x80\xA8"), 0u);
    EXPECT_EQ(count_of(page, "\xFF"), 0u);
}

TEST(ReportPageTest, ThePolicyNamesExactlyItsScriptAndStyle) {
    auto const page = page_of_run(report_of(demo()));
    auto const policy = between(page, "Content-Security-Policy\" content=\"", "\">");
    EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
    EXPECT_THAT(policy, HasSubstr("script-src " + policy_hash("draw()") + ";"));
    EXPECT_THAT(policy, HasSubstr("style-src-elem " + policy_hash("body{}") + ";"));
    for (char const* outside : {"src=", "href=", "@import", "url(", "http:", "https:"}) {
        EXPECT_THAT(page, Not(HasSubstr(outside)));
    }
}

/// Every word of the text report is on the page, in its order of paragraphs.
TEST(ReportPageTest, SaysWhatTheTextSays) {
    auto const report = report_of(demo());
    auto const page = page_of_run(report);
    auto const words = phrases_of(report);
    EXPECT_GE(words.answer.size(), 4u);
    std::size_t at = 0;
    for (auto const* part : {&words.answer, &words.why}) {
        for (auto const& paragraph : *part) {
            for (auto const& line : paragraph.lines) {
                at = page.find("<dd>" + html_text(line) + "</dd>", at);
                ASSERT_NE(at, std::string::npos) << line;
            }
        }
    }
    EXPECT_THAT(page, HasSubstr("<td class=\"number\" data-key=\"mean_s\""));
    EXPECT_THAT(page, HasSubstr("id=\"chart-step-time\""));
    EXPECT_THAT(page, HasSubstr("<details><summary>Licences"));
}

TEST(ReportPageTest, WithoutChartsItSaysSo) {
    auto const page = page_of_run(report_of(demo()), {"body{}", "", "a licence"});
    EXPECT_THAT(page, HasSubstr("This osora was built without charts"));
    EXPECT_THAT(page, HasSubstr("script-src 'none'"));
    EXPECT_THAT(page, Not(HasSubstr("<script")));
    EXPECT_THAT(page, Not(HasSubstr("<figure")));
    EXPECT_THAT(page, Not(HasSubstr("Licences")));
    EXPECT_THAT(page, HasSubstr("data-key=\"mean_s\""));
}

TEST(ReportPageTest, DataIsReadableAndKnowsItsMarks) {
    auto const page = page_of_run(report_of(demo()));
    auto const data = protocol::parse_json(between(page, "id=\"report-data\">", "</script>"));
    ASSERT_TRUE(data.has_value()) << data.error().message;
    auto const& charts = data->at("charts").as_array();
    ASSERT_FALSE(charts.empty());
    auto const& time = charts[0];
    EXPECT_EQ(time.at("id"), "step-time");
    EXPECT_EQ(time.at("lines").as_array().size(), 2u);
    std::map<std::string, int> marks;
    for (auto const& mark : time.at("marks").as_array()) {
        ++marks[std::string(mark.at("kind").as_string())];
    }
    EXPECT_EQ(marks,
              (std::map<std::string, int>{{"relaunch", 1}, {"checkpoint", 2}, {"notice", 2}}));
    EXPECT_EQ(time.at("warmup").as_array().size(), 2u);
    EXPECT_EQ(time.at("warmup").as_array()[1], protocol::json::value({100, 103}));
}

TEST(AdviceTest, CommandsAreDistinguishedFromReasons) {
    EXPECT_EQ(advice_of("osora resume 4").command, "osora resume 4");
    auto const advice = advice_of("--set data.num_workers=3: the step waits for data");
    EXPECT_EQ(advice.command, "--set data.num_workers=3");
    EXPECT_EQ(advice.reason, "the step waits for data");
    EXPECT_EQ(advice_of("ranks wait: 12 %").command, "");
}

}  // namespace
}  // namespace osora::cli::test
