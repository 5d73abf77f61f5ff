// The order of the search: baselines, then a sufficient set, redundant causes, innocent members,
// and the proof; it repeats with more trials per hybrid when the proof fails.
#include "db/analysis/bisect/bisect.hpp"

#include "db/analysis/bisect/answer.hpp"
#include "db/analysis/bisect/baselines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace osora::db::analysis {
namespace {

constexpr int kAttempts = 3;
constexpr int kLooksMax = 4;

class Bisection {
public:
    Bisection(Suspects suspects, TrialRunner& trials)
        : suspects_(std::move(suspects)),
          trials_(trials),
          atoms_(suspects_.order.size()),
          good_(atoms_, false),
          bad_(atoms_, true) {}

    BisectResult run() {
        if (auto const done = search(); done.has_error()) {
            result_.verdict = BisectVerdict::undecided;
            result_.reasons.push_back("stopped: " + done.error().message);
            keep_what_is_known();
        }
        conclude(trials_, atoms_, found_, result_);
        explain();
        return std::move(result_);
    }

private:
    Result<void> search() {
        OSORA_TRY(auto const baselines, measure_baselines(trials_, atoms_));
        gap_s_ = baselines.gap_s;
        if (baselines.verdict) {
            result_.verdict = *baselines.verdict;
            result_.reasons.push_back(baselines.reason);
            return boost::system::in_place_value;
        }
        result_.verdict = BisectVerdict::below_resolution;
        for (int attempt = 0; attempt < kAttempts && looks_ < kLooksMax; ++attempt) {
            found_.clear();
            OSORA_TRY(bool const is_done, search_and_prove(attempt + 1));
            if (is_done) break;
        }
        found_ = best_;
        result_.proof = best_proof_;
        return boost::system::in_place_value;
    }

    /// True: proved, or no more can be learned.
    Result<bool> search_and_prove(int samples_min) {
        Groups before;
        do {
            before = found_;
            Search const search{trials_, gap_s_, samples_min, TrialPhase::search};
            OSORA_TRY_VOID(find_sufficient(search, suspects_, found_));
            if (found_.empty()) return false;
            OSORA_TRY_VOID(find_redundant(search, suspects_, found_));
            OSORA_TRY_VOID(drop_innocent(search, atoms_, found_));
            if (found_ == before) break;
            OSORA_TRY_VOID(prove());
            keep_best();
        } while (!is_complete(result_.proof) && looks_ < kLooksMax);
        bool const is_half_shown = trials_.does_not_start(flip(good_, best_, true)) ||
                                   trials_.does_not_start(flip(bad_, best_, false));
        return rank(best_proof_) >= (is_half_shown ? 1 : 2);
    }

    /// 3: complete; 2: the main part; 1: one half shown; 0: nothing.
    [[nodiscard]] int rank(Proof const& proof) const {
        if (is_complete(proof)) return 3;
        if (is_main_part(proof, gap_s_)) return 2;
        return (proof.sufficient || proof.necessary) && proof.p <= proved_p(proof) ? 1 : 0;
    }

    void keep_best() {
        proved_ = found_;
        if (!best_.empty() && rank(result_.proof) <= rank(best_proof_)) return;
        best_ = found_;
        best_proof_ = result_.proof;
    }

    [[nodiscard]] BlockProof proof_of_found() {
        return {
            trials_, {good_, flip(good_, found_, true), flip(bad_, found_, false), bad_}, gap_s_};
    }

    Result<void> prove() {
        auto proof = proof_of_found();
        // Repeating the same blocks would give the same answer.
        if (found_ == proved_ && result_.proof.blocks <= kShortProof) proof.extend();
        OSORA_TRY_VOID(proof.run());
        result_.proof = proof.evaluate(++looks_);
        bool const is_short = result_.proof.blocks <= kShortProof;
        bool const is_near = is_main_part(result_.proof, gap_s_);
        if (is_complete(result_.proof) || !is_short || !is_near)
            return boost::system::in_place_value;
        proof.extend();  // one odd run of three shifts a median
        OSORA_TRY_VOID(proof.run());
        result_.proof = proof.evaluate(++looks_);
        return boost::system::in_place_value;
    }

    /// After a stop: the best proof, or a preliminary one from the trials so far.
    void keep_what_is_known() {
        result_.proof = best_proof_;
        if (rank(best_proof_) > 0) found_ = best_;
        if (found_.empty() || rank(best_proof_) > 0) return;
        auto proof = proof_of_found();
        proof.count_all();
        result_.proof = proof.evaluate(std::max(1, looks_));
        result_.proof.p = kNotMeasured;
    }

    void explain() {
        if (found_.empty() && result_.verdict == BisectVerdict::below_resolution &&
            result_.reasons.empty()) {
            result_.reasons.push_back(
                "the gap is there, but no item has a part of it that can be distinguished from the "
                "spread of the runs");
        }
        for (auto const& culprit : result_.culprits) {
            if (culprit.atoms.size() < 2) continue;
            result_.reasons.push_back(
                fmt::format("{} items cannot be told apart: runs with some of them do not start",
                            culprit.atoms.size()));
        }
        if (result_.verdict == BisectVerdict::proved && !is_complete(result_.proof)) {
            result_.reasons.push_back(
                fmt::format("{:.0f} % of the gap is left, in parts that cannot be distinguished "
                            "from the spread of the runs",
                            100 * (1 - result_.explained)));
        }
    }

    static constexpr int kShortProof = 5;

    Suspects suspects_;
    TrialRunner& trials_;
    std::size_t atoms_;
    Hybrid good_, bad_;
    double gap_s_ = 0;
    Groups found_, proved_, best_;  // the current, the last proved, and the best proved set
    Proof best_proof_;
    int looks_ = 0;
    BisectResult result_;
};

Result<Suspects> suspects_of(std::vector<FactorGroup> const& atoms) {
    if (atoms.empty()) return Error{Errc::invalid_input, "no differing items: nothing to search"};
    Suspects suspects;
    for (auto const& atom : atoms) {
        if (!std::isfinite(atom.prior) || atom.prior <= 0) {
            return Error{Errc::invalid_input,
                         fmt::format("{}: prior {}: not above 0", atom.name, atom.prior)};
        }
        suspects.weights.push_back(atom.prior);
    }
    suspects.order.resize(atoms.size());
    std::iota(suspects.order.begin(), suspects.order.end(), 0);
    std::ranges::stable_sort(suspects.order, std::greater(), [&](int atom) {
        return suspects.weights[static_cast<std::size_t>(atom)];
    });
    return suspects;
}

}  // namespace

Result<BisectResult> bisect(std::vector<FactorGroup> const& atoms, BisectOptions const& options,
                            Measure const& measure, OnDecided const& on_decided) {
    OSORA_TRY_VOID(check_options(options));
    OSORA_TRY(auto suspects, suspects_of(atoms));
    TrialRunner trials(options, measure, on_decided);
    return Bisection(std::move(suspects), trials).run();
}

int expected_trials(std::vector<FactorGroup> const& atoms, BisectOptions const& options) {
    double total = 0, bits = 0;
    for (auto const& atom : atoms) total += atom.prior;
    for (auto const& atom : atoms) bits += atom.prior / total * std::log2(total / atom.prior);
    if (atoms.size() < 2) return 2 * std::max(options.baseline_trials, 5);
    return 2 * options.baseline_trials + static_cast<int>(std::ceil(bits - 1e-9)) +
           2 * blocks_needed(kReuseFrom);
}

}  // namespace osora::db::analysis
