// The order of trials of `osora tune`: compares one candidate value after another with what was
// kept so far, in interleaved pairs, until each is decided (ab_test.hpp). Pure; the command runs
// the trials.
#pragma once

#include "plan/tune/ab_test.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::plan {

/// A key of the run file ("parallel.grad_bucket_mib", "nccl.NCCL_MIN_CTAS") and values to try.
struct TuneCandidate {
    std::string key;
    std::vector<std::string> values;
    std::map<std::string, std::string> with = {};  // set together with it
    std::string reason;                            // why it may help
};

/// Settings of a trial that override those of the run file, by key.
using TuneSettings = std::map<std::string, std::string>;

struct TuneTrial {
    TuneSettings settings;
    bool with_change = false;
    std::string key, value;  // the candidate in question
};

struct TuneVerdict {
    std::string key, value;
    AbDecision decision;
    bool kept = false;
    std::string failure;  // why the trial did not run
};

class TuneSearch {
public:
    TuneSearch(std::vector<TuneCandidate> candidates, AbOptions options, int trials_max);

    /// The trial to run now; nullopt: all is decided, or trials_max is reached.
    [[nodiscard]] std::optional<TuneTrial> next() const;
    /// Reports the median step time, in seconds, of the trial that next() returned.
    void add(double step_s);
    /// Reports that the trial failed. If it was one without the change, the search ends, because
    /// all trials would fail.
    void add_failure(std::string why);

    [[nodiscard]] std::vector<TuneVerdict> const& verdicts() const { return verdicts_; }
    /// All kept settings, with those that are set together with them.
    [[nodiscard]] TuneSettings const& kept() const { return kept_; }
    [[nodiscard]] int trials() const { return trials_; }
    [[nodiscard]] std::string const& failure() const { return failure_; }

private:
    void judge(std::string failure);
    void go_on();
    [[nodiscard]] TuneSettings changed() const;

    std::vector<TuneCandidate> candidates_;
    AbOptions options_;
    int trials_max_;
    std::size_t candidate_ = 0, value_ = 0;
    std::vector<AbPair> pairs_;
    std::optional<double> half_;  // the first trial of the pair in progress
    std::vector<TuneVerdict> verdicts_;
    TuneSettings kept_;
    int trials_ = 0;
    std::string failure_;
};

}  // namespace osora::plan
