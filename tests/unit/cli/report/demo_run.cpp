#include "tests/unit/cli/report/demo_run.hpp"

#include "cli/text/terminal.hpp"
#include "db/ingest/ingest.hpp"

#include <fmt/format.h>

#include <gtest/gtest.h>
#include <algorithm>
#include <sstream>

namespace osora::cli::test {
namespace {

using namespace protocol;
using db::test::Records;

constexpr std::int64_t kStart_us = 1'795'000'000'000'000;  // 2026-11-18 11:06:40 UTC

class Maker {
public:
    explicit Maker(DemoRun const& run) : run_(run), ranks_(run.nodes * run.ranks_per_node) {}

    Records make() {
        submit();
        launch(0, 0);
        if (run_.killed_at < 0) {
            train(0, 0, run_.steps);
        } else {
            train(0, 0, run_.checkpoint_at);
            add(0.05, CheckpointCompleted{0, run_.checkpoint_at, "checkpoints/a", 0.05, 1'258'291});
            train(0, run_.checkpoint_at, run_.killed_at);
            if (run_.asked) {
                add(0.1, RelaunchAsked{true, "alice", "new driver"});
            } else {
                add(0.1, RankFailed{0, run_.nodes - 1, ranks_ - 1, 0, 9, false, ""});
            }
            for (int node = 0; node < run_.nodes; ++node) add(0.1, NodeStopped{0, node, 0});
            launch(1, run_.checkpoint_at);
            train(1, run_.checkpoint_at, run_.steps);
        }
        for (int i = 0; i < run_.skipped_clips; ++i) {
            add(0, RunNotice{0, 0, 0, i, "clip_skipped", "warning",
                             "clips/bad one.mp4: no moov atom, 0 of 8 frames"});
        }
        for (auto const& [step, loss] : run_.evaluations) {
            add(0, EvaluationDone{run_.killed_at < 0 ? 0 : 1, step, loss, 64, 0.5});
        }
        if (run_.ended) {
            int const attempt = run_.killed_at < 0 ? 0 : 1;
            add(0.05, CheckpointCompleted{attempt, run_.steps, "checkpoints/b", 0.07, 1'258'291});
            for (int node = 0; node < run_.nodes; ++node) {
                add(0, NodeFinished{attempt, node, run_.steps, false});
                add(0.1, NodeStopped{attempt, node, 0});
            }
            add(0.1, run_.end);
        }
        return records_;
    }

private:
    void add(double later_s, RunEvent event) {
        wall_us_ += static_cast<std::int64_t>(later_s * 1e6);
        records_.push_back({records_.size(), wall_us_, std::move(event)});
    }

    json::value bucket(int frames, int batch, double step_s) const {
        json::object made{{"resolution", "64"},
                          {"num_frames", frames},
                          {"height", 64},
                          {"width", 64},
                          {"micro_batch_size", std::max(1, batch / ranks_)},
                          {"global_batch_size", batch},
                          {"step_time_s", step_s}};
        if (run_.gflop_per_pixel > 0) {
            made["gflop_per_sample"] = run_.gflop_per_pixel * frames * 64 * 64;
            made["tokens_per_sample"] = 16 * frames;
        }
        return made;
    }

    static json::value batch(int size, double exposed, double scale) {
        return json::value{{"global_batch_size", size},
                           {"exposed_comm_share", exposed},
                           {"step_time_s", 0.02 * size * scale},
                           {"samples_per_s", 50 / scale}};
    }

    void submit() {
        RunSubmitted event;
        event.run_uuid = db::test::uuid_of(run_.number);
        event.run_name = fmt::format("{}-{:04}", run_.series, run_.number);
        event.job = run_.job;
        event.user = "ada";
        event.host = "n0";
        event.number = run_.number;
        event.nodes = run_.nodes;
        event.ranks_per_node = run_.ranks_per_node;
        event.steps = run_.steps;
        event.facts = {{"osora.commit", "0123456789abcdef0123456789abcdef01234567"}};
        event.config = json::value{{"run", {{"name", run_.series}, {"job", run_.job}}},
                                   {"model", {{"arch", run_.arch}}},
                                   {"data", {{"manifest", "clips.csv"}}}};
        add(0, event);
        double const scale = run_.predicted_s / 0.42;
        json::value const predicted{{"step_time_s", run_.predicted_s},
                                    {"step_time_error", run_.error},
                                    {"compute_s", 0.9 * run_.predicted_s},
                                    {"exposed_comm_s", 0.05 * run_.predicted_s},
                                    {"loader_s", 0.0},
                                    {"rank_balance", 1.0},
                                    {"peak_memory_gib", 1.25},
                                    {"samples_per_s", 20.0}};
        add(0, PlanChosen{json::value{
                   {"chosen",
                    {{"dp_size", ranks_},
                     {"threads_per_rank", run_.threads},
                     {"num_workers", run_.loaders},
                     {"buckets", json::array{bucket(1, run_.global_batch[0], 0.28 * scale),
                                             bucket(8, run_.global_batch[1], 0.49 * scale)}}}},
                   {"predicted", predicted},
                   {"batch_curve", json::array{batch(8, 0.081, scale), batch(16, 0.05, scale)}}}});
        add(0.01, ControllerStarted{"n0", "boot-0", 100, 0});
        for (int node = 0; node < run_.nodes; ++node) {
            add(0.05, AgentJoined{node,
                                  fmt::format("n{}", node),
                                  fmt::format("boot-{}", node),
                                  200,
                                  1,
                                  {{"cpus", std::to_string(run_.cpus)}}});
        }
    }

    void launch(int attempt, int start_step) {
        add(0.5, LaunchOrdered{attempt, ranks_, "127.0.0.1", 4000});
        for (int rank = 0; rank < ranks_; ++rank) {
            add(0.2, RankStarted{attempt,
                                 rank / run_.ranks_per_node,
                                 rank,
                                 300 + rank,
                                 start_step,
                                 {{"device", run_.device}}});
        }
    }

    void train(int attempt, int from, int to) {
        tell_collectives(attempt, from, to);
        for (int step = from; step < to; ++step) {
            bool const image = step % 3 == 0;
            // Within 1 % of its bucket's time, on both sides alike; the first five are slow.
            double const wiggle = 1 + 0.005 * ((step / 3) % 5 - 2);
            double const time = (image ? run_.image_s : run_.video_s) * wiggle * (step < 5 ? 3 : 1);
            for (int node = 0; node < run_.nodes; ++node) {
                add(node == 0 ? time : 0, chunk(attempt, node, step, time));
            }
        }
    }

    /// Of the first steps, then of all others; of ranks together.
    void tell_collectives(int attempt, int from, int to) {
        if (ranks_ < 2) return;
        int const cold = std::min(5, to - from);
        int number = 0;
        for (int const steps : {cold, to - from - cold}) {
            for (int node = 0; node < run_.nodes && steps > 0; ++node) {
                CollectiveSums made{.attempt = attempt, .node = node, .number = number, .sums = {}};
                for (char const* bucket : {"64x64x1", "64x64x8"}) {
                    made.sums.push_back(sum("gradients all_reduce", bucket, number == 0, steps));
                    made.sums.push_back(sum("stop vote", bucket, number == 0, steps));
                }
                add(0, made);
            }
            ++number;
        }
    }

    CollectiveSum sum(std::string const& name, std::string const& bucket, bool warmup,
                      int steps) const {
        bool const vote = name == "stop vote", image = bucket == "64x64x1";
        CollectiveSum sum{.bucket = bucket, .warmup = warmup, .cost = {}};
        sum.rank_steps = run_.ranks_per_node * (image ? steps / 3 : steps - steps / 3);
        auto const rank_steps = static_cast<double>(sum.rank_steps);
        double const exposed_s =
            (run_.comm_share + run_.wait_share) * (image ? run_.image_s : run_.video_s);
        sum.cost = {.name = name, .collective = "all_reduce", .backend = "gloo"};
        sum.cost.ranks = ranks_;
        sum.cost.calls = (vote ? 1 : 8) * sum.rank_steps;
        sum.cost.bytes = (vote ? 4 : 25'600'000) * sum.rank_steps;
        sum.cost.seconds = (vote ? 0.02 : exposed_s + 0.05) * rank_steps;
        sum.cost.exposed_s = vote ? 0 : exposed_s * rank_steps;
        return sum;
    }

    MetricChunk chunk(int attempt, int node, int step, double time) const {
        MetricChunk chunk;
        chunk.attempt = attempt;
        chunk.node = node;
        chunk.ranks = run_.ranks_per_node;
        chunk.step0 = step;
        bool const image = step % 3 == 0;
        chunk.bucket = {image ? "64x64x1" : "64x64x8"};
        chunk.samples = {run_.global_batch[image ? 0 : 1] / run_.nodes};
        auto const put = [&](char const* name, double mean, double min, double max) {
            chunk.columns[name] = {{mean}, {min}, {max}, {node * run_.ranks_per_node}};
        };
        double const comm = run_.comm_share * time, wait = run_.wait_share * time;
        double const data = run_.data_share * time;
        double const rest = time - comm - wait - data;
        double const done = static_cast<double>(step) / (run_.steps - 1);
        double const loss = run_.loss_first + (run_.loss_last - run_.loss_first) * done;
        put("step_time_s", time, time, time);
        put("data_wait_s", data, data, data);
        put("forward_s", 0.3 * rest, 0.3 * rest, 0.3 * rest);
        put("backward_s", 0.6 * rest, 0.6 * rest, 0.6 * rest);
        put("optimizer_s", 0.08 * rest, 0.08 * rest, 0.08 * rest);
        put("other_s", 0.02 * rest, 0.02 * rest, 0.02 * rest);
        put("exposed_comm_s", comm + wait, comm, comm + 2 * wait);
        if (run_.slowest > 0) {
            // More in some steps than in others, so that a mean of ratios would differ.
            double const more = (run_.slowest - 1) * (image ? 2 : 0.5);
            put("arrival_s", rest, 0.9 * rest, (1 + more) * rest);
        }
        put("loss", loss, loss, loss);
        put("rss_bytes", 1.2e9, 1.1e9, 1.3e9);
        return chunk;
    }

    DemoRun run_;
    int ranks_;
    Records records_;
    std::int64_t wall_us_ = kStart_us;
};

}  // namespace

Records records_of(DemoRun const& run) {
    return Maker(run).make();
}

std::unique_ptr<db::Store> history_of(std::vector<DemoRun> const& runs) {
    db::test::StateDir state;
    for (auto const& run : runs) {
        db::test::write_run(state.path(), fmt::format("{}-{:04}", run.series, run.number),
                            db::test::journal_bytes(records_of(run)));
    }
    auto store = std::move(*db::Store::in_memory());
    auto const read = db::ingest_all(*store, state.path());
    if (read.has_error() || !read->problems.empty()) return nullptr;
    return store;
}

db::analysis::RunReport report_of(DemoRun const& run) {
    auto const store = history_of({run});
    auto const found = db::find_run(*store, std::to_string(run.number)).value();
    auto const history = db::load_run(*store, found.run_id).value();
    return db::analysis::run_report(history, {.controller_alive = false, .folder_exists = true});
}

db::analysis::SeriesReport series_of(std::vector<DemoRun> const& runs, std::string const& name) {
    auto const store = history_of(runs);
    return db::analysis::series_report(name, db::load_series(*store, name).value());
}

DemoRun relaunched() {
    return {.number = 42,
            .ranks_per_node = 2,
            .comm_share = 0.1,
            .wait_share = 0.2,
            .killed_at = 110,
            .skipped_clips = 2};
}

std::vector<double> repeated(int count, double factor, std::vector<double> more) {
    more.insert(more.begin(), static_cast<std::size_t>(count), factor);
    return more;
}

void expect_narrow(std::string const& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80) << line;
}

}  // namespace osora::cli::test
