// Every figure of the tables, in text, HTML and CSV, against SQL on the history that says what the
// figure means without the code under test; and every point of the charts against its row.
#include "base/robust.hpp"
#include "cli/report/report_figures.hpp"
#include "cli/report/report_render.hpp"
#include "cli/report/report_tables.hpp"
#include "tests/unit/cli/report/demo_run.hpp"
#include "tests/unit/cli/report/figures_kit.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

namespace osora::cli::test {
namespace {

db::analysis::RunHistory history_in(db::Store& store, int number) {
    return db::load_run(store, db::find_run(store, std::to_string(number))->run_id).value();
}

TEST(FiguresEqualSql, PhasesOfARun) {
    auto const store = history_of({relaunched()});
    auto const report = db::analysis::run_report(history_in(*store, 42), {false, true});
    Sql const sql(*store);
    auto const mean = [](std::string const& name, std::string const& column = "mean") {
        return fmt::format("(SELECT avg({}) FROM timed WHERE name='{}')", column, name);
    };
    std::string const compute =
        mean("forward_s") + "+" + mean("backward_s") + "+" + mean("optimizer_s");
    std::map<std::string, std::pair<std::string, std::string>> const rows{
        {"data wait", {mean("data_wait_s"), "(SELECT loader_s FROM plan)"}},
        {"compute", {compute, "(SELECT compute_s FROM plan)"}},
        {"forward", {mean("forward_s"), "NULL"}},
        {"backward", {mean("backward_s"), "NULL"}},
        {"optimizer", {mean("optimizer_s"), "NULL"}},
        {"exposed comm", {mean("exposed_comm_s", "vmin"), "(SELECT exposed_comm_s FROM plan)"}},
        {"wait for ranks", {mean("exposed_comm_s", "mean-vmin"), "NULL"}},
        {"other", {mean("other_s"), "NULL"}},
        {"step", {mean("step_time_s"), "(SELECT step_time_s FROM plan)"}}};
    auto forms = forms_of(phase_table(report), {"mean_s", "share", "predicted_s"});
    forms.csv = of_csv(render(report, ReportFormat::csv), "phase");
    EXPECT_EQ(report.phases.size(), rows.size());
    for (auto const& [row, figures] : rows) {
        auto const& [seconds, plan] = figures;
        expect_cell(forms, row, {"mean_s", 1000}, sql.one(seconds));
        expect_cell(forms, row, {"predicted_s", 1000}, sql.one(plan));
        expect_cell(forms, row, {"share", 100},
                    sql.one(fmt::format("({})/{}", seconds, mean("step_time_s"))));
    }
}

TEST(FiguresEqualSql, BucketsOfARun) {
    auto const store = history_of({relaunched()});
    auto const report = db::analysis::run_report(history_in(*store, 42), {false, true});
    Sql const sql(*store);
    std::vector<std::string> const keys{"steps",  "share",       "samples_per_step",
                                        "step_s", "predicted_s", "predicted_over_measured"};
    auto forms = forms_of(bucket_table(report), keys);
    forms.csv = of_csv(render(report, ReportFormat::csv), "bucket");
    auto const buckets = sql.list("SELECT DISTINCT bucket FROM used");
    ASSERT_EQ(buckets.size(), 2u);
    for (auto const& bucket : buckets) {
        auto const of = [&](std::string const& what) {
            return fmt::format("(SELECT {} FROM used WHERE bucket='{}')", what, bucket);
        };
        std::string const times = fmt::format(
            "SELECT mean AS v FROM timed WHERE name='step_time_s' AND bucket='{}'", bucket);
        std::string const planned = fmt::format(
            "(SELECT step_time_s FROM plan_bucket WHERE height||'x'||width||'x'||num_frames='{}')",
            bucket);
        expect_cell(forms, bucket, {"steps"}, sql.one(of("count(*)")));
        expect_cell(forms, bucket, {"share", 100},
                    sql.one(of("count(*)*1.0/(SELECT count(*) FROM used)")));
        expect_cell(forms, bucket, {"samples_per_step"}, sql.one(of("avg(samples)")));
        expect_cell(forms, bucket, {"step_s", 1000}, sql.one(median_of(times)));
        expect_cell(forms, bucket, {"predicted_s", 1000}, sql.one(planned));
        expect_cell(forms, bucket, {"predicted_over_measured"},
                    sql.one(planned + "/" + median_of(times)));
        double const mad = sql.one(mad_of(times));
        expect_exact(forms.csv.at(bucket + "/step_s_mad"), mad, "csv MAD");
        for (auto const* shown : {&forms.text, &forms.html}) {
            auto const& cell = shown->at(bucket + "/step_s");
            expect_shown(cell.substr(cell.find("± ") + 3), mad, 1000, "MAD");
        }
    }
}

TEST(FiguresEqualSql, OtherBatchesOfARun) {
    auto const store = history_of({relaunched()});
    auto const report = db::analysis::run_report(history_in(*store, 42), {false, true});
    Sql const sql(*store);
    auto const forms = forms_of(batch_table(*report.run.plan),
                                {"exposed_comm_share", "step_time_s", "samples_per_s"});
    for (int const size : {8, 16}) {
        auto const of = [&](std::string const& what) {
            return sql.one(
                fmt::format("(SELECT {} FROM plan_batch WHERE global_batch_size={})", what, size));
        };
        std::string const row = std::to_string(size);
        expect_cell(forms, row, {"exposed_comm_share", 100}, of("exposed_comm_share"));
        expect_cell(forms, row, {"step_time_s", 1000}, of("step_time_s"));
        expect_cell(forms, row, {"samples_per_s"}, of("samples_per_s"));
    }
}

TEST(FiguresEqualSql, BalanceOfRanks) {
    DemoRun uneven = relaunched();
    uneven.slowest = 1.27;
    auto const store = history_of({uneven});
    auto const report = db::analysis::run_report(history_in(*store, 42), {false, true});
    Sql const sql(*store);
    double const own = sql.one("(SELECT sum(vmax)/sum(mean) FROM timed WHERE name='arrival_s')");
    ASSERT_GT(own, 1);
    EXPECT_NEAR(report.rank_balance.measured, own, 1e-9);
    EXPECT_EQ(report.rank_balance.predicted, 1);
    auto const text =
        std::regex_replace(render(report, ReportFormat::text), std::regex("\\s+"), " ");
    auto const line = fmt::format("works {:.2f} times as long as the mean (planned 1.00)", own);
    EXPECT_NE(text.find(line), std::string::npos) << text;
}

TEST(FiguresEqualSql, CollectivesOfARun) {
    auto const store = history_of({relaunched()});
    auto const report = db::analysis::run_report(history_in(*store, 42), {false, true});
    Sql const sql(*store);
    auto forms = forms_of(collective_table(report),
                          {"ranks", "calls", "mb", "seconds", "exposed_s", "algbw_gbps"});
    forms.csv = of_csv(render(report, ReportFormat::csv), "collective");
    auto const classes = sql.list("SELECT DISTINCT class FROM v_collective ORDER BY 1");
    ASSERT_EQ(classes, (std::vector<std::string>{"gradients all_reduce", "stop vote"}));
    ASSERT_EQ(report.collectives.size(), classes.size());
    for (auto const& name : classes) {
        auto const of = [&](std::string const& what) {
            return sql.one(fmt::format(
                "(SELECT {} FROM v_collective WHERE run=42 AND warmup=0 AND class='{}')", what,
                name));
        };
        expect_cell(forms, name, {"ranks"}, of("max(ranks)"));
        expect_cell(forms, name, {"calls"}, of("sum(calls)*1.0/sum(rank_steps)"));
        expect_cell(forms, name, {"mb"}, of("sum(bytes)/1e6/sum(rank_steps)"));
        expect_cell(forms, name, {"seconds", 1000}, of("sum(seconds)/sum(rank_steps)"));
        expect_cell(forms, name, {"exposed_s", 1000}, of("sum(exposed_s)/sum(rank_steps)"));
        expect_cell(forms, name, {"algbw_gbps"}, of("sum(bytes)/1e9/sum(seconds)"));
    }
    auto const rows = protocol::parse_json(render(report, ReportFormat::json)).value();
    auto const& first = rows.at("collectives").at(0);
    EXPECT_EQ(first.at("class"), "gradients all_reduce") << "most exposed first";
    EXPECT_EQ(first.at("bytes").to_number<double>(), 25'600'000);
    EXPECT_EQ(first.at("calls").to_number<double>(), 8);
}

TEST(FiguresEqualSql, HeadlineOfARun) {
    auto const store = history_of({relaunched()});
    auto const report = db::analysis::run_report(history_in(*store, 42), {false, true});
    Sql const sql(*store);
    auto const csv = of_csv(render(report, ReportFormat::csv), "run");
    std::string const times = "SELECT mean AS v FROM timed WHERE name='step_time_s'";
    std::string const losses =
        "SELECT mean FROM step_summary JOIN metric USING(metric_id) WHERE name='loss' ORDER BY "
        "step";
    std::map<std::string, std::string> const figures{
        {"number", "(SELECT number FROM run)"},
        {"ranks", "(SELECT ranks FROM run)"},
        {"nodes", "(SELECT nodes FROM run)"},
        {"wall_s", "(SELECT (ended_us-submitted_us)/1e6 FROM run)"},
        {"steps", "(SELECT count(*) FROM step)"},
        {"steps_used", "(SELECT count(*) FROM used)"},
        {"warmup_steps", "(SELECT count(*) FROM step)-(SELECT count(*) FROM used)"},
        {"steps_repeated", "(SELECT sum(repeated) FROM step)"},
        {"relaunches", "(SELECT count(*) FROM event WHERE kind='launch' AND attempt>0)"},
        {"step_s_median", median_of(times)},
        {"step_s_mad", mad_of(times)},
        {"predicted_step_s", "(SELECT step_time_s FROM plan)"},
        {"loss_first", fmt::format("(SELECT avg(mean) FROM ({} LIMIT 20))", losses)},
        {"loss_last", fmt::format("(SELECT avg(mean) FROM ({} DESC LIMIT 20))", losses)},
        {"peak_memory_gib",
         "(SELECT max(vmax)/1073741824.0 FROM step_summary JOIN metric USING(metric_id) WHERE "
         "name='rss_bytes')"}};
    for (auto const& [key, expression] : figures) {
        expect_exact(csv.at("/" + key), sql.one(expression), key);
    }
    auto const page = html_page(page_of(report, {}), {});
    auto const text = render(report, ReportFormat::text);
    for (auto const* form : {&page, &text}) {
        EXPECT_NE(form->find(fmt::format("of {} steps; {} of warm-up",
                                         sql.one("(SELECT count(*) FROM used)"),
                                         sql.one(figures.at("warmup_steps")))),
                  std::string::npos);
    }
}

/// Medians inside of medians: asked run by run.
struct OfRuns {
    std::vector<double> step_s, samples_per_s, ratio, data, comm, wait;
};

OfRuns figures_of_runs(Sql const& sql, std::string const& ranks) {
    OfRuns runs;
    for (auto const& id : sql.list("SELECT run_id FROM run WHERE ranks=" + ranks)) {
        std::string const mine = " AND run_id=" + id;
        auto const times = [&](std::string const& more) {
            return "SELECT mean AS v FROM timed WHERE name='step_time_s'" + mine + more;
        };
        auto const total = [&](std::string const& column, std::string const& name) {
            return sql.one(
                fmt::format("(SELECT sum({}) FROM timed WHERE name='{}'{})", column, name, mine));
        };
        double seconds = 0, steps = 0;
        for (auto const& bucket : sql.list("SELECT DISTINCT bucket FROM used")) {
            std::string const in = " AND bucket='" + bucket + "'";
            double const count = sql.one("(SELECT count(*) FROM used WHERE 1" + mine + in + ")");
            seconds += count * sql.one(median_of(times(in)));
            steps += count;
        }
        double const step_s = total("mean", "step_time_s");
        runs.step_s.push_back(sql.one(median_of(times(""))));
        runs.samples_per_s.push_back(
            sql.one("(SELECT sum(samples) FROM used WHERE 1" + mine + ")") / seconds);
        runs.ratio.push_back(sql.one("(SELECT step_time_s FROM plan WHERE 1" + mine + ")") /
                             (seconds / steps));
        runs.data.push_back(total("mean", "data_wait_s") / step_s);
        runs.comm.push_back(total("vmin", "exposed_comm_s") / step_s);
        runs.wait.push_back(total("mean-vmin", "exposed_comm_s") / step_s);
    }
    return runs;
}

TEST(FiguresEqualSql, ScalingOfASeries) {
    DemoRun const slower{.number = 42, .image_s = 0.31, .video_s = 0.52};
    DemoRun const larger{.number = 43,
                         .ranks_per_node = 2,
                         .image_s = 0.17,
                         .video_s = 0.29,
                         .comm_share = 0.05,
                         .wait_share = 0.1};
    auto const store = history_of({{.number = 41}, slower, larger});
    auto const report =
        db::analysis::series_report("demo", db::load_series(*store, "demo").value());
    Sql const sql(*store);
    auto const forms = forms_of(scaling_table(report),
                                {"nodes", "step_s", "samples_per_s", "efficiency", "comm_share",
                                 "wait_share", "data_share", "predicted_over_measured"});
    for (std::string const ranks : {"1", "2"}) {
        auto const runs = figures_of_runs(sql, ranks);
        EXPECT_EQ(runs.step_s.size(), ranks == "1" ? 2u : 1u);
        expect_cell(forms, ranks, {"nodes"}, sql.one("(SELECT max(nodes) FROM run)"));
        expect_cell(forms, ranks, {"step_s", 1000}, median(runs.step_s));
        expect_cell(forms, ranks, {"samples_per_s"}, median(runs.samples_per_s));
        expect_cell(forms, ranks, {"predicted_over_measured"}, median(runs.ratio));
        expect_cell(forms, ranks, {"data_share", 100}, median(runs.data));
        expect_cell(forms, ranks, {"comm_share", 100}, median(runs.comm));
        expect_cell(forms, ranks, {"wait_share", 100}, median(runs.wait));
    }
    // Both sizes at the mix of buckets of the smaller one: 66 image and 134 video steps.
    auto const time = [&](std::string const& bucket, std::string const& ranks) {
        std::vector<double> medians;
        for (auto const& id : sql.list("SELECT run_id FROM run WHERE ranks=" + ranks)) {
            medians.push_back(
                sql.one(median_of("SELECT mean AS v FROM timed WHERE "
                                  "name='step_time_s' AND bucket='" +
                                  bucket + "' AND run_id=" + id)));
        }
        return median(medians);
    };
    auto const of_mix = [&](std::string const& ranks) {
        return 66 * time("64x64x1", ranks) + 134 * time("64x64x8", ranks);
    };
    expect_cell(forms, "1", {"efficiency", 100}, 1);
    expect_cell(forms, "2", {"efficiency", 100}, of_mix("1") / of_mix("2") / 2);
}

TEST(FiguresEqualSql, EveryPointOfTheStepTimeIsARow) {
    auto const store = history_of({{.number = 42, .ranks_per_node = 2, .steps = 9000}});
    auto const history = history_in(*store, 42);
    auto const report = db::analysis::run_report(history, {false, true});
    auto const figure = step_time_figure(report, db::analysis::run_charts(history, report));
    Sql const sql(*store);
    auto const value_of = [&](char const* column, std::int64_t step) {
        return sql.one(
            fmt::format("(SELECT {} FROM step_summary WHERE step={} AND run_id=1 AND metric_id="
                        "(SELECT metric_id FROM metric WHERE name='step_time_s'))",
                        column, step));
    };
    std::size_t points = 0;
    for (auto const& line : figure.data.at("lines").as_array()) {
        auto const& steps = line.at("step").as_array();
        for (std::size_t i = 0; i < steps.size(); ++i, ++points) {
            auto const step = steps[i].to_number<std::int64_t>();
            for (auto const& [name, column] :
                 {std::pair{"mean", "mean"}, {"min", "vmin"}, {"max", "vmax"}}) {
                double const value = value_of(column, step);
                EXPECT_NEAR(line.at(name).as_array()[i].to_number<double>(), value, 1e-5 * value);
            }
            auto const bucket =
                sql.list(fmt::format("SELECT bucket FROM step WHERE run_id=1 AND step={}", step));
            EXPECT_EQ(line.at("name").as_string(), bucket.at(0));
        }
    }
    EXPECT_GT(points, 500u);
    EXPECT_LT(points, 6000u);
    EXPECT_NE(figure.caption.find(" of 9,000 points are drawn"), std::string::npos);
    double highest = 0;
    for (auto const& line : figure.data.at("lines").as_array()) {
        for (auto const& value : line.at("max").as_array()) {
            highest = std::max(highest, value.to_number<double>());
        }
    }
    double const slowest = sql.one(
        "(SELECT max(vmax) FROM step_summary JOIN metric "
        "USING(metric_id) WHERE name='step_time_s')");
    EXPECT_NEAR(highest, slowest, 1e-5 * slowest);
}

}  // namespace
}  // namespace osora::cli::test
