// Journals are written as controllers write them, so that ingestion is part of what is built.
#include "bench/history/many_runs.hpp"

#include "bench/history/must.hpp"
#include "cli/report/report_figures.hpp"
#include "cli/report/report_page.hpp"
#include "db/analysis/report/run_report.hpp"
#include "db/analysis/report/series_report.hpp"
#include "db/ingest/ingest.hpp"
#include "db/store/queries.hpp"
#include "db/store/sql_query.hpp"
#include "protocol/journal/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <random>
#include <stdexcept>
#include <utility>

namespace osora::bench {
namespace {

namespace fs = std::filesystem;
using namespace protocol;

constexpr int kRanks = 8;
constexpr int kChunkSteps = 32;

class Journal {
public:
    Journal(fs::path const& state_dir, int number) {
        auto const dir = state_dir / "runs" / fmt::format("run-{:05}", number);
        fs::create_directories(dir);
        file_.open(dir / kJournalFile, std::ios::binary);
        file_ << kJournalHeader;
        wall_us_ += std::int64_t{number} * 3'600'000'000;
    }
    void append(RunEvent event) {
        wall_us_ += 10'000;
        file_ << must(encode_record({sequence_++, wall_us_, std::move(event)}));
    }

private:
    std::ofstream file_;
    std::uint64_t sequence_ = 0;
    std::int64_t wall_us_ = 1'600'000'000'000'000;
};

MetricChunk chunk_of(int step0, int steps, double slower, std::mt19937_64& random) {
    std::normal_distribution<double> around(1, 0.01);
    MetricChunk chunk;
    chunk.ranks = kRanks;
    chunk.step0 = step0;
    chunk.bucket.assign(static_cast<std::size_t>(steps), "360x640x51");
    chunk.samples.assign(static_cast<std::size_t>(steps), 8 * kRanks);
    for (char const* name :
         {"step_time_s", "data_wait_s", "forward_s", "backward_s", "exposed_comm_s", "optimizer_s",
          "other_s", "arrival_s", "loss", "grad_norm", "lr", "rss_bytes", "peak_allocated_bytes"}) {
        auto& column = chunk.columns[name];
        for (int i = 0; i < steps; ++i) {
            double const mean = slower * around(random);
            column.mean.push_back(mean);
            column.min.push_back(0.98 * mean);
            column.max.push_back(1.02 * mean);
            column.argmax.push_back(static_cast<int>(random() % kRanks));
        }
    }
    return chunk;
}

void write_journal(fs::path const& state_dir, int number, int steps) {
    std::mt19937_64 random(static_cast<std::uint64_t>(number));
    Journal journal(state_dir, number);
    RunSubmitted submitted;
    submitted.run_uuid = fmt::format("00000000-0000-4000-8000-{:012}", number);
    submitted.run_name = fmt::format("stage1-{:05}", number);
    submitted.job = "train";
    submitted.number = number;
    submitted.nodes = 1 << (number % 4);
    submitted.ranks_per_node = kRanks;
    submitted.steps = steps;
    submitted.facts = {{"osora.commit", fmt::format("{:08x}", number / 10)}, {"kernel", "6.1"}};
    for (int i = 0; i < 40; ++i) submitted.facts[fmt::format("NCCL_SETTING_{}", i)] = "1";
    submitted.config = json::value{{"run", {{"name", "stage1"}, {"job", "train"}}},
                                   {"model", {{"arch", "stdit3-xl/2"}}},
                                   {"train", {{"steps", steps}, {"seed", number % 7}}}};
    journal.append(submitted);
    for (int node = 0; node < submitted.nodes; ++node) {
        journal.append(AgentJoined{node, fmt::format("n{}", node), "boot", 7, 7, {{"cpus", "64"}}});
    }
    journal.append(LaunchOrdered{0, kRanks, "n0", 4000});
    for (int rank = 0; rank < kRanks; ++rank) {
        journal.append(RankStarted{0, 0, rank, 300 + rank, 0, {{"device", "cuda:0"}}});
    }
    double const slower = number % 5 == 0 ? 1.1 : 1;  // than the last good one
    for (int step = 0; step < steps; step += kChunkSteps) {
        journal.append(chunk_of(step, std::min(kChunkSteps, steps - step), slower, random));
    }
    journal.append(RunEnded{Verdict::ok, 0, ""});
}

void ask_sql(db::Store& store, std::string const& sql) {
    if (must(db::query_sql(store, sql)).rows.empty()) throw std::runtime_error("no rows: " + sql);
}

}  // namespace

void make_history(fs::path const& state_dir, HistorySize const& size) {
    for (int number = 1; number <= size.runs; ++number) {
        write_journal(state_dir, number, size.steps_each);
    }
    write_journal(state_dir, size.runs + 1, size.long_run_steps);
    auto const store = must(db::Store::open(db::history_file(state_dir)));
    auto const report = must(db::ingest_all(*store, state_dir));
    if (report.changed != size.runs + 1) throw std::runtime_error("not all journals were read");
}

std::vector<Question> ask_history(fs::path const& state_dir, HistorySize const& size) {
    std::unique_ptr<db::Store> store;
    int const newest = size.runs + 1;
    std::vector<std::pair<std::string, std::function<void()>>> const questions{
        {"open, no journal is new",
         [&] {
             store = must(db::Store::open(db::history_file(state_dir)));
             must(db::ingest_all(*store, state_dir));
         }},
        {"history", [&] { must(db::list_runs(*store, "", 20)); }},
        {"history, all runs", [&] { must(db::list_runs(*store, "", newest)); }},
        {"history QUERY", [&] { must(db::list_runs(*store, "0000000a", 20)); }},
        {"report of the long run",
         [&] {
             auto const run = must(db::find_run(*store, std::to_string(newest)));
             auto const report =
                 db::analysis::run_report(must(db::load_run(*store, run.run_id)), {});
             if (report.measured.steps != size.long_run_steps) throw std::runtime_error("steps");
         }},
        {"report of the long run, HTML",
         [&] {
             auto const run = must(db::find_run(*store, std::to_string(newest)));
             auto const history = must(db::load_run(*store, run.run_id));
             auto const report = db::analysis::run_report(history, {});
             auto const page = cli::page_of(report, cli::run_figures(report, history));
             if (cli::html_page(page, web::page_assets()).empty()) throw std::runtime_error("HTML");
         }},
        {"report --series of all runs",
         [&] {
             auto const runs = must(db::load_series(*store, "stage1"));
             if (db::analysis::series_report("stage1", runs).rows.empty()) {
                 throw std::runtime_error("no rows");
             }
         }},
        {"sql: slowest runs",
         [&] { ask_sql(*store, "SELECT run,step_s FROM v_run ORDER BY step_s DESC LIMIT 10"); }},
        {"sql: what differs between two runs",
         [&] {
             ask_sql(*store,
                     "SELECT kind,key,a.value,b.value FROM (SELECT * FROM v_item WHERE run=11) a "
                     "FULL JOIN (SELECT * FROM v_item WHERE run=22) b USING(kind,key) WHERE "
                     "a.value IS NOT b.value");
         }},
        {"sql: a step's figures of the long run",
         [&] {
             ask_sql(*store,
                     fmt::format("SELECT avg(step_time_s),avg(loss),max(arrival_max_s) FROM "
                                 "v_step WHERE run={}",
                                 newest));
         }},
        {"sql: why runs are slower than their last good ones",
         [&] { ask_sql(*store, "SELECT part,avg(gap_s) FROM v_attribution GROUP BY part"); }},
        {"open after one more run has ended",
         [&] {
             write_journal(state_dir, newest + 1, size.steps_each);
             must(db::ingest_all(*store, state_dir));
         }},
    };
    std::vector<Question> answers;
    for (auto const& [name, ask] : questions) {
        auto const from = std::chrono::steady_clock::now();
        ask();
        std::chrono::duration<double> const took = std::chrono::steady_clock::now() - from;
        answers.push_back({name, took.count()});
    }
    return answers;
}

}  // namespace osora::bench
