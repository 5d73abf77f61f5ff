// Private to bisect/: asks for trials, stores their values by hybrid, and stops at the budget.
#pragma once

#include "db/analysis/bisect/noise.hpp"

#include <map>
#include <string>
#include <vector>

namespace osora::db::analysis {

using Hybrid = std::vector<bool>;  // by atom: true = the bad run's value

class TrialRunner {
public:
    TrialRunner(BisectOptions const& options, Measure const& measure, OnDecided const& on_decided)
        : options_(options), measure_(measure), on_decided_(on_decided) {}

    /// Runs one more trial. True: it has one more sample; false: the hybrid does not start. An
    /// error ends the search: the budget, or measure()'s own.
    [[nodiscard]] Result<bool> run(Hybrid const& hybrid, TrialPhase phase, int block = -1);

    /// What the last trial decided; passed to the caller at once.
    void decide(std::string decision);

    [[nodiscard]] std::vector<double> const& samples(Hybrid const& hybrid) const;
    [[nodiscard]] int count(Hybrid const& hybrid) const {
        return static_cast<int>(samples(hybrid).size());
    }
    [[nodiscard]] bool does_not_start(Hybrid const& hybrid) const;

    [[nodiscard]] Noise noise() const;
    /// The level of a hybrid with at least one sample.
    [[nodiscard]] Level level(Hybrid const& hybrid) const {
        return level_of(samples(hybrid), noise());
    }

    [[nodiscard]] BisectOptions const& options() const { return options_; }
    [[nodiscard]] std::vector<TrialRecord> const& records() const { return records_; }
    [[nodiscard]] double cost_gpu_s() const { return cost_gpu_s_; }

private:
    struct Known {
        std::vector<double> samples;
        int failures = 0;  // trials in a row without a value
        bool starts = true;
    };
    [[nodiscard]] Result<void> check_budget() const;

    BisectOptions const& options_;
    Measure const& measure_;
    OnDecided const& on_decided_;
    std::map<Hybrid, Known> known_;
    std::vector<TrialRecord> records_;
    double cost_gpu_s_ = 0, dearest_gpu_s_ = 0;
    double first_value_s_ =
        0;  // good's level, which is measured first; the floor of sigma is a share of it
};

}  // namespace osora::db::analysis
