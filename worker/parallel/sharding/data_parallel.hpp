// Ranks that train the same model on different samples: what each of them keeps and updates, and
// how gradients and parameters travel between them. The trainer drives it, in this order:
//   begin_step, (forward, begin, backward, finish) for each micro-batch, norm, update, costs,
//   publish.
#pragma once

#include "base/result.hpp"
#include "protocol/steps/collectives.hpp"
#include "worker/parallel/rank_groups.hpp"
#include "worker/parallel/sharding/bucket_layout.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace osora::worker {

class Parameters;

/// Part of a trained parameter that this rank updates. Its gradient is values.grad().
struct ParameterPiece {
    std::size_t parameter = 0;  // index among those that are trained
    std::int64_t first = 0;     // item of the flattened parameter
    at::Tensor values;          // the parameter itself, or (n) contiguous items of it
    bool is_mine = true;        // this rank writes it to checkpoints of is_sharded() ranks
};

[[nodiscard]] inline std::vector<at::Tensor> values_of(std::vector<ParameterPiece> const& pieces) {
    std::vector<at::Tensor> values;
    for (ParameterPiece const& piece : pieces) values.push_back(piece.values);
    return values;
}

struct BackwardPass {
    /// Gradients become the sum over ranks and passes of scale * gradient: for a loss that is the
    /// sum over samples, scale = 1 / samples of all ranks.
    double scale = 1;
    bool last = true;  // of the step
    /// Several passes of the step add to the same gradients: where these add up on this rank, they
    /// do so in fp32, whatever the type of the parameters.
    bool accumulates = false;
};

struct DataParallelOptions {
    int zero_stage = 0;
    double bucket_mib = 25;
    ReduceWay way = ReduceWay::overlapped;
    /// Type in which gradients travel; none: the parameters' type. ZeRO stages sum received parts
    /// in fp32 (NCCL sums on the way, in this type); all_reduce sums in this type.
    std::optional<at::ScalarType> reduce_type = {};
    std::string label = "";  // prefix of its collectives' names: "sliced "
};

/// Trained tensors in forward order, and the unit of each.
struct TrainedSet {
    std::vector<at::Tensor> tensors;
    std::vector<std::size_t> units;
    Parameters const* source = nullptr;  // of values of those without memory; null: all have it
};

class DataParallel {
public:
    virtual ~DataParallel() = default;

    /// They stay the same tensors.
    [[nodiscard]] virtual std::vector<ParameterPiece> const& pieces() const = 0;

    /// Whether pieces are parts of the parameters.
    [[nodiscard]] virtual bool is_sharded() const = 0;

    virtual void begin_step() = 0;
    /// Throws where memory is short, with nothing begun.
    virtual void begin(BackwardPass const& pass) = 0;
    /// After the pass: after the last one the gradients of all pieces are ready. unreachable if a
    /// peer failed or the group's timeout passed; the group is unusable after that.
    [[nodiscard]] virtual Result<void> finish() = 0;
    /// Instead of finish(), for a pass that failed or was not run: peers get what they wait for,
    /// and norm() is not finite on any rank. Errors are those of finish(); out_of_memory if peers
    /// wait for more than gradients in a pass, and cannot be helped.
    [[nodiscard]] virtual Result<void> abandon() = 0;
    /// L2 norm of all gradients, over all ranks: 0-d, fp32, the same bits everywhere. Throws
    /// c10::DistError.
    [[nodiscard]] virtual at::Tensor norm() = 0;
    /// After an update of the pieces. Its collectives count for the next step. Returns its waiting
    /// time for others, s.
    virtual double publish() = 0;

    /// Time that this rank has waited for others in this step so far, s; 0 on a GPU, which waits
    /// itself.
    [[nodiscard]] virtual double waited_s() const = 0;
    /// Of this step by class, when they are done (on a GPU behind a synchronisation). `exposed_s`:
    /// what this rank waited for them.
    [[nodiscard]] virtual std::vector<protocol::CollectiveCost> costs(double exposed_s) const = 0;
};

/// zero_stage 0: all parameters on each rank, gradients all_reduced (GradReducer). 1, 2 and 3: see
/// ShardedParameters. Without groups, or in a group of one rank, no collective runs and the stage
/// has no effect. Parameters must have one type, and must outlive it. Those without memory get it,
/// in stage 3 only for this rank's part, a bucket at a time.
[[nodiscard]] std::unique_ptr<DataParallel> make_data_parallel(Parameters& parameters,
                                                               RankGroups groups,
                                                               DataParallelOptions const& options);

}  // namespace osora::worker
