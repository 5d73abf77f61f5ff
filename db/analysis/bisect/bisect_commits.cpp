// The search along a path of commits: hybrids are prefixes, so the proof of a commit compares it
// with the commit before it.
#include "db/analysis/bisect/answer.hpp"
#include "db/analysis/bisect/baselines.hpp"
#include "db/analysis/bisect/bisect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::db::analysis {
namespace {

constexpr std::size_t kCulpritsMax = 4;

/// Commits [first, last) of the path.
struct Stretch {
    int first = 0, last = 0;
};

class CommitSearch {
public:
    CommitSearch(int commits, TrialRunner& trials) : commits_(commits), trials_(trials) {}

    BisectResult run() {
        if (auto const done = search(); done.has_error()) {
            result_.verdict = BisectVerdict::undecided;
            result_.reasons.push_back("stopped: " + done.error().message);
        }
        fill_levels(trials_, static_cast<std::size_t>(commits_), result_);
        std::ranges::stable_sort(result_.culprits, std::greater(), &Culprit::share);
        for (auto const& culprit : result_.culprits) {
            if (!std::isnan(culprit.share)) result_.explained += culprit.share;
            if (culprit.atoms.size() < 2) continue;
            result_.reasons.push_back(fmt::format(
                "one of {} commits: those between do not build or start", culprit.atoms.size()));
        }
        return std::move(result_);
    }

private:
    [[nodiscard]] Hybrid prefix(int count) const {
        Hybrid hybrid(static_cast<std::size_t>(commits_), false);
        std::fill_n(hybrid.begin(), count, true);
        return hybrid;
    }

    Result<void> search() {
        OSORA_TRY(auto const baselines,
                  measure_baselines(trials_, static_cast<std::size_t>(commits_)));
        gap_s_ = baselines.gap_s;
        if (baselines.verdict) {
            result_.verdict = *baselines.verdict;
            result_.reasons.push_back(baselines.reason);
            return boost::system::in_place_value;
        }
        OSORA_TRY_VOID(find_rises());
        result_.verdict = BisectVerdict::below_resolution;
        if (found_.empty()) {
            result_.reasons.push_back(
                "the gap is there, but no commit has a part of it that can be distinguished from "
                "the spread of the runs");
            return boost::system::in_place_value;
        }
        return prove();
    }

    /// Searches the largest jump, then what remains before and after it.
    Result<void> find_rises() {
        std::vector<Stretch> open{{0, commits_}};
        while (!open.empty() && found_.size() < kCulpritsMax) {
            Stretch const stretch = open.back();
            open.pop_back();
            OSORA_TRY(auto const jump, jump_in(stretch));
            if (!jump) continue;
            Stretch const at{jump->group.front(), jump->group.back() + 1};
            found_.push_back(at);
            OSORA_TRY_VOID(open_rest(stretch, at, open));
        }
        return boost::system::in_place_value;
    }

    /// What of `stretch` is left to explain before and after the jump at `at`.
    Result<void> open_rest(Stretch const& stretch, Stretch const& at, std::vector<Stretch>& open) {
        Level const low = trials_.level(prefix(stretch.first));
        Level const high = trials_.level(prefix(stretch.last));
        for (Stretch const rest :
             {Stretch{stretch.first, at.first}, Stretch{at.last, stretch.last}}) {
            if (rest.first == rest.last) continue;
            bool const is_before = rest.first == stretch.first;
            OSORA_TRY(auto const place,
                      place_of(settings(), prefix(is_before ? at.first : at.last), low, high));
            if (place == (is_before ? Place::low : Place::high)) continue;
            OSORA_TRY(bool const is_left,
                      is_apart(settings(), prefix(rest.first), prefix(rest.last)));
            if (is_left) open.push_back(rest);
        }
        return boost::system::in_place_value;
    }

    Result<std::optional<LevelJump>> jump_in(Stretch const& stretch) {
        Path path{prefix(stretch.first), {}, {}, true};
        for (int i = stretch.first; i < stretch.last; ++i) {
            path.steps.push_back({i});
            path.weights.push_back(1);
        }
        Level const low = trials_.level(prefix(stretch.first));
        return find_jump(settings(), std::move(path), low, trials_.level(prefix(stretch.last)));
    }

    /// Proves each culprit separately; all proofs must hold.
    Result<void> prove() {
        bool holds = true;
        double p = 0;
        for (auto const& at : found_) {
            Hybrid const before = prefix(at.first), after = prefix(at.last);
            double const jump = trials_.level(after).value_s - trials_.level(before).value_s;
            BlockProof proof(trials_, {prefix(0), after, before, prefix(commits_), true}, jump);
            Culprit culprit{{}, kNotMeasured};
            for (int i = at.first; i < at.last; ++i) culprit.atoms.push_back(i);
            result_.culprits.push_back(culprit);
            OSORA_TRY_VOID(proof.run());
            auto const shown = proof.evaluate(1);
            double const effect = trials_.level(after).value_s - trials_.level(before).value_s;
            result_.culprits.back().share = effect / gap_s_;
            holds = holds && shown.p <= proved_p(shown) && effect > 0;
            if (result_.culprits.size() == 1) result_.proof = shown;
            bool const is_known = !std::isnan(p) && !std::isnan(shown.p);
            p = is_known ? std::max(p, shown.p) : kNotMeasured;
        }
        result_.proof.p = p;
        result_.relation = found_.size() > 1 ? Relation::additive : Relation::single;
        if (holds) result_.verdict = BisectVerdict::proved;
        return boost::system::in_place_value;
    }

    [[nodiscard]] Search settings() { return {trials_, gap_s_, 1, TrialPhase::search}; }

    int commits_;
    TrialRunner& trials_;
    double gap_s_ = 0;
    std::vector<Stretch> found_;
    BisectResult result_;
};

}  // namespace

Result<BisectResult> bisect_commits(int commits, BisectOptions const& options,
                                    Measure const& measure, OnDecided const& on_decided) {
    OSORA_TRY_VOID(check_options(options));
    if (commits < 1) {
        return Error{Errc::invalid_input, fmt::format("{} commits: nothing to search", commits)};
    }
    TrialRunner trials(options, measure, on_decided);
    return CommitSearch(commits, trials).run();
}

int expected_commit_trials(int commits, BisectOptions const& options) {
    // Five pairs; the last trials on either side of the jump are two of them.
    constexpr int kProofTrials = 8, kPairs = 5;
    if (commits < 2) return 2 * std::max(options.baseline_trials, kPairs);
    return 2 * options.baseline_trials + static_cast<int>(std::ceil(std::log2(commits))) +
           kProofTrials;
}

}  // namespace osora::db::analysis
