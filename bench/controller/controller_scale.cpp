// controller_scale: what the controller itself costs at the size of a large cluster. One thread, no
// network: agents' messages are frames' JSON as they would arrive, and answers are encoded as they
// would leave. Prints CPU time and memory; fails over the limits.
#include "base/text/units.hpp"
#include "daemon/controller/controller_core.hpp"
#include "protocol/journal/journal.hpp"
#include "protocol/messages/message.hpp"
#include "protocol/steps/matrix_codec.hpp"
#include "protocol/steps/rank_matrix_builder.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <ctime>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace osora::bench {
namespace {

using namespace daemon;
using namespace protocol;
using namespace std::chrono_literals;

double cpu_seconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::int64_t peak_rss_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss * 1024;
}

ControllerOptions options_for(int nodes, int ranks_per_node) {
    ControllerOptions options;
    options.submission.run_uuid = "00000000-0000-4000-8000-000000000000";
    options.submission.run_name = "scale-0001";
    options.submission.job = "train";
    options.submission.nodes = nodes;
    options.submission.ranks_per_node = ranks_per_node;
    options.submission.steps = 1'000'000;
    options.submission.restarts_max = 3;
    options.token = std::string(64, 'a');
    options.host = "n0";
    options.boot_id = "boot";
    options.pid = 1;
    return options;
}

/// The controller, its agents as far as messages go, and the time that all of them share.
class Cluster {
public:
    Cluster(int nodes, int ranks_per_node)
        : nodes_(nodes),
          ranks_per_node_(ranks_per_node),
          core_(options_for(nodes, ranks_per_node), {}) {}

    /// From nothing to every rank running. false: it did not get there.
    bool launch() {
        take(core_.start(now()));
        for (int node = 0; node < nodes_; ++node) {
            feed(AgentConnected{node});
            say(node, hello(node));
        }
        deliver();
        for (int node = 0; node < nodes_; ++node) {
            for (int local_rank = 0; local_rank < ranks_per_node_; ++local_rank) {
                RankStarted started;
                started.attempt = 0;
                started.node = node;
                started.rank = node * ranks_per_node_ + local_rank;
                started.pid = 1000 + local_rank;
                say(node, started);
            }
        }
        deliver();
        return core_.status().state == RunState::running;
    }

    /// One second of a running cluster: a heartbeat and the metrics of a step from every node.
    void one_second(int step) {
        for (int node = 0; node < nodes_; ++node) {
            elapsed_ = std::chrono::seconds(step + 1) + node * 1'000'000us / nodes_;
            if (core_.next_deadline() <= now().monotonic) feed(Tick{});
            say(node, heartbeat(node, step));
            say(node, chunk(node, step));
            if (node % kBlockSteps == step % kBlockSteps) say(node, matrix(node, step));
        }
        deliver();
    }

    [[nodiscard]] RunState state() const { return core_.status().state; }
    [[nodiscard]] std::int64_t records() const { return records_; }
    [[nodiscard]] std::int64_t bytes_out() const { return bytes_out_; }
    [[nodiscard]] double spent_s() const { return spent_s_; }

private:
    [[nodiscard]] Now now() const { return {MonotonicTime(1h) + elapsed_, 0}; }

    AgentHello hello(int node) const {
        AgentHello hello;
        hello.token = std::string(64, 'a');
        hello.node = node;
        hello.host = fmt::format("n{}", node);
        hello.boot_id = "boot";
        hello.pid = 100 + node;
        hello.facts = {{"cores", "96"}, {"memory", "2 TiB"}};
        return hello;
    }

    Heartbeat heartbeat(int node, int step) const {
        Heartbeat beat;
        beat.attempt = 0;
        for (int local_rank = 0; local_rank < ranks_per_node_; ++local_rank) {
            RankHeartbeat heartbeat;
            heartbeat.rank = node * ranks_per_node_ + local_rank;
            heartbeat.phase = Phase::step;
            heartbeat.step = step;
            heartbeat.silent_s = 0.4;
            beat.ranks.push_back(heartbeat);
        }
        return beat;
    }

    MetricChunk chunk(int node, int step) const {
        MetricChunk chunk;
        chunk.attempt = 0;
        chunk.node = node;
        chunk.ranks = ranks_per_node_;
        chunk.step0 = step;
        chunk.bucket = {"360x640x51"};
        chunk.samples = {ranks_per_node_};
        for (char const* name : {"step_time_s", "data_wait_s", "forward_s", "backward_s",
                                 "exposed_comm_s", "optimizer_s", "other_s", "loss", "grad_norm",
                                 "lr", "rss_bytes", "peak_allocated_bytes"}) {
            chunk.columns[name] = {{7.25}, {7.125}, {7.5}, {node * ranks_per_node_}};
        }
        return chunk;
    }

    /// 64 steps of ranks that differ by 1 %; nodes take turns.
    RankMatrix matrix(int node, int step) {
        RankMatrix matrix;
        matrix.attempt = 0;
        matrix.node = node;
        matrix.first_rank = node * ranks_per_node_;
        matrix.ranks = ranks_per_node_;
        matrix.step0 = step;
        matrix.steps = kBlockSteps;
        std::normal_distribution<float> spread(7.25F, 0.07F);
        std::vector<float> values(static_cast<std::size_t>(kBlockSteps * ranks_per_node_));
        for (char const* name : {"step_time_s", "data_wait_s", "forward_s", "backward_s",
                                 "exposed_comm_s", "optimizer_s", "other_s", "arrival_s"}) {
            for (float& each : values) each = spread(random_);
            matrix.figures[name].value =
                encode_matrix(values, static_cast<std::size_t>(ranks_per_node_));
        }
        return matrix;
    }

    /// As it comes off the wire. What the agent spends on making it is not counted.
    template <class Message>
    void say(int node, Message message) {
        std::string const frame = encode_message(FromAgent(std::move(message)));
        double const begin = cpu_seconds();
        auto heard = decode_message<FromAgent>(frame);
        if (heard.has_value()) take(core_.handle(now(), AgentSaid{node, std::move(*heard)}));
        spent_s_ += cpu_seconds() - begin;
    }

    void feed(ControllerInput const& input) {
        double const begin = cpu_seconds();
        take(core_.handle(now(), input));
        spent_s_ += cpu_seconds() - begin;
    }

    void take(ControllerActions actions) {
        for (auto const& action : actions) {
            if (auto const* append = std::get_if<AppendRecord>(&action)) {
                ++records_;
                bytes_out_ +=
                    static_cast<std::int64_t>(encode_record(append->record).value().size());
            } else if (auto const* sent = std::get_if<SendToAgent>(&action)) {
                bytes_out_ += static_cast<std::int64_t>(encode_message(sent->message).size());
                if (std::holds_alternative<ReserveStore>(sent->message)) reserved_ = true;
            }
        }
    }

    void deliver() {
        if (!std::exchange(reserved_, false)) return;
        StoreReserved answer;
        answer.attempt = 0;
        answer.host = "n0";
        answer.port = 29500;
        say(0, answer);
    }

    static constexpr int kBlockSteps = RankMatrixBuilder::kBlockSteps;
    int nodes_, ranks_per_node_;
    std::minstd_rand random_;
    ControllerCore core_;
    MonotonicTime elapsed_{};
    bool reserved_ = false;
    std::int64_t records_ = 0, bytes_out_ = 0;
    double spent_s_ = 0;
};

int run(int launch_nodes, int beat_nodes, int seconds) {
    constexpr int kRanksPerNode = 8;
    constexpr double kLaunchLimit_s = 5, kCoresLimit = 1;
    std::int64_t const before = peak_rss_bytes();
    Cluster launched(launch_nodes, kRanksPerNode);
    if (!launched.launch()) {
        fmt::print(stderr, "controller_scale: the ranks do not run\n");
        return 2;
    }
    bool const fast = launched.spent_s() <= kLaunchLimit_s;
    fmt::print("launch    {} nodes x {} ranks: {:.2f} s of one core, {} records; limit {} s: {}\n",
               launch_nodes, kRanksPerNode, launched.spent_s(), launched.records(), kLaunchLimit_s,
               fast ? "ok" : "FAILED");
    fmt::print("memory    {} more\n", format_bytes(peak_rss_bytes() - before));

    Cluster beating(beat_nodes, kRanksPerNode);
    if (!beating.launch()) return 2;
    double const begin = beating.spent_s();
    for (int step = 0; step < seconds; ++step) beating.one_second(step);
    double const cores = (beating.spent_s() - begin) / seconds;
    bool const light = cores <= kCoresLimit && beating.state() == RunState::running;
    fmt::print(
        "running   {} agents, a heartbeat and a step's figures each a second: {:.2f} of one "
        "core, {} a second out; limit {}: {}\n",
        beat_nodes, cores, format_bytes(beating.bytes_out() / seconds), kCoresLimit,
        light ? "ok" : "FAILED");
    return fast && light ? 0 : 1;
}

}  // namespace
}  // namespace osora::bench

int main(int argc, char** argv) {
    int launch_nodes = 4096, beat_nodes = 10'000, seconds = 10;
    CLI::App app("CPU time and memory of the controller of a large run");
    app.add_option("--launch-nodes", launch_nodes, "nodes of 8 ranks that start")
        ->capture_default_str();
    app.add_option("--nodes", beat_nodes, "nodes of a running run")->capture_default_str();
    app.add_option("--seconds", seconds, "of it")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    return osora::bench::run(launch_nodes, beat_nodes, seconds);
}
