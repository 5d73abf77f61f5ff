// analysis_rate: how long answers take that a person waits for. Prints seconds, the best of three;
// exit 1 over a limit.
#include "base/files/files.hpp"
#include "db/analysis/changepoint/partition.hpp"
#include "db/analysis/whatif/gunzip.hpp"
#include "db/analysis/whatif/whatif.hpp"
#include "tests/kit/recorded_tree.hpp"
#include "topology/doctor/collect.hpp"
#include "topology/doctor/rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace osora::bench {
namespace {

namespace fs = std::filesystem;

/// Whether the best of three stays within the limit.
bool measure(std::string const& name, double limit_s, std::function<void()> const& answer) {
    double best_s = std::numeric_limits<double>::infinity();
    for (int round = 0; round < 3; ++round) {
        auto const start = std::chrono::steady_clock::now();
        answer();
        std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
        best_s = std::min(best_s, took.count());
    }
    fmt::print("{}: {:.3f} s (limit {:.1f} s)\n", name, best_s, limit_s);
    return best_s <= limit_s;
}

/// The trace that is published with its answers (tests/data/stragglers).
bool measure_what_if() {
    fs::path const folder = fs::path(OSORA_SOURCE_DIR) / "tests/data/stragglers";
    auto const shape = db::whatif::read_job_shape(read_file(folder / "meta-ST.yaml").value());
    auto const csv = db::whatif::gunzip(read_file(folder / "ops-ST.csv.gz").value());
    return measure("what-if of a published trace of 32 steps", 1.0,
                   [&] { (void)db::whatif::what_if(csv.value(), shape.value()).value(); });
}

/// A series with correlated noise and no change.
bool measure_partition() {
    std::mt19937_64 random(2);
    std::normal_distribution<double> normal;
    std::vector<double> values(10'000);
    double state = 0;
    for (double& value : values) value = state = 0.5 * state + normal(random);
    return measure("change points of 10,000 values", 0.2,
                   [&] { (void)db::analysis::changepoint::partition(values, {.penalty = 30}); });
}

bool measure_doctor() {
    auto const tree = tests::RecordedTree::named("hgx_h100");
    tests::RecordedTree const all;
    for (int i = 0; i < 1024; ++i) {
        fs::create_directory_symlink(tree.root(), all.root() / fmt::format("n{}", i));
    }
    return measure("doctor over 1,024 recorded nodes", 2.0, [&] {
        (void)topology::doctor::diagnose(topology::doctor::read_evidence(all.root()).value());
    });
}

int run() {
    bool const replays = measure_what_if();
    bool const cuts = measure_partition();
    bool const diagnoses = measure_doctor();
    return replays && cuts && diagnoses ? 0 : 1;
}

}  // namespace
}  // namespace osora::bench

int main() {
    try {
        return osora::bench::run();
    } catch (std::exception const& error) {
        fmt::print(stderr, "analysis_rate: {}\n", error.what());
        return 2;
    }
}
