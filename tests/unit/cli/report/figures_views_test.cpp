// Figures of a series and of a probe, in text, HTML and CSV, and the points of their charts,
// against queries on the views that users build on.
#include "cli/report/report_figures.hpp"
#include "cli/report/report_render.hpp"
#include "cli/report/report_tables.hpp"
#include "db/analysis/report/series_report.hpp"
#include "db/ingest/ingest.hpp"
#include "tests/unit/cli/report/demo_run.hpp"
#include "tests/unit/cli/report/figures_kit.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

namespace osora::cli::test {
namespace {

using namespace protocol;

std::vector<DemoRun> series_runs() {
    return {{.number = 41, .wait_share = 0.02},
            {.number = 42, .image_s = 0.31, .video_s = 0.52, .comm_share = 0.03},
            {.number = 43,
             .ranks_per_node = 4,
             .threads = 2,
             .loaders = 2,
             .image_s = 0.09,
             .video_s = 0.15,
             .comm_share = 0.05,
             .wait_share = 0.1,
             .data_share = 0.04}};
}

TEST(FiguresEqualViews, EveryColumnOfASeries) {
    auto const store = history_of(series_runs());
    auto const report =
        db::analysis::series_report("demo", db::load_series(*store, "demo").value());
    Sql const sql(*store);
    auto const forms = forms_of(scaling_table(report),
                                {"nodes", "step_s", "samples_per_s", "efficiency", "comm_share",
                                 "wait_share", "data_share", "predicted_over_measured"});
    for (std::string const ranks : {"1", "4"}) {
        auto const of = [&](std::string const& column) {
            return fmt::format("SELECT {} AS v FROM v_run WHERE ranks={}", column, ranks);
        };
        for (auto const& column : {Column{"nodes"}, Column{"step_s", 1000}, Column{"samples_per_s"},
                                   Column{"comm_share", 100}, Column{"wait_share", 100},
                                   Column{"data_share", 100}, Column{"predicted_over_measured"}}) {
            expect_cell(forms, ranks, column, sql.one(median_of(of(column.key))));
        }
        double const mad =
            std::max(sql.one(median_of(of("step_s_mad"))), sql.one(mad_of(of("step_s"))));
        expect_exact(forms.csv.at(ranks + "/step_s_mad"), mad, "MAD");
        for (auto const* shown : {&forms.text, &forms.html}) {
            auto const& cell = shown->at(ranks + "/step_s");
            expect_shown(cell.substr(cell.find("± ") + 3), mad, 1000, "MAD");
        }
        std::string const planned =
            " FROM plan p JOIN run t USING(run_id) JOIN v_run r USING(uuid) JOIN v_node n "
            "USING(uuid) WHERE r.ranks=" +
            ranks + ")";
        expect_exact(forms.csv.at(ranks + "/threads_per_rank"),
                     sql.one("(SELECT max(p.threads_per_rank)" + planned), "threads");
        expect_exact(
            forms.csv.at(ranks + "/shares_cores"),
            sql.one("(SELECT max(r.ranks*(p.threads_per_rank+p.num_workers)>n.cores)" + planned),
            "cores");
        EXPECT_EQ(forms.csv.at(ranks + "/runs"),
                  sql.list("SELECT group_concat(run,' ') FROM (SELECT run FROM v_run WHERE ranks=" +
                           ranks + " ORDER BY run)")
                      .at(0));
    }
    EXPECT_NE(forms.csv.at("1/shares_cores"), forms.csv.at("4/shares_cores"));
}

/// Level 0.5 s until run 6, then 0.6 s; run 4 was slow once. Every third step is an image step.
std::vector<DemoRun> regressed_series() {
    std::vector<DemoRun> runs;
    for (int number = 1; number <= 12; ++number) {
        double const step_s = (number > 6 ? 0.6 : number == 4 ? 0.9 : 0.5) + 0.001 * (number % 3);
        runs.push_back(
            {.number = number, .image_s = step_s, .video_s = step_s, .comm_share = 0.02});
        if (number > 6) runs.back().comm_share = 0.02 + 0.1 / step_s;
    }
    return runs;
}

TEST(FiguresEqualViews, EveryPointOfASeries) {
    auto const store = history_of(regressed_series());
    auto const runs = db::load_series(*store, "demo").value();
    auto const charts = db::analysis::series_charts(db::analysis::series_report("demo", runs));
    Sql const sql(*store);
    ASSERT_EQ(charts.runs.size(), 12u);
    for (auto const& point : charts.runs) {
        auto const of = [&](char const* column) {
            return sql.one(
                fmt::format("(SELECT {} FROM v_run WHERE run={})", column, point.number));
        };
        EXPECT_EQ(point.ranks, of("ranks"));
        EXPECT_EQ(point.nodes, of("nodes"));
        EXPECT_NEAR(point.step_s, of("step_s"), 1e-12);
        EXPECT_EQ(point.mad, of("step_s_mad"));
        EXPECT_EQ(static_cast<double>(point.submitted_us.value()), of("submitted_us"));
    }
}

TEST(FiguresEqualViews, ChangePointsAreWhereTheLevelWasMadeToChange) {
    auto const store = history_of(regressed_series());
    Sql const sql(*store);
    EXPECT_EQ(sql.list("SELECT run||' '||run_before||' '||low_run||'-'||high_run||' '||series||' '"
                       "||ranks||' '||nodes||' '||method FROM v_change_point"),
              std::vector<std::string>{"7 6 7-7 demo 1 1 robust"});
    auto const levels = [&](char const* where) {
        return sql.one(median_of(fmt::format("SELECT step_s AS v FROM v_run WHERE {}", where)));
    };
    double const before = levels("run<7"), after = levels("run>6");
    EXPECT_NEAR(sql.one("(SELECT before_s FROM v_change_point)"), before, 1e-9);
    EXPECT_NEAR(sql.one("(SELECT after_s FROM v_change_point)"), after, 1e-9);
    EXPECT_NEAR(sql.one("(SELECT ratio FROM v_change_point)"), after / before, 1e-9);
}

TEST(FiguresEqualViews, AttributionsAreDifferencesOfMeans) {
    auto const store = history_of(regressed_series());
    Sql const sql(*store);
    // The newest one before it that was faster by 3 %.
    EXPECT_EQ(sql.list("SELECT run||' '||good_run||' '||verdict FROM (SELECT DISTINCT run,good_run,"
                       "verdict FROM v_attribution ORDER BY run)"),
              (std::vector<std::string>{"4 3 slower", "7 6 slower", "8 6 slower", "9 6 slower",
                                        "10 6 slower", "11 6 slower", "12 6 slower"}));
    auto const mean = [&](int run, std::string const& name, std::string const& column) {
        return fmt::format(
            "(SELECT avg({}) FROM timed JOIN run USING(run_id) WHERE number={} AND "
            "timed.name='{}')",
            column, run, name);
    };
    std::map<std::string, std::vector<std::string>> const parts{
        {"compute", {"forward_s", "backward_s", "optimizer_s"}},
        {"exposed_comm", {"exposed_comm_s"}},
        {"loader", {"data_wait_s"}},
        {"host", {"other_s"}}};
    for (int const run : {4, 9}) {
        int const good = run == 4 ? 3 : 6;
        for (auto const& [part, metrics] : parts) {
            std::string a = "0", b = "0";
            for (auto const& name : metrics) {
                auto const column = name == "exposed_comm_s" ? "vmin" : "mean";
                a += "+" + mean(good, name, column);
                b += "+" + mean(run, name, column);
            }
            auto const found = [&](char const* column) {
                return sql.one(
                    fmt::format("(SELECT {} FROM v_attribution WHERE run={} AND part='{}')", column,
                                run, part));
            };
            EXPECT_NEAR(found("good_s"), sql.one(a), 1e-9) << run << part;
            EXPECT_NEAR(found("run_s"), sql.one(b), 1e-9) << run << part;
            EXPECT_NEAR(found("gap_s"), sql.one(b + "-(" + a + ")"), 1e-9) << run << part;
        }
    }
    EXPECT_EQ(sql.list("SELECT part FROM v_attribution WHERE run=9 ORDER BY gap_s DESC LIMIT 1"),
              std::vector<std::string>{"exposed_comm"});
    EXPECT_LT(sql.one("(SELECT max(abs(s-g)) FROM (SELECT sum(gap_s) AS s,step_gap_s AS g FROM "
                      "v_attribution GROUP BY run))"),
              1e-9);
    EXPECT_EQ(sql.one("(SELECT count(*) FROM v_attribution WHERE gap_s NOT BETWEEN gap_low_s-1e-6 "
                      "AND gap_high_s+1e-6)"),
              0);
}

/// Six nodes on two leaves; the last one is slow.
db::test::Records probe_records() {
    constexpr int kNodes = 6;
    json::array nodes, leaves, scores, pairs;
    for (int node = 0; node < kNodes; ++node) {
        bool const slow = node == kNodes - 1;
        nodes.push_back(json::string(fmt::format("n{}", node)));
        leaves.push_back(node < 3 ? "l0" : "l1");
        scores.push_back({{"gbit_s", slow ? 41.7 : 97.25 + node},
                          {"of_median", slow ? 0.42 : 0.98 + 0.01 * node},
                          {"samples", 6},
                          {"bad", slow}});
    }
    for (int round = 0; round < 3; ++round) {
        for (int from = 0; from < kNodes; ++from) {
            for (int to = 0; to < kNodes; ++to) {
                if (from == to || (from + to + round) % 2 == 0) continue;
                pairs.push_back({{"stage", "matching"},
                                 {"round", round},
                                 {"from", from},
                                 {"to", to},
                                 {"transport", "tcp"},
                                 {"size_bytes", 1 << 26},
                                 {"seconds", 0.005 + 0.0001 * (7 * from + 3 * to + round)}});
            }
        }
    }
    json::array const findings{{{"kind", "slow_node"},
                                {"nodes", json::array{"n5"}},
                                {"where", "n5"},
                                {"ratio", 0.42},
                                {"evidence", "41.7 of 98 Gbit/s"}}};
    db::test::Records records;
    auto const add = [&](RunEvent event) {
        records.push_back(
            {records.size(), 1'795'000'000'000'000 + 1000 * std::ssize(records), std::move(event)});
    };
    RunSubmitted submitted;
    submitted.run_uuid = db::test::uuid_of(7);
    submitted.run_name = "probe-0007";
    submitted.job = "probe";
    submitted.number = 7;
    submitted.nodes = kNodes;
    submitted.config = json::value{{"run", {{"name", "probe"}, {"job", "probe"}}}};
    add(submitted);
    for (int node = 0; node < kNodes; ++node) {
        add(AgentJoined{node, fmt::format("n{}", node), "boot", 7, 7, {}});
    }
    add(ProbePart{0, 0,
                  json::value{{"nodes", nodes},
                              {"leaves", leaves},
                              {"scores", scores},
                              {"pairs", pairs},
                              {"findings", findings}}});
    add(RunEnded{Verdict::ok, 0, ""});
    return records;
}

class ProbeFigures : public testing::Test {
protected:
    ProbeFigures() {
        db::test::StateDir state;
        db::test::write_run(state.path(), "probe-0007", db::test::journal_bytes(probe_records()));
        EXPECT_TRUE(db::ingest_all(*store_, state.path()).has_value());
        history_ = db::load_run(*store_, db::find_run(*store_, "7")->run_id).value();
        report_ = db::analysis::run_report(history_, {false, true});
    }
    std::unique_ptr<db::Store> store_ = std::move(*db::Store::in_memory());
    db::analysis::RunHistory history_;
    db::analysis::RunReport report_;
};

TEST_F(ProbeFigures, OfTheNodes) {
    Sql const sql(*store_);
    auto forms = forms_of(probe_table(report_), {"leaf", "gbit_s", "of_median", "samples"});
    forms.csv = of_csv(render(report_, ReportFormat::csv), "node");
    auto const hosts = sql.list("SELECT hostname FROM v_probe_node WHERE run=7 ORDER BY node");
    ASSERT_EQ(hosts.size(), 6u);
    ASSERT_EQ(report_.probe.nodes.size(), 6u);
    for (auto const& host : hosts) {
        auto const of = [&](char const* column) {
            return fmt::format("SELECT {} FROM v_probe_node WHERE run=7 AND hostname='{}'", column,
                               host);
        };
        for (auto const& column : {Column{"gbit_s"}, Column{"of_median"}, Column{"samples"}}) {
            expect_cell(forms, host, column, sql.one("(" + of(column.key.c_str()) + ")"));
        }
        expect_exact(forms.csv.at(host + "/slow"), sql.one("(" + of("bad") + ")"), host + " slow");
        auto const leaf = sql.list(of("leaf")).at(0);
        EXPECT_EQ(forms.text.at(host + "/leaf"), leaf);
        EXPECT_EQ(forms.html.at(host + "/leaf"), leaf);
    }
    auto const page = html_page(page_of(report_, {}), {});
    auto const text = render(report_, ReportFormat::text);
    for (auto const& evidence : sql.list("SELECT evidence FROM v_finding WHERE run=7")) {
        EXPECT_NE(page.find(evidence), std::string::npos);
        EXPECT_NE(text.find(evidence), std::string::npos);
    }
}

TEST_F(ProbeFigures, OfEveryPair) {
    Sql const sql(*store_);
    auto const figure = pair_figure(db::analysis::pair_matrix(history_.probe));
    auto const& names = figure.data.at("names").as_array();
    auto const& cells = figure.data.at("gbit_s").as_array();
    ASSERT_EQ(cells.size(), 36u);
    int measured = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        auto const a = names[i / 6].as_string(), b = names[i % 6].as_string();
        double const value = sql.one(median_of(fmt::format(
            "SELECT min(gbit_s) AS v FROM v_probe_pair WHERE run=7 AND (from_host='{0}' AND "
            "to_host='{1}' OR from_host='{1}' AND to_host='{0}') GROUP BY stage,round",
            a.c_str(), b.c_str())));
        ASSERT_EQ(cells[i].is_null(), std::isnan(value)) << a << b;
        if (std::isnan(value)) continue;
        ++measured;
        EXPECT_NEAR(cells[i].to_number<double>(), value, 1e-5 * value) << a << b;
    }
    EXPECT_EQ(measured, 30);
}

}  // namespace
}  // namespace osora::cli::test
