// Finds which of the differing items of a good and a bad run make it slow, by trials of hybrids,
// and proves it. Pure: the caller runs the trials. The method and its figures: docs/rfc/013.
//
// Words: a hybrid has good's value of some atoms and bad's of the others ("flipped"); a level is
// what its trials agree on; the gap is bad's level minus good's; d is the gap in sigma, the spread
// of one run to the next.
#pragma once

#include "base/result.hpp"
#include "db/analysis/bisect/factor.hpp"

#include <boost/describe/enum.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace osora::db::analysis {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

struct BisectOptions {
    double min_effect = 0.03;       // gap that is worth a search, as a share of good's level
    double sigma_s = kNotMeasured;  // from history; NaN: from the trials alone
    int sigma_runs = 20;            // runs that sigma_s was estimated from
    double sigma_floor = 0.002;     // no run is more repeatable than this share of its level
    int baseline_trials = 3;        // of good and of bad, >= 2; more if the gap is doubtful
    int trials_max = 120;
    double budget_gpu_s = std::numeric_limits<double>::infinity();
    std::uint64_t seed = 1;  // for the order of trials within a block
};

enum class TrialPhase { baseline, search, sufficiency, necessity, minimality, proof };
BOOST_DESCRIBE_ENUM(TrialPhase, baseline, search, sufficiency, necessity, minimality, proof)

struct Trial {
    int seq = 1;
    TrialPhase phase = TrialPhase::baseline;
    std::vector<bool> flipped;  // by atom: true = the bad run's value
    int block = -1;             // block of the proof, from 0; -1: none
};

/// cannot_start: this hybrid does not run, and retrying is useless. aborted: it ended without a
/// value; it is retried once.
enum class TrialStatus { measured, cannot_start, aborted };
BOOST_DESCRIBE_ENUM(TrialStatus, measured, cannot_start, aborted)

struct TrialOutcome {
    TrialStatus status = TrialStatus::measured;
    double value_s = kNotMeasured;  // seconds a step, finite and > 0 when measured
    double cost_gpu_s = 0;
    std::string rung;  // kind of trial: "rehearsal", "run", ...
};

struct TrialRecord {
    Trial trial;
    TrialOutcome outcome;
    std::string decision;  // "slow half", "fast half", "repeat", "as bad", ...
};

/// undecided: stopped before an answer; the last of the reasons says why.
enum class BisectVerdict {
    proved,
    sufficient,
    necessary,
    not_reproducible,
    below_resolution,
    undecided
};
BOOST_DESCRIBE_ENUM(BisectVerdict, proved, sufficient, necessary, not_reproducible,
                    below_resolution, undecided)

/// and: only together; or: each alone is enough; additive: each has a part of the gap, or a mixture
/// of the three.
enum class Relation { none, single, both, either, additive };
BOOST_DESCRIBE_ENUM(Relation, none, single, both, either, additive)

/// With more than one atom: hybrids that would separate them do not start.
struct Culprit {
    std::vector<int> atoms;
    double share = kNotMeasured;  // of the gap; the culprits' shares add up to what is explained
};

struct Effect {
    double value_s = kNotMeasured, low_s = kNotMeasured, high_s = kNotMeasured;  // 95 % interval
};

/// Blocks of good, good + culprits, bad - culprits and bad. For a commit: pairs with the commit
/// before it; `added` and `removed` are then both its effect.
struct Proof {
    double p = kNotMeasured;  // one-sided, exact, permutations within blocks, times the number of
                              // looks
    int blocks = 0, pairs = 0, looks = 0;
    Effect added;    // good + culprits compared with good
    Effect removed;  // bad compared with bad - culprits
    bool sufficient = false, necessary = false;
};

struct BisectResult {
    BisectVerdict verdict = BisectVerdict::undecided;
    std::vector<Culprit> culprits;  // largest share first
    Relation relation = Relation::none;
    Proof proof;
    double good_s = kNotMeasured, bad_s = kNotMeasured;  // levels
    double sigma_s = kNotMeasured, d = kNotMeasured;
    double explained = 0;  // share of the gap
    double cost_gpu_s = 0;
    std::vector<TrialRecord> trials;
    std::vector<std::string> reasons;  // sentences for people, in order
};

using Measure = std::function<Result<TrialOutcome>(Trial const&)>;
using OnDecided = std::function<void(TrialRecord const&)>;

/// Asks `measure` for one trial after another, and calls `on_decided` after each. The same outcomes
/// give the same trials, so replaying a log of outcomes resumes a search. An error of `measure`
/// ends it with what is known so far. invalid_input: no atoms, or an option out of its range.
[[nodiscard]] Result<BisectResult> bisect(std::vector<FactorGroup> const& atoms,
                                          BisectOptions const& options, Measure const& measure,
                                          OnDecided const& on_decided = {});

/// The same over an ordered path of commits, oldest first: the first one comes after the good run's
/// commit, the last one is the bad run's. Only prefixes are tried. Commits that do not build or
/// start are skipped; the culprit is then such a commit together with its neighbour.
[[nodiscard]] Result<BisectResult> bisect_commits(int commits, BisectOptions const& options,
                                                  Measure const& measure,
                                                  OnDecided const& on_decided = {});

/// Number of trials of a search with one culprit when runs are repeatable (d >= 10).
[[nodiscard]] int expected_trials(std::vector<FactorGroup> const& atoms,
                                  BisectOptions const& options);
/// The same for bisect_commits().
[[nodiscard]] int expected_commit_trials(int commits, BisectOptions const& options);

}  // namespace osora::db::analysis
