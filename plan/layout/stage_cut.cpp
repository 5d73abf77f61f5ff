// The largest run is found by bisection: a greedy cut shows whether a limit can be kept.
#include "plan/layout/stage_cut.hpp"

#include "base/check.hpp"
#include "plan/model/model_cost.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace osora::plan {
namespace {

class Cutter {
public:
    Cutter(ModelWork const& work, std::size_t runs) : work_(work), runs_(runs) {
        sums_.push_back(0);
        for (double const each : work.blocks) sums_.push_back(sums_.back() + each);
    }

    [[nodiscard]] std::vector<std::int64_t> ends() const {
        double const limit = least_limit();
        std::vector<std::int64_t> ends;
        std::size_t begin = 0;
        for (std::size_t run = 0; run < runs_; ++run) {
            begin = next_end(begin, run, limit);
            ends.push_back(static_cast<std::int64_t>(begin));
        }
        return ends;
    }

private:
    [[nodiscard]] std::size_t blocks() const { return work_.blocks.size(); }
    /// Of the blocks [begin, end) as run `run`.
    [[nodiscard]] double of_run(std::size_t begin, std::size_t end, std::size_t run) const {
        return sums_[end] - sums_[begin] + (run == 0 ? work_.first : 0) +
               (run + 1 == runs_ ? work_.last : 0);
    }
    /// The last end of run `run` that leaves a block for each run after it.
    [[nodiscard]] std::size_t last_end(std::size_t run) const {
        return blocks() - (runs_ - 1 - run);
    }

    /// The largest run of the cut in which each run from `run` on, which starts at `begin`, is as
    /// long as `limit` allows; infinite if it exceeds the limit.
    [[nodiscard]] double greedy(std::size_t begin, std::size_t run, double limit) const {
        double largest = 0;
        for (; run < runs_; ++run) {
            std::size_t end = run + 1 == runs_ ? blocks() : begin + 1;
            while (run + 1 < runs_ && end < last_end(run) && of_run(begin, end + 1, run) <= limit)
                ++end;
            double const here = of_run(begin, end, run);
            if (here > limit) return INFINITY;
            largest = std::max(largest, here);
            begin = end;
        }
        return largest;
    }

    [[nodiscard]] double least_limit() const {
        double low = 0, high = greedy(0, 0, 2 * (work_.first + sums_.back() + work_.last));
        // Ends where no number is between: `high` is the largest run of a cut, and none is less.
        for (;;) {
            double const middle = low + (high - low) / 2;
            if (middle <= low || middle >= high) break;
            double const largest = greedy(0, 0, middle);
            (largest <= middle ? high : low) = std::min(largest, middle);
        }
        double const below = std::nextafter(high, 0.0);
        return greedy(0, 0, below) <= below ? below : high;
    }

    /// The end of run `run` nearest to an equal share of the rest; of two, the later one.
    [[nodiscard]] std::size_t next_end(std::size_t begin, std::size_t run, double limit) const {
        if (run + 1 == runs_) return blocks();
        double const rest = sums_.back() - sums_[begin] + work_.last + (run == 0 ? work_.first : 0);
        double const share = rest / static_cast<double>(runs_ - run);
        std::size_t best = begin + 1;
        double nearest = INFINITY;
        for (std::size_t end = begin + 1; end <= last_end(run); ++end) {
            double const here = of_run(begin, end, run);
            if (here > limit) break;
            double const off = std::abs(here - share);
            if (off > nearest || greedy(end, run + 1, limit) > limit) continue;
            best = end;
            nearest = off;
        }
        return best;
    }

    ModelWork const& work_;
    std::size_t runs_;
    std::vector<double> sums_;  // of the blocks before each
};

/// Turns the work of a forward pass, of which trained layers need three, into that of both.
void leave_out_frozen(PartFlops& parts, ModelShape const& shape, FrozenWeights const& frozen) {
    bool const adapters = frozen.lora_rank > 0;
    if (!adapters && frozen.freeze.empty()) return;
    std::vector<BlockParameters> const blocks = blocks_of(shape, frozen.freeze);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        double const trained = adapters ? 0
                                        : static_cast<double>(blocks[i].shared_trained) /
                                              static_cast<double>(blocks[i].shared);
        parts.blocks[i] -= (1 - trained) / kTrainingFactor * (parts.blocks[i] - parts.attention[i]);
    }
    OuterParameters const outer = outer_parameters(shape, frozen.freeze);
    // What embeds input has two passes if it is trained, else one.
    if (adapters || outer.first_trained == 0) parts.first /= 2;
    if (adapters || outer.last_trained == 0) parts.last -= parts.last / kTrainingFactor;
}

}  // namespace

ModelWork model_work(ModelShape const& shape, std::span<BucketKey const> buckets,
                     FrozenWeights const& frozen) {
    ModelWork sum;
    sum.blocks.assign(static_cast<std::size_t>(shape.blocks()), 0);
    for (BucketKey const& key : buckets) {
        PartFlops parts = part_flops(shape, key);
        leave_out_frozen(parts, shape, frozen);
        double const all =
            std::accumulate(parts.blocks.begin(), parts.blocks.end(), parts.first + parts.last);
        sum.first += parts.first / all;
        for (std::size_t i = 0; i < parts.blocks.size(); ++i)
            sum.blocks[i] += parts.blocks[i] / all;
        sum.last += parts.last / all;
    }
    if (buckets.empty()) std::ranges::fill(sum.blocks, 1.0);
    return sum;
}

std::vector<std::int64_t> run_ends(ModelWork const& work, int runs) {
    OSORA_CHECK(runs >= 1);
    auto const all = static_cast<std::size_t>(runs);
    std::size_t const blocks = work.blocks.size();
    if (all <= blocks) return Cutter(work, all).ends();
    std::vector<std::int64_t> ends;
    for (std::size_t run = 0; run < all; ++run)
        ends.push_back(static_cast<std::int64_t>(std::min(run + 1, blocks)));
    return ends;
}

std::vector<std::int64_t> ends_or(std::vector<std::int64_t> const& given, ModelShape const& shape,
                                  BucketKey const& key, int runs, FrozenWeights const& frozen) {
    return given.empty() ? run_ends(model_work(shape, {&key, 1}, frozen), runs) : given;
}

std::vector<BlockParameters> parameters_of_stages(ModelShape const& shape,
                                                  std::vector<std::string> const& freeze,
                                                  std::vector<std::int64_t> const& ends,
                                                  int stages) {
    OuterParameters const outer = outer_parameters(shape, freeze);
    std::vector<BlockParameters> const blocks = blocks_of(shape, freeze);
    std::vector<BlockParameters> all(static_cast<std::size_t>(stages));
    for (std::size_t run = 0; run < ends.size(); ++run)
        for (std::int64_t i = run == 0 ? 0 : ends[run - 1]; i < ends[run]; ++i)
            all[run % all.size()].add(blocks[static_cast<std::size_t>(i)]);
    all.front().all += outer.first;
    all.front().trained += outer.first_trained;
    all.back().all += outer.last;
    all.back().trained += outer.last_trained;
    return all;
}

std::vector<BlockSpan> spans_of_stage(std::vector<std::int64_t> const& ends, int stages,
                                      int stage) {
    std::vector<BlockSpan> spans;
    for (auto run = static_cast<std::size_t>(stage); run < ends.size();
         run += static_cast<std::size_t>(stages))
        spans.push_back({run == 0 ? 0 : ends[run - 1], ends[run]});
    return spans;
}

std::vector<double> stage_shares(ModelWork const& work, std::vector<std::int64_t> const& ends,
                                 int stages) {
    std::vector<double> shares;
    for (int stage = 0; stage < stages; ++stage) {
        shares.push_back(0);
        for (BlockSpan const& span : spans_of_stage(ends, stages, stage))
            shares.back() = std::accumulate(work.blocks.begin() + span.begin,
                                            work.blocks.begin() + span.end, shares.back());
    }
    shares.front() += work.first;
    shares.back() += work.last;
    double const all = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (double& share : shares) share /= all;
    return shares;
}

}  // namespace osora::plan
