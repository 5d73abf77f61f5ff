#include "tests/unit/db/run_maker.hpp"

#include "base/files/files.hpp"
#include "daemon/steps/step_merger.hpp"
#include "protocol/steps/matrix_codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace osora::db::test {

using namespace protocol;

int RunMaker::integer(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
}

double RunMaker::real(double low, double high) {
    return low + (high - low) * (static_cast<double>(random_() >> 11) * 0x1p-53);
}

void RunMaker::add(Records& records, RunEvent event) {
    wall_us_ += integer(1000, 1'000'000);
    records.push_back({records.size(), wall_us_, std::move(event)});
}

void RunMaker::submit(Records& records, RunShape const& shape) {
    RunSubmitted submitted;
    submitted.run_uuid = uuid_of(shape.number);
    submitted.run_name = fmt::format("{}-{:04}", shape.series, shape.number);
    submitted.job = "train";
    submitted.user = "ada";
    submitted.host = "n0";
    submitted.number = shape.number;
    submitted.nodes = shape.nodes;
    submitted.ranks_per_node = shape.ranks_per_node;
    submitted.steps = shape.steps;
    submitted.facts = {{"commit", fmt::format("c{}", shape.number % 2)}, {"OMP_NUM_THREADS", "1"}};
    submitted.config =
        json::value{{"run", {{"name", shape.series}, {"job", "train"}}},
                    {"model", {{"arch", shape.arch}}},
                    {"data", {{"manifest", "clips.csv"}}},
                    {"bucket", json::array{json::value{{"resolution", "64"}, {"num_frames", 8}}}}};
    add(records, submitted);
    json::value const bucket{{"resolution", "64"},
                             {"num_frames", 8},
                             {"height", 64},
                             {"width", 64},
                             {"micro_batch_size", 2},
                             {"step_time_s", 0.5},
                             {"global_batch_size", 2 * shape.nodes * shape.ranks_per_node}};
    add(records,
        PlanChosen{json::value{{"chosen",
                                {{"dp_size", shape.nodes * shape.ranks_per_node},
                                 {"threads_per_rank", 1},
                                 {"buckets", json::array{bucket}}}},
                               {"predicted", {{"step_time_s", 0.5}, {"step_time_error", 0.25}}}}});
    add(records, ControllerStarted{"n0", "boot", 100, 0});
    for (int node = 0; node < shape.nodes; ++node) {
        add(records, AgentJoined{node,
                                 fmt::format("n{}", node),
                                 "boot",
                                 200 + node,
                                 7,
                                 {{"cpus", "2"}, {"cpu", node == 0 ? "fast" : "slow"}}});
    }
}

RankMatrix matrix_of(RunShape const& shape, int attempt, int node, int step0) {
    constexpr int kSteps = 12;
    RankMatrix matrix;
    matrix.attempt = attempt;
    matrix.node = node;
    matrix.first_rank = node * shape.ranks_per_node;
    matrix.ranks = shape.ranks_per_node;
    matrix.step0 = step0;
    matrix.steps = kSteps;
    auto const ranks = static_cast<std::size_t>(shape.ranks_per_node);
    std::vector<float> values(kSteps * ranks, 0.5F);
    for (std::size_t i = ranks - 1; node + 1 == shape.nodes && i < values.size(); i += ranks) {
        values[i] = 0.6F;
    }
    matrix.figures["arrival_s"].value = encode_matrix(values, ranks);
    return matrix;
}

CollectiveSums collectives_of(RunShape const& shape, int attempt, int node, int number) {
    CollectiveSums reported{.attempt = attempt, .node = node, .number = number, .sums = {}};
    auto const add = [&](std::string name, std::string bucket, bool warmup, std::int64_t bytes) {
        CollectiveSum sum{.bucket = std::move(bucket), .warmup = warmup, .cost = {}};
        sum.rank_steps = 5 * shape.ranks_per_node;
        sum.cost = {.name = std::move(name), .collective = "all_reduce", .backend = "gloo"};
        sum.cost.ranks = shape.nodes * shape.ranks_per_node;
        sum.cost.calls = 2 * sum.rank_steps;
        sum.cost.bytes = bytes * sum.cost.calls;
        sum.cost.seconds = 0.25 * static_cast<double>(sum.rank_steps) + 0.125 * node;
        sum.cost.exposed_s = sum.cost.seconds / 4;
        reported.sums.push_back(std::move(sum));
    };
    add("gradients all_reduce", "64x64x1", number == 0, 1'000'000);
    add("gradients all_reduce", "64x64x8", number == 0, 1'000'000);
    add("stop vote", "64x64x8", number == 0, 4);
    return reported;
}

void RunMaker::launch(Records& records, RunShape const& shape, int attempt, int start_step) {
    int const ranks = shape.nodes * shape.ranks_per_node;
    add(records, LaunchOrdered{attempt, ranks, "127.0.0.1", 4000 + attempt});
    for (int rank = 0; rank < ranks; ++rank) {
        add(records, RankStarted{attempt,
                                 rank / shape.ranks_per_node,
                                 rank,
                                 300 + rank,
                                 start_step,
                                 {{"device", "cpu"}, {"NCCL_DEBUG", fmt::format("v{}", rank % 2)}},
                                 fmt::format("{}", rank)});
    }
    for (int node = 0; shape.health && node < shape.nodes; ++node) {
        NodeHealth health;
        health.node = node;
        health.why = "GPU 1: Xid 79";
        health.load = 1.5;
        health.disk_free_bytes = 1 << 30;
        health.gpus.resize(2);
        health.gpus[1].gpu = 1;
        health.gpus[1].temperature_c = 70 + attempt;
        health.gpus[1].xids = {79, 31};
        add(records, health);
    }
    for (int node = 0; shape.matrices && node < shape.nodes; ++node) {
        add(records, matrix_of(shape, attempt, node, start_step));
    }
}

MetricChunk RunMaker::chunk(RunShape const& shape, int attempt, int node, int step0, int steps) {
    MetricChunk chunk;
    chunk.attempt = attempt;
    chunk.node = node;
    chunk.ranks = shape.ranks_per_node;
    chunk.step0 = step0;
    for (int i = 0; i < steps; ++i) {
        chunk.bucket.push_back((step0 + i) % 3 == 0 ? "64x64x1" : "64x64x8");
        chunk.samples.push_back(2 * shape.ranks_per_node);
    }
    for (char const* name : {"step_time_s", "exposed_comm_s", "data_wait_s", "loss"}) {
        auto& column = chunk.columns[name];
        for (int i = 0; i < steps; ++i) {
            double const low = real(0.1, 0.2), high = low + real(0, 0.1);
            bool const lost = shape.nan && integer(0, 5) == 0;
            column.mean.push_back(lost ? std::nan("") : (low + high) / 2);
            column.min.push_back(low);
            column.max.push_back(lost ? std::nan("") : high);
            column.argmax.push_back(node * shape.ranks_per_node +
                                    integer(0, shape.ranks_per_node - 1));
        }
    }
    return chunk;
}

void RunMaker::train(Records& records, RunShape const& shape, int attempt, int start_step,
                     int stop_step) {
    std::vector<int> next(static_cast<std::size_t>(shape.nodes), start_step);
    for (int node = 0; shape.collectives && node < shape.nodes; ++node) {
        for (int number : {0, 1}) add(records, collectives_of(shape, attempt, node, number));
    }
    auto const behind = [&](int step) { return step < stop_step; };
    while (std::ranges::any_of(next, behind)) {
        int const node = integer(0, shape.nodes - 1);
        int& step = next[static_cast<std::size_t>(node)];
        if (!behind(step)) continue;
        int const steps = std::min(integer(1, shape.chunk_steps_max), stop_step - step);
        auto const made = chunk(shape, attempt, node, step, steps);
        step += steps;
        add(records, made);
        if (shape.resend && integer(0, 2) == 0) add(records, made);
        if (integer(0, 9) == 0) {
            add(records, RunNotice{attempt, node, node * shape.ranks_per_node, step, "clip_skipped",
                                   "warning", "clips/bad one.mp4: no moov atom"});
        }
    }
}

Records RunMaker::make(RunShape const& shape) {
    Records records;
    submit(records, shape);
    int start = 0;
    for (int attempt = 0; attempt < shape.relaunches; ++attempt) {
        launch(records, shape, attempt, start);
        int const stop = integer(start, shape.steps);
        train(records, shape, attempt, start, stop);
        int const failed = integer(0, shape.nodes * shape.ranks_per_node - 1);
        add(records, RankFailed{attempt, failed / shape.ranks_per_node, failed, 0, 9, false, ""});
        start = integer(0, stop);
    }
    launch(records, shape, shape.relaunches, start);
    train(records, shape, shape.relaunches, start, shape.steps);
    add(records, CheckpointCompleted{shape.relaunches, shape.steps, "checkpoints/last", 0.5, 1000});
    if (shape.ended) add(records, RunEnded{Verdict::ok, 0, ""});
    return records;
}

Records merged(Records const& records, RunShape const& shape, RunMaker& maker) {
    Records result;
    daemon::StepMerger merger(shape.ranks_per_node);
    std::map<int, int> next;  // by node
    auto const add = [&](std::int64_t wall_us, RunEvent event) {
        result.push_back({result.size(), wall_us, std::move(event)});
    };
    auto const write = [&](std::int64_t wall_us, bool partial) {
        for (auto& each : merger.take(partial)) add(wall_us, std::move(each));
    };
    for (auto const& record : records) {
        auto const* chunk = std::get_if<MetricChunk>(&record.event);
        if (chunk == nullptr) {
            write(record.wall_us, true);
            if (auto const* launch = std::get_if<LaunchOrdered>(&record.event)) {
                merger.begin(launch->attempt);
                next.clear();
            }
            add(record.wall_us, record.event);
            continue;
        }
        int const end = chunk->step0 + static_cast<int>(chunk->bucket.size());
        if (end > next[chunk->node]) {
            merger.add(*chunk, next[chunk->node], {});
            next[chunk->node] = end;
        }
        write(record.wall_us, maker.integer(0, 4) == 0);
    }
    write(records.back().wall_us, true);
    return result;
}

std::string journal_bytes(Records const& records) {
    std::string bytes(kJournalHeader);
    for (auto const& record : records) bytes += encode_record(record).value();
    return bytes;
}

std::string uuid_of(int number) {
    return fmt::format("00000000-0000-4000-8000-{:012}", number);
}

std::filesystem::path write_run(std::filesystem::path const& state_dir, std::string const& name,
                                std::string const& bytes) {
    auto const dir = state_dir / "runs" / name;
    std::filesystem::create_directories(dir);
    write_file_atomic(dir / "journal", bytes).value();
    return dir;
}

}  // namespace osora::db::test
