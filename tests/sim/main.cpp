// osora-sim: runs of a controller and its agents on virtual time, with faults, from seeds.
//   osora-sim --seeds 1000          seeds 1 to 1000; exit 1 when one breaks an invariant
//   osora-sim --seed 17 --trace     everything that happens with one seed
#include "tests/sim/simulate.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>

int main(int argc, char** argv) {
    std::uint64_t first = 1, count = 1;
    int agents = 16;
    bool trace = false, list = false;
    CLI::App app{"Simulates runs with faults on virtual time"};
    app.add_option("--seed", first, "first seed");
    app.add_option("--seeds", count, "how many");
    app.add_option("--agents", agents, "nodes of each run")->check(CLI::Range(1, 256));
    app.add_flag("--trace", trace, "print every event");
    app.add_flag("--list", list, "print one line for each seed");
    CLI11_PARSE(app, argc, argv);

    int failed = 0, faults = 0;
    double virtual_s = 0;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        auto const result = osora::sim::simulate(seed, agents, trace);
        faults += result.faults_fired;
        virtual_s += result.virtual_s;
        if (list || trace) fmt::print("seed {}: {}\n", seed, result.summary);
        if (result.violations.empty()) continue;
        ++failed;
        fmt::print("seed {} ({}): {}\n    {}\n", seed, result.summary, result.violations.front(),
                   osora::sim::replay_command(seed, agents));
    }
    fmt::print("{} seeds, {} agents, {} faults, {:.0f} s of virtual time, {} failed\n", count,
               agents, faults, virtual_s, failed);
    return failed == 0 ? 0 : 1;
}
