// drift_table: how often osora detect --nodes names a healthy node, and how often one that became
// slower: the table of docs/rfc/011-detection.md. A line for each noise and drop.
#include "tests/unit/db/analysis/synthetic_probes.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <boost/describe/enum_from_string.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace osora::bench {
namespace {

struct Options {
    tests::ProbesSpec spec;
    int after = 10, repeats = 200;
    std::uint64_t seed = 1;
    std::vector<std::string> noises{"gauss", "ar1", "t3", "spikes"};
    std::vector<double> drops{0, 0.10, 0.15, 0.30};
};

void print_cell(Options const& options, std::string const& noise, double drop) {
    auto spec = options.spec;
    boost::describe::enum_from_string(noise.c_str(), spec.noise);
    spec.drop = drop;
    spec.at = spec.probes - options.after;
    auto const start = std::chrono::steady_clock::now();
    auto const rates = tests::drift_rates(spec, options.repeats, options.seed);
    std::chrono::duration<double, std::milli> const took = std::chrono::steady_clock::now() - start;
    fmt::print("{:<7} {:>4.0f} %  false {:6.2f} %  found {:6.2f} %  {:.0f} ms a history\n", noise,
               -100 * drop, 100 * rates.with_false, 100 * rates.found,
               took.count() / options.repeats);
    std::fflush(stdout);
}

}  // namespace
}  // namespace osora::bench

int main(int argc, char** argv) {
    osora::bench::Options options;
    CLI::App app("Error rates of node drift detection in synthetic histories of probes.");
    app.add_option("--nodes", options.spec.nodes)->check(CLI::Range(4, 100'000));
    app.add_option("--probes", options.spec.probes)->check(CLI::Range(6, 1000));
    app.add_option("--cv", options.spec.variation, "standard deviation of a node's score");
    app.add_option("--after", options.after, "probes since the drop");
    app.add_option("--noise", options.noises, "gauss, ar1, t3, spikes")
        ->delimiter(',')
        ->check(CLI::IsMember({"gauss", "ar1", "t3", "spikes"}));
    app.add_option("--drop", options.drops, "0.1: one node 10 % slower; 0: none")->delimiter(',');
    app.add_option("--repeats", options.repeats, "histories a cell")->check(CLI::PositiveNumber);
    app.add_option("--seed", options.seed, "of the first history of each cell");
    CLI11_PARSE(app, argc, argv);
    for (auto const& noise : options.noises) {
        for (double const drop : options.drops) osora::bench::print_cell(options, noise, drop);
    }
    return 0;
}
