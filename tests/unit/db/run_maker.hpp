// Journals of runs that never happened, for tests: records as a controller would write them, with
// relaunches, several nodes, chunks cut anywhere, resent chunks and NaN, all from a seed.
#pragma once

#include "protocol/journal/journal.hpp"
#include "protocol/journal/run_events.hpp"

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace osora::db::test {

using Records = std::vector<protocol::JournalRecord>;

struct RunShape {
    int number = 1;
    std::string series = "tiny";
    std::string arch = "stdit3-tiny";
    int nodes = 1, ranks_per_node = 1;
    int steps = 40;
    int relaunches = 0;
    int chunk_steps_max = 8;
    bool resend = false;       // some chunks arrive twice
    bool nan = false;          // some losses are not numbers
    bool health = false;       // nodes report their health
    bool matrices = false;     // and what each rank took: the last rank is slower
    bool collectives = false;  // what collectives cost, of each node twice a launch
    bool ended = true;
};

class RunMaker {
public:
    explicit RunMaker(std::uint64_t seed) : random_(seed) {}
    [[nodiscard]] Records make(RunShape const& shape);
    [[nodiscard]] int integer(int low, int high);  // [low, high]
    [[nodiscard]] double real(double low, double high);

private:
    void add(Records& records, protocol::RunEvent event);
    void submit(Records& records, RunShape const& shape);
    void launch(Records& records, RunShape const& shape, int attempt, int start_step);
    void train(Records& records, RunShape const& shape, int attempt, int start_step, int stop_step);
    [[nodiscard]] protocol::MetricChunk chunk(RunShape const& shape, int attempt, int node,
                                              int step0, int steps);
    std::mt19937_64 random_;
    std::int64_t wall_us_ = 1'700'000'000'000'000;
};

/// Sums of two classes, one also after the first steps.
[[nodiscard]] protocol::CollectiveSums collectives_of(RunShape const& shape, int attempt, int node,
                                                      int number);
/// Twelve steps of a node's ranks, of which the last rank of all is slower.
[[nodiscard]] protocol::RankMatrix matrix_of(RunShape const& shape, int attempt, int node,
                                             int step0);
/// The same steps as a controller writes them: merged over nodes, in records that end anywhere.
[[nodiscard]] Records merged(Records const& records, RunShape const& shape, RunMaker& maker);

/// The bytes of a journal with these records.
[[nodiscard]] std::string journal_bytes(Records const& records);

/// "00000000-0000-4000-8000-NNNNNNNNNNNN"
[[nodiscard]] std::string uuid_of(int number);

/// Makes STATE/runs/NAME-NNNN with `bytes` as its journal; returns the run directory.
std::filesystem::path write_run(std::filesystem::path const& state_dir, std::string const& name,
                                std::string const& bytes);

}  // namespace osora::db::test
