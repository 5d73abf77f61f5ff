// Private to bisect/: trials in blocks of good, good + culprits, bad - culprits and bad, and what
// they prove. Drift between blocks, and drift that grows with time, cancel out.
#pragma once

#include "db/analysis/bisect/trial_runner.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace osora::db::analysis {

/// The comparison in each block: `more` should be as slow as `bad`, `less` as fast as `good`.
struct Comparison {
    Hybrid good, more, less, bad;
    /// Compares only `less` with `more`: neighbours on an ordered path.
    bool is_direct = false;
};

inline constexpr double kReuseFrom = 10;  // sigma
inline constexpr int kBlocksMax = 12;

/// Largest p that counts as proof: 0.05, and 0.01 where runs are less repeatable, which have enough
/// pairs for it.
[[nodiscard]] double proved_p(Proof const& proof);

/// Number of blocks of a proof: 3 from d = 10 on, more where runs are less repeatable.
[[nodiscard]] int blocks_needed(double d);

/// The latest baselines count in the first blocks; below kReuseFrom in at most half of them. Trials
/// of `more` and `less` from the search count only from kReuseFrom on, because there the selection
/// cannot have caused their values.
class BlockProof {
public:
    BlockProof(TrialRunner& trials, Comparison comparison, double gap_s);

    /// Runs the missing trials block by block, in an order drawn from the seed. If good or bad has
    /// changed, all blocks are run again.
    [[nodiscard]] Result<void> run();
    /// Doubles the number of blocks, up to kBlocksMax.
    void extend() { blocks_ = std::min(2 * blocks_, kBlocksMax); }
    /// Also counts trials that selected the culprits: for a preliminary look without a proof.
    void count_all() { skipped_ = {}; }

    /// Computed from complete blocks; `looks` is the number of proofs tried so far.
    [[nodiscard]] Proof evaluate(int looks) const;

private:
    enum Side : std::size_t { kGood, kMore, kLess, kBad, kSides };
    [[nodiscard]] bool is_used(std::size_t side) const;
    [[nodiscard]] std::vector<double> used(std::size_t side) const;
    [[nodiscard]] Result<void> run_blocks();
    [[nodiscard]] Result<bool> have_baselines_moved();
    [[nodiscard]] std::vector<double> differences(int blocks) const;
    [[nodiscard]] Effect effect(std::size_t slower, std::size_t faster) const;

    TrialRunner& trials_;
    std::array<Hybrid, kSides> hybrids_;
    bool is_direct_;
    double gap_s_;
    int blocks_;
    std::array<int, kSides> skipped_{};  // first samples of a side that do not count
};

}  // namespace osora::db::analysis
