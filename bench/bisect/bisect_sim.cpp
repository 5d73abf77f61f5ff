// bisect_sim: scores the bisect engine on simulated pairs of runs: trials, exact culprit sets,
// proofs. All trials count, baselines and proof too.
#include "bench/bisect/simulated_runs.hpp"

#include "base/robust.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace osora::bench {
namespace {

namespace json = protocol::json;
using db::analysis::BisectVerdict;

constexpr int kHistoryRuns = 20;

struct Options {
    std::string cause = "single", sigma = "history";
    SimulatedPair pair;
    int repeats = 300, trials_max = 120, show = -1;
    bool as_json = false;
};

struct Tally {
    std::vector<double> trials, p;
    int exact = 0, proved = 0, wrongly_proved = 0;
    std::map<BisectVerdict, int> verdicts;
};

std::vector<int> found_by(db::analysis::BisectResult const& result) {
    std::vector<int> found;
    for (auto const& culprit : result.culprits) {
        found.insert(found.end(), culprit.atoms.begin(), culprit.atoms.end());
    }
    std::ranges::sort(found);
    return found;
}

std::string names_of(std::vector<bool> const& flipped) {
    std::string text;
    int const count = static_cast<int>(std::ranges::count(flipped, true));
    bool const is_most = 2 * count > static_cast<int>(flipped.size());
    for (std::size_t i = 0; i < flipped.size(); ++i) {
        if (flipped[i] != is_most) text += fmt::format(" {}", i);
    }
    return is_most ? "all" + (text.empty() ? "" : " but" + text) : text;
}

void show(db::analysis::BisectResult const& result, SimulatedRuns const& runs) {
    for (auto const& [trial, outcome, decision] : result.trials) {
        auto const phase = boost::describe::enum_to_string(trial.phase, "?");
        double const sigmas = (outcome.value_s - kSimulatedGoodS) / kSimulatedSigmaS;
        fmt::print("{:3} {:12} {:7.1f} sigma  {:16} {}\n", trial.seq, phase, sigmas, decision,
                   names_of(trial.flipped));
    }
    fmt::print("{}: found", boost::describe::enum_to_string(result.verdict, "?"));
    for (int const each : found_by(result)) fmt::print(" {}", each);
    fmt::print("; culprits");
    for (int const each : runs.culprits()) fmt::print(" {}", each);
    fmt::print("; p {:.4f}, added {:.2f}, removed {:.2f} of a gap of {:.2f} s\n", result.proof.p,
               result.proof.added.value_s, result.proof.removed.value_s,
               result.bad_s - result.good_s);
    for (auto const& reason : result.reasons) fmt::print("{}\n", reason);
}

void search_once(Options const& options, int repeat, Tally& tally) {
    auto pair = options.pair;
    pair.seed = options.pair.seed * 1'000'003 + static_cast<std::uint64_t>(repeat);
    SimulatedRuns runs(pair);
    db::analysis::BisectOptions search;
    search.seed = pair.seed;
    search.trials_max = options.trials_max;
    if (options.sigma == "history") {
        search.sigma_s = runs.history_sigma_s(kHistoryRuns);
        search.sigma_runs = kHistoryRuns;
    }
    auto const result =
        db::analysis::bisect(runs.atoms(), search, [&](db::analysis::Trial const& trial) {
            db::analysis::TrialOutcome outcome;
            outcome.value_s = runs.run_s(trial.flipped);
            return Result<db::analysis::TrialOutcome>(outcome);
        }).value();
    if (options.show == repeat) show(result, runs);
    bool const is_exact = found_by(result) == runs.culprits();
    bool const is_proved = result.verdict == BisectVerdict::proved;
    tally.trials.push_back(static_cast<double>(result.trials.size()));
    tally.verdicts[result.verdict] += 1;
    tally.exact += is_exact;
    tally.proved += is_exact && is_proved;
    if (!is_proved) return;
    tally.p.push_back(result.proof.p);
    auto const found = found_by(result);
    tally.wrongly_proved += !std::ranges::includes(runs.culprits(), found);
}

/// The smallest value that `share` of the values do not exceed.
double percentile(std::vector<double> values, double share) {
    std::ranges::sort(values);
    auto const rank = std::ceil(share * static_cast<double>(values.size()));
    return values[static_cast<std::size_t>(std::max(1.0, rank)) - 1];
}

json::value number(double value) {
    return std::isnan(value) ? json::value(nullptr) : json::value(value);
}

json::object report(Options const& options, Tally& tally) {
    auto const share = [&](int count) { return static_cast<double>(count) / options.repeats; };
    return {{"schema", "osora.bisect_sim/1"},
            {"cause", options.cause},
            {"factors", options.pair.factors},
            {"d", options.pair.d},
            {"outliers", options.pair.outliers},
            {"repeats", options.repeats},
            {"seed", options.pair.seed},
            {"sigma", options.sigma},
            {"mean_trials", number(mean(tally.trials))},
            {"median_trials", number(median(tally.trials))},
            {"p95_trials", number(percentile(tally.trials, 0.95))},
            {"max_trials", number(percentile(tally.trials, 1))},
            {"exact_share", share(tally.exact)},
            {"proved_share", share(tally.proved)},
            {"wrongly_proved_share", share(tally.wrongly_proved)},
            {"sufficient_share", share(tally.verdicts[BisectVerdict::sufficient])},
            {"necessary_share", share(tally.verdicts[BisectVerdict::necessary])},
            {"not_reproducible_share", share(tally.verdicts[BisectVerdict::not_reproducible])},
            {"below_resolution_share", share(tally.verdicts[BisectVerdict::below_resolution])},
            {"undecided_share", share(tally.verdicts[BisectVerdict::undecided])},
            {"mean_proof_p", number(mean(tally.p))}};
}

int run(Options options) {
    auto const cause = cause_of(options.cause);
    if (cause.has_error()) {
        fmt::print(stderr, "bisect_sim: {}\n", cause.error().message);
        return 2;
    }
    options.pair.cause = *cause;
    if (int const least = culprits_of(*cause); options.pair.factors < least) {
        fmt::print(stderr, "bisect_sim: --factors {}: {} has {} culprits\n", options.pair.factors,
                   options.cause, least);
        return 2;
    }
    Tally tally;
    for (int i = 0; i < options.repeats; ++i) search_once(options, i, tally);
    auto const figures = report(options, tally);
    if (options.show >= 0) return 0;
    if (options.as_json) {
        fmt::print("{}\n", json::serialize(figures));
        return 0;
    }
    for (auto const& [key, value] : figures) {
        fmt::print("{:24} {}\n", std::string_view(key), json::serialize(value));
    }
    return 0;
}

}  // namespace
}  // namespace osora::bench

int main(int argc, char** argv) {
    osora::bench::Options options;
    CLI::App app("Scores the bisect engine on simulated pairs of runs.", "bisect_sim");
    app.add_option("--cause", options.cause,
                   "single, and, or, additive, and3, or3, additive3, none, tiny, scattered")
        ->capture_default_str();
    app.add_option("--factors", options.pair.factors, "differing items")
        ->check(CLI::Range(1, 10000))
        ->capture_default_str();
    app.add_option("--d", options.pair.d, "gap, in sigma")
        ->check(CLI::Range(0.0, 1e6))
        ->capture_default_str();
    app.add_option("--outliers", options.pair.outliers, "share of runs 4 to 12 sigma slower")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    app.add_option("--repeats", options.repeats, "searches")
        ->check(CLI::Range(1, 10'000'000))
        ->capture_default_str();
    app.add_option("--seed", options.pair.seed, "of everything drawn")->capture_default_str();
    app.add_option("--sigma", options.sigma,
                   "what the engine knows of the spread: history (20 runs) or none")
        ->check(CLI::IsMember({"history", "none"}))
        ->capture_default_str();
    app.add_option("--trials-max", options.trials_max, "limit of one search")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--show", options.show, "print the trials of this repeat, from 0");
    app.add_flag("--json", options.as_json, "one JSON object");
    CLI11_PARSE(app, argc, argv);
    return osora::bench::run(options);
}
