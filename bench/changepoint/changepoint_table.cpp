// changepoint_table: how often each detector is right on series whose change points are known: the
// table of docs/rfc/011-detection.md. A line for each noise and effect, as text or JSON.
#include "protocol/json.hpp"
#include "tests/unit/db/analysis/changepoint/synthetic_series.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace osora::bench {
namespace {

struct Options {
    int count = 100, repeats = 2000, after = 0;
    double variation = 0.02, correlation = 0.5;
    std::uint64_t seed = 1;
    std::vector<std::string> methods{"robust", "otava", "mozilla"};
    std::vector<std::string> noises{"gauss", "ar1", "t3", "spikes"};
    std::vector<double> effects{0, 0.10, 0.05};
    bool json = false;
};

struct Cell {
    std::string method, noise;
    double effect = 0;
    tests::Rates rates;
    double ms_a_series = 0;
};

Cell measured(Options const& options, std::string const& method, std::string const& noise,
              double effect) {
    tests::SeriesSpec spec{.count = options.count,
                           .variation = options.variation,
                           .correlation = options.correlation,
                           .effect = effect,
                           .at = options.count / 2};
    boost::describe::enum_from_string(noise.c_str(), spec.noise);
    if (options.after > 0) spec.at = options.count - options.after;
    auto const start = std::chrono::steady_clock::now();
    auto const rates =
        tests::rates(spec, tests::detector_of(method), options.repeats, options.seed);
    std::chrono::duration<double, std::milli> const took = std::chrono::steady_clock::now() - start;
    return {method, noise, effect, rates, took.count() / options.repeats};
}

void print(Options const& options, Cell const& cell) {
    auto const& [with_false, found, in_range] = cell.rates;
    if (options.json) {
        protocol::json::object const object{{"method", cell.method},
                                            {"noise", cell.noise},
                                            {"count", options.count},
                                            {"variation", options.variation},
                                            {"effect", cell.effect},
                                            {"repeats", options.repeats},
                                            {"seed", options.seed},
                                            {"with_false", with_false},
                                            {"found", found},
                                            {"in_range", in_range},
                                            {"ms_a_series", cell.ms_a_series}};
        fmt::print("{}\n", protocol::json::serialize(object));
        return;
    }
    std::string const seen =
        cell.effect == 0 ? std::string()
                         : fmt::format("  found within 2 {:6.2f} %, [lo, hi] right {:6.2f} %",
                                       100 * found, 100 * in_range);
    fmt::print("{:<8}{:<7}{:>+5.0f} %  false {:6.2f} %{}  {:.2f} ms\n", cell.method, cell.noise,
               100 * cell.effect, 100 * with_false, seen, cell.ms_a_series);
    std::fflush(stdout);
}

}  // namespace
}  // namespace osora::bench

int main(int argc, char** argv) {
    osora::bench::Options options;
    CLI::App app("How often change-point detectors are right on synthetic series.");
    app.add_option("--n", options.count, "values of a series")->check(CLI::Range(6, 1'000'000));
    app.add_option("--cv", options.variation, "standard deviation over level");
    app.add_option("--correlation", options.correlation, "of noise ar1")
        ->check(CLI::Range(0.0, 0.99));
    app.add_option("--noise", options.noises, "gauss, ar1, t3, spikes, modes")
        ->delimiter(',')
        ->check(CLI::IsMember({"gauss", "ar1", "t3", "spikes", "modes"}));
    app.add_option("--effect", options.effects, "0.1: 10 % slower from the middle on; 0: no change")
        ->delimiter(',');
    app.add_option("--after", options.after, "values after the change; 0: half of them");
    app.add_option("--method", options.methods, "robust, otava, mozilla")
        ->delimiter(',')
        ->check(CLI::IsMember({"robust", "otava", "mozilla"}));
    app.add_option("--repeats", options.repeats, "series a cell")->check(CLI::PositiveNumber);
    app.add_option("--seed", options.seed, "of the first series of each cell");
    app.add_flag("--json", options.json, "JSON lines");
    CLI11_PARSE(app, argc, argv);
    for (auto const& method : options.methods) {
        for (auto const& noise : options.noises) {
            for (double const effect : options.effects) {
                osora::bench::print(options,
                                    osora::bench::measured(options, method, noise, effect));
            }
        }
    }
    return 0;
}
