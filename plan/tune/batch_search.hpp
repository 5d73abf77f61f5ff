// The order of trials of `osora tune --batch`: first the setting that needs least memory, then the
// plan's choice, then what promises most. Each measurement corrects the forecasts of the settings
// that share its layout, its recomputing or its micro-batch. Pure; the command runs the trials.
#pragma once

#include <compare>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace osora::plan {

struct BatchPoint {
    int layout = 0;       // index of a layout
    int recompute = 0;    // index of a level; 0 keeps least and recomputes most
    int micro_batch = 1;  // samples of a rank in a pass, of the first bucket
    friend auto operator<=>(BatchPoint const&, BatchPoint const&) = default;
};
struct BatchForecast {
    double samples_per_s = 0;
    double peak_memory_gib = 0;  // of one rank
};

struct BatchSpace {
    int layouts = 1, recompute_levels = 1;
    std::vector<int> micro_batches = {1};
    BatchPoint planned = {};  // the plan's choice; may have another micro-batch
    double memory_gib = std::numeric_limits<double>::infinity();  // that one rank may use
    /// What a plan expects of a point; none: it does not fit, or is not valid.
    std::function<std::optional<BatchForecast>(BatchPoint const&)> forecast = {};
};

struct BatchTrial {
    BatchPoint point;
    BatchForecast expected;
    BatchForecast measured = {};
    std::string failure = {};  // why it was not measured
};

class BatchSearch {
public:
    /// Asks for the forecast of every point.
    BatchSearch(BatchSpace const& space, int trials_max);

    /// Points that have a forecast.
    [[nodiscard]] int candidates() const { return static_cast<int>(candidates_.size()); }
    /// The point to measure now; none: no other promises enough, or trials_max is reached.
    [[nodiscard]] std::optional<BatchPoint> next();
    /// What the trial of the last next() measured. `peak_memory_gib` NaN: not known.
    void add(BatchForecast const& measured);
    /// It did not run, for instance out of memory: points of its layout that need as much are left
    /// out.
    void add_failure(std::string why);

    [[nodiscard]] std::vector<BatchTrial> const& trials() const { return trials_; }
    /// The fastest trial; none was measured: nullptr.
    [[nodiscard]] BatchTrial const* best() const;
    /// The trial of the plan's choice; it was not measured: nullptr.
    [[nodiscard]] BatchTrial const* planned() const;

private:
    struct Candidate {
        BatchPoint point;
        BatchForecast expected;
        bool is_tried = false;
        double log_rate = 0;  // of samples_per_s: expected, corrected by what was measured
    };
    [[nodiscard]] double& covariance(std::size_t a, std::size_t b) {
        return covariance_[a * candidates_.size() + b];
    }
    [[nodiscard]] bool fits(Candidate const& candidate) const;
    [[nodiscard]] std::optional<std::size_t> index_of(BatchPoint const& point) const;
    [[nodiscard]] std::optional<std::size_t> chosen();
    void correct(std::size_t measured, double log_rate);

    BatchPoint planned_;
    double memory_gib_;
    int trials_max_;
    std::vector<Candidate> candidates_;
    std::vector<double> covariance_;        // of the errors of log_rate, candidates x candidates
    double memory_ratio_ = 1;               // the largest of measured over expected peaks
    std::optional<std::size_t> measuring_;  // what next() returned
    std::vector<BatchTrial> trials_;
};

}  // namespace osora::plan
