// ZeRO (arXiv 1910.02054): each rank keeps and updates its part of every bucket of parameters.
// Gradients are summed to the rank that keeps them (reduce_scatter), updated parameters are
// gathered (all_gather) during the next forward pass.
#pragma once

#include "worker/model/unit_gate.hpp"
#include "worker/parallel/sharding/data_parallel.hpp"
#include "worker/parallel/sharding/shard_layout.hpp"
#include "worker/parallel/sharding/sharded_bucket.hpp"

#include <deque>
#include <optional>
#include <vector>

namespace osora::worker {

struct ShardGroups {
    Group shards;  // whose ranks share one copy
    /// Ranks with the same part of each copy (MiCS, arXiv 2205.00119; FSDP's HYBRID_SHARD): their
    /// sums are added once a step. None: there is one copy.
    std::optional<Group> copies = {};
};

/// Stage 1: the optimizer's state is divided; gradients are reduced once per step. 2: gradients
/// too: each pass is reduced, and only this rank's part of the sum is kept. 3: parameters too: a
/// unit's are gathered for its forward and again for its backward pass; units 0 and the last stay
/// in between.
class ShardedParameters final : public DataParallel, public UnitGate {
public:
    /// The tensors of `set` move into the buckets. `network`, which must outlive it, calls it at
    /// each unit; null: the caller forwards that.
    ShardedParameters(TrainedSet set, ShardGroups groups, DataParallelOptions const& options,
                      Parameters* network = nullptr);
    ~ShardedParameters() override;
    ShardedParameters(ShardedParameters const&) = delete;
    ShardedParameters& operator=(ShardedParameters const&) = delete;

    [[nodiscard]] std::vector<ParameterPiece> const& pieces() const override { return pieces_; }
    [[nodiscard]] bool is_sharded() const override { return true; }
    void begin_step() override;
    void begin(BackwardPass const& pass) override;
    [[nodiscard]] Result<void> finish() override;
    [[nodiscard]] Result<void> abandon() override;
    [[nodiscard]] at::Tensor norm() override;
    double publish() override;
    [[nodiscard]] double waited_s() const override;
    [[nodiscard]] std::vector<protocol::CollectiveCost> costs(double exposed_s) const override;

    void open(std::size_t unit) override;
    void close(std::size_t unit, std::initializer_list<at::Tensor> outputs) override;

private:
    class Hook;
    struct Slot {
        at::Tensor parameter;
        std::size_t first_bucket = 0, last_bucket = 0;
        std::int64_t offset = 0;  // in its first bucket
        bool taken = false;       // in this pass
    };

    [[nodiscard]] bool overlaps() const { return options_.way == ReduceWay::overlapped; }
    [[nodiscard]] bool is_per_parameter() const { return options_.way == ReduceWay::per_parameter; }
    void move_in(TrainedSet const& set);
    [[nodiscard]] ShardLayout layout_of(TrainedSet const& set) const;
    void add_bucket(ShardLayout::Bucket const& bucket, at::Tensor const& flat,
                    at::TensorOptions const& tensor_options);
    void note_unit(std::size_t unit, ShardLayout::Slot const& slot);
    void add_pieces(ShardLayout const& layout);
    void take(std::size_t index);
    void take_rest_of(std::size_t bucket);
    void start_full_buckets();
    void reduce(std::size_t bucket);
    void finish_oldest();
    void finish_reduce(std::size_t bucket);
    void finish_sums();
    void gather_for(std::size_t unit, bool backward);
    void enter_backward(std::size_t unit);

    struct Unit {
        std::size_t first_bucket = 0, last_bucket = 0;  // both included
        bool any = false;                               // has parameters that are trained
    };

    StepCollectives collectives_;
    std::optional<StepCollectives> between_copies_;
    bool first_copy_ = true;  // whose ranks write checkpoints
    DataParallelOptions options_;
    Parameters* network_;
    std::vector<Slot> slots_;
    std::deque<ShardedBucket> buckets_;   // in the order in which backward fills them
    std::vector<std::size_t> missing_;    // gradients of each bucket in this pass
    std::vector<std::size_t> last_unit_;  // that reads each bucket
    std::vector<Unit> units_;
    /// Buckets of neither the first nor the last unit; stage 3 keeps the others through a pass.
    std::size_t inner_first_ = 0, inner_end_ = 0;
    std::vector<ParameterPiece> pieces_;
    bool counting_ = false;    // publish() began to count the collectives of the next step
    bool active_ = false;      // between begin and finish of a pass that is reduced
    bool last_pass_ = false;   // of the step
    at::Tensor scale_;         // 0-d, what the copies multiply by
    std::size_t started_ = 0;  // buckets reduced in this pass
    std::deque<std::size_t> in_flight_;
    std::deque<StepCollectives::Started> sums_;  // between copies, on the way
};

}  // namespace osora::worker
