// Each node reduces its ranks' steps, the controller merges and appends what they send, and the
// history is fed with it: the same code as in the product, without sockets between them.
#include "bench/history/written_run.hpp"

#include "bench/history/must.hpp"
#include "daemon/steps/step_merger.hpp"
#include "db/ingest/ingest.hpp"
#include "protocol/journal/journal.hpp"
#include "protocol/steps/collective_reducer.hpp"
#include "protocol/steps/metric_reducer.hpp"
#include "protocol/steps/rank_matrix_builder.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <ctime>
#include <fstream>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace osora::bench {
namespace {

namespace fs = std::filesystem;
using namespace protocol;

constexpr int kStepsBetweenCollectives = 300;  // as agents do, at a step a second

double cpu_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Adds the CPU time of its scope.
class Timed {
public:
    explicit Timed(double& into) : into_(into), from_(cpu_seconds()) {}
    ~Timed() { into_ += cpu_seconds() - from_; }
    Timed(Timed const&) = delete;
    Timed& operator=(Timed const&) = delete;

private:
    double& into_;
    double from_;
};

struct Node {
    MetricReducer reducer;
    RankMatrixBuilder matrices;
    CollectiveReducer collectives;
};

class Writer {
public:
    Writer(fs::path const& state_dir, RunSize const& size)
        : size_(size),
          run_dir_(state_dir / "runs" / "rate-0001"),
          history_(db::history_file(state_dir)),
          steps_(size.ranks_per_node) {
        fs::create_directories(run_dir_);
        journal_.open(run_dir_ / kJournalFile, std::ios::binary);
        journal_ << kJournalHeader;
        for (int first = 0; first < size.ranks; first += size.ranks_per_node) {
            int const node = static_cast<int>(nodes_.size());
            nodes_.push_back({MetricReducer(0, node, first, size.ranks_per_node),
                              RankMatrixBuilder(0, node, first, size.ranks_per_node),
                              CollectiveReducer(0, node, first, size.ranks_per_node)});
        }
        begin();
    }

    WritingCost write() {
        for (int step = 0; step < size_.steps; ++step) {
            wall_us_ += 1'000'000;
            do_step(step);
            if ((step + 1) % kStepsBetweenCollectives == 0) tell_collectives();
            tell_health(step);
            if ((step + 1) % size_.steps_between_ingests == 0) ingest();
        }
        for (auto& node : nodes_) take(node, true);
        tell_collectives();
        append(RunEnded{Verdict::ok, 0, ""});
        ingest();
        cost_.journal_bytes = static_cast<std::int64_t>(fs::file_size(run_dir_ / kJournalFile));
        cost_.history_bytes = static_cast<std::int64_t>(fs::file_size(history_)) - empty_bytes_;
        return cost_;
    }

private:
    void begin() {
        RunSubmitted submitted;
        submitted.run_uuid = "00000000-0000-4000-8000-000000000001";
        submitted.run_name = "rate-0001";
        submitted.job = "train";
        submitted.number = 1;
        submitted.nodes = static_cast<int>(nodes_.size());
        submitted.ranks_per_node = size_.ranks_per_node;
        submitted.steps = size_.steps;
        submitted.config = json::value{{"run", {{"name", "rate"}, {"job", "train"}}}};
        append(submitted);
        append(LaunchOrdered{0, size_.ranks, "n0", 4000});
        ingest();
        empty_bytes_ = static_cast<std::int64_t>(fs::file_size(history_));
        cost_ = {};
    }

    StepMetrics metrics_of(int step) {
        std::normal_distribution<double> around(1, size_.cv);
        StepMetrics metrics;
        metrics.step = step;
        constexpr std::array kBuckets{"360x640x51", "360x640x102", "720x1280x1"};
        metrics.bucket = kBuckets[static_cast<std::size_t>(step) % kBuckets.size()];
        for (auto [figure, typical] :
             {std::pair(&metrics.step_time_s, 1.0), std::pair(&metrics.data_wait_s, 0.002),
              std::pair(&metrics.forward_s, 0.28), std::pair(&metrics.backward_s, 0.57),
              std::pair(&metrics.exposed_comm_s, 0.09), std::pair(&metrics.optimizer_s, 0.03),
              std::pair(&metrics.other_s, 0.01), std::pair(&metrics.arrival_s, 0.95),
              std::pair(&metrics.loss, 0.15), std::pair(&metrics.grad_norm, 0.4)}) {
            *figure = typical * around(random_);
        }
        metrics.lr = 1e-4;
        metrics.samples = 8;
        metrics.rss_bytes = 30'000'000'000 + static_cast<std::int64_t>(random_() % 1'000'000'000);
        metrics.peak_allocated_bytes = 61'000'000'000;
        metrics.collectives.push_back({.name = "gradients all_reduce",
                                       .collective = "all_reduce",
                                       .backend = "nccl",
                                       .ranks = size_.ranks,
                                       .calls = 168,
                                       .bytes = 4'400'000'000,
                                       .seconds = 0.4 * around(random_),
                                       .exposed_s = metrics.exposed_comm_s});
        metrics.collectives.push_back({.name = "stop vote",
                                       .collective = "all_reduce",
                                       .backend = "gloo",
                                       .ranks = size_.ranks,
                                       .calls = 1,
                                       .bytes = 4,
                                       .seconds = 0.01 * around(random_),
                                       .exposed_s = 1e-5 * around(random_)});
        return metrics;
    }

    void do_step(int step) {
        int rank = 0;
        for (auto& node : nodes_) {
            for (int i = 0; i < size_.ranks_per_node; ++i, ++rank) {
                auto const metrics = metrics_of(step);
                {
                    Timed const timed(cost_.reduce_s);
                    node.reducer.add(rank, metrics);
                    node.collectives.add(rank, metrics);
                }
                if (!size_.matrices) continue;
                Timed const timed(cost_.matrix_s);
                node.matrices.add(rank, metrics);
            }
            take(node, false);
        }
    }

    void tell_collectives() {
        for (auto& node : nodes_) {
            std::optional<CollectiveSums> sums;
            {
                Timed const timed(cost_.reduce_s);
                sums = node.collectives.take();
            }
            if (sums) append(std::move(*sums));
        }
    }

    /// Each node reports it every ten minutes, in turn.
    void tell_health(int step) {
        constexpr int kEverySteps = 600, kGpus = 8;
        std::normal_distribution<double> around(1, 0.1);
        for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
            if (node * kEverySteps / std::ssize(nodes_) != step % kEverySteps) continue;
            NodeHealth health;
            health.node = node;
            health.number = step / kEverySteps;
            health.why = "regular";
            health.load = 12 * around(random_);
            health.memory_available_bytes = static_cast<std::int64_t>(1.5e12 * around(random_));
            health.disk_free_bytes = static_cast<std::int64_t>(9e12 * around(random_));
            for (int gpu = 0; gpu < kGpus; ++gpu) {
                GpuHealth each{.gpu = gpu};
                each.temperature_c = std::round(60 * around(random_));
                each.power_w = std::round(650'000 * around(random_)) / 1000;
                each.sm_mhz = 1980;
                each.memory_used_bytes = static_cast<std::int64_t>(6.1e10 * around(random_));
                health.gpus.push_back(each);
            }
            append(health);
        }
    }

    void take(Node& node, bool partial) {
        std::optional<MetricChunk> chunk;
        std::optional<RankMatrix> matrix;
        {
            Timed const timed(cost_.reduce_s);
            chunk = node.reducer.take(partial);
        }
        {
            Timed const timed(cost_.matrix_s);
            matrix = node.matrices.take(partial);
        }
        if (chunk) {
            Timed const timed(cost_.journal_s);
            steps_.add(*chunk, 0, {});
        }
        write_steps(partial);
        if (matrix) append(std::move(*matrix));
    }

    void write_steps(bool partial) {
        std::vector<MergedSteps> records;
        {
            Timed const timed(cost_.journal_s);
            records = steps_.take(partial);
        }
        for (auto& each : records) append(std::move(each));
    }

    void append(RunEvent event) {
        Timed const timed(cost_.journal_s);
        auto const kind = std::visit([](auto const& each) { return each.kType; }, event);
        auto const bytes = must(encode_record({sequence_++, wall_us_, std::move(event)}));
        cost_.journal_bytes_of[std::string(kind)] += static_cast<std::int64_t>(bytes.size());
        journal_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        journal_.flush();
    }

    void ingest() {
        Timed const timed(cost_.ingest_s);
        auto const store = must(db::Store::open(history_));
        auto const report = must(db::ingest_run(*store, run_dir_));
        if (!report.problems.empty()) throw std::runtime_error(report.problems.front());
    }

    RunSize size_;
    fs::path run_dir_, history_;
    std::ofstream journal_;
    std::vector<Node> nodes_;
    daemon::StepMerger steps_;
    std::mt19937_64 random_{1};
    std::uint64_t sequence_ = 0;
    std::int64_t wall_us_ = 1'700'000'000'000'000;
    std::int64_t empty_bytes_ = 0;
    WritingCost cost_;
};

}  // namespace

WritingCost write_run(fs::path const& state_dir, RunSize const& size) {
    return Writer(state_dir, size).write();
}

}  // namespace osora::bench
