// Private to bisect/: trials in blocks of good, good + culprits, bad - culprits and bad, and what
// they prove. Drift from block to block, and drift that grows with time, cancel.
#pragma once

#include "db/analysis/bisect/trial_runner.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace osora::db::analysis {

/// What each block compares: `more` should be as slow as `bad`, `less` as fast as `good`.
struct Comparison {
    Hybrid good, more, less, bad;
    /// Only `less` against `more`: neighbours on an ordered path.
    bool is_direct = false;
};

inline constexpr double kReuseFrom = 10;  // sigma
inline constexpr int kBlocksMax = 12;

/// Largest p that proves: 0.05, and 0.01 where runs repeat badly, which have the pairs for it.
[[nodiscard]] double proved_p(Proof const& proof);

/// Blocks that a proof takes: 3 from d = 10 on, more where runs repeat worse.
[[nodiscard]] int blocks_needed(double d);

/// The latest baselines count in the first blocks, in half of them at most below kReuseFrom. Trials
/// of `more` and `less` from the search count only from kReuseFrom on: there, having been picked
/// cannot have made them.
class BlockProof {
public:
    BlockProof(TrialRunner& trials, Comparison comparison, double gap_s);

    /// Runs what is missing, block after block, in an order drawn from the seed. When good or bad
    /// is no longer what it was, all blocks are run afresh.
    [[nodiscard]] Result<void> run();
    /// As many blocks again, kBlocksMax at most.
    void extend() { blocks_ = std::min(2 * blocks_, kBlocksMax); }
    /// Also trials that picked the culprits: for a look at what is not proved.
    void count_all() { skipped_ = {}; }

    /// From the blocks that are complete; `looks` is how many proofs were tried so far.
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
