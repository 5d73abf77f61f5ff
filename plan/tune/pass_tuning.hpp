// [tune] progressive: how many samples a pass takes and how many blocks backward computes again,
// tried while a run trains, for one bucket. A setting is compared with the one before it in pairs
// of a few steps each; the faster one stays. A step has the same samples whatever is tried, so
// results differ by rounding only. Pure: every rank does the same, because all of them compare the
// same figures.
#pragma once

#include "plan/tune/ab_test.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace osora::plan {

struct PassSetting {
    std::int64_t micro_batch_size = 1;   // samples of a rank in a pass
    std::int64_t recomputed_blocks = 0;  // from the first on
    friend bool operator==(PassSetting const&, PassSetting const&) = default;
};

struct PassLimits {
    std::int64_t samples = 1;       // of a rank in a step
    std::int64_t memory_bytes = 0;  // that a rank's tensors may take; 0: not known, nothing grows
    bool tunes_micro_batch = true, tunes_recompute = true;
    /// A pass that does not fit is run again with the setting before; false: it ends the run, so
    /// nothing is tried whose memory does not follow from what was measured.
    bool can_go_back = true;
    /// Several passes keep the sums of their gradients apart (in fp32), one pass does not: how much
    /// that is follows from no figure of the latter.
    bool keeps_sums = false;
};

/// Of the steps of a comparison. Ranks agree on the largest values of any of them.
struct PassFigures {
    double before_s = 0, with_s = 0;  // a step, without waiting for data
    double before_peak_bytes = 0, with_peak_bytes = 0;
    double resident_bytes = 0;  // of tensors, before the passes of a step
};

/// The end of a trial, or of the search.
struct PassChange {
    PassSetting from, to;  // equal: nothing was changed
    std::string text;      // "micro-batch 2 -> 4: saves 18.2 % of the step (...); kept"
    bool last = false;     // nothing else will be tried
};

class PassTuning {
public:
    static constexpr int kTrialsMax = 12;
    /// Steps after a change, of which the first is not counted.
    static constexpr int kSteps = 4;

    PassTuning(PassSetting const& planned, PassLimits const& limits);
    /// Found earlier: nothing is tried.
    [[nodiscard]] static PassTuning finished(PassSetting const& found);

    /// Of the bucket's next step.
    [[nodiscard]] PassSetting setting() const { return trying() ? *candidate_ : current_; }
    /// What is used if the next step does not fit.
    [[nodiscard]] PassSetting known() const { return current_; }
    /// The next step has a setting that may turn out not to fit.
    [[nodiscard]] bool trying() const { return candidate_ && with_candidate_; }
    [[nodiscard]] bool is_done() const { return done_; }

    /// A step that ran with setting(). True: a comparison is complete, and compare() is next.
    [[nodiscard]] bool add_step(double seconds, double peak_bytes, double resident_bytes);
    /// This rank's figures of the comparison.
    [[nodiscard]] PassFigures const& figures() const { return figures_; }
    /// `largest` of all ranks. None: the trial continues.
    [[nodiscard]] std::optional<PassChange> compare(PassFigures const& largest);
    /// The step did not fit on some rank, and ran with known(). `why`: what the allocator said.
    [[nodiscard]] PassChange failed(std::string const& why);
    /// Memory ran out with a setting that was in use before: nothing else is tried.
    void stop();

private:
    enum class Move { no_recompute, half_recompute, larger, smaller };
    enum class Ended { kept, slower, too_large };

    PassTuning() = default;
    [[nodiscard]] std::optional<PassSetting> after(Move move) const;
    /// Of a rank, if all of a pass grows with its samples.
    [[nodiscard]] double expected_bytes(PassSetting const& setting) const;
    [[nodiscard]] bool fits(PassSetting const& setting);
    [[nodiscard]] PassChange end_of_trial(Ended how, std::string const& why);
    [[nodiscard]] PassChange ended(PassChange change) const;
    void choose_next();
    void start_pair();
    void end_trial();

    PassSetting current_;
    PassLimits limits_;
    bool done_ = false;
    double peak_bytes_ = 0, resident_bytes_ = 0;  // with current_
    double time_ratio_ = 1;                       // of a step over one with the planned setting
    int trials_ = 0;
    std::vector<Move> moves_;             // still to be tried, in this order
    std::int64_t without_recompute_ = 1;  // samples of a pass in the next no_recompute
    std::vector<PassSetting> tried_;
    std::string not_tried_;  // "; micro-batch 8 was not tried: ..."

    // The trial.
    std::optional<PassSetting> candidate_;  // none: current_ is measured for the first time
    Move move_ = Move::larger;
    bool with_candidate_ = false, second_half_ = false;
    int settling_ = 1;             // steps of this half of a pair that are not counted
    std::vector<double> seconds_;  // of this half
    PassFigures figures_;          // of this pair
    double with_peak_bytes_ = 0;
    std::vector<AbPair> pairs_;
};

}  // namespace osora::plan
