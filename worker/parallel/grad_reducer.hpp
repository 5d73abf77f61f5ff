// Data-parallel gradient reduction: gradients are copied into flat buckets as backward produces
// them, and each full bucket is all-reduced while backward goes on. The training loop drives it:
// begin, backward, finish. A failed collective is reported by finish and ends the run's epoch.
#pragma once

#include "base/result.hpp"
#include "protocol/collectives.hpp"
#include "worker/parallel/bucket_layout.hpp"
#include "worker/parallel/process_group.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace osora::worker {

struct ReduceStats {
    double exposed_wait_s = 0;  // time finish() waited for collectives
    std::int64_t collectives = 0;
    std::int64_t bytes = 0;
};

struct ReduceOptions {
    double bucket_mib = 25;
    ReduceWay way = ReduceWay::overlapped;
};

class GradReducer {
public:
    /// `parameters` in forward order: buckets are filled from the last one on. Without a group, or
    /// in a group of one rank, nothing is copied and no collective runs.
    GradReducer(std::vector<at::Tensor> parameters, std::optional<Group> group,
                ReduceOptions const& options);
    ~GradReducer();
    GradReducer(GradReducer&&) noexcept;
    GradReducer& operator=(GradReducer&&) = delete;

    /// Before the backward pass of the last micro-batch of a step (earlier ones just accumulate).
    /// Gradients become sum over ranks of scale * gradient: for a loss that is the mean over this
    /// rank's samples, scale = local samples / samples of all ranks.
    void begin(double scale);

    /// After that backward pass: waits for the collectives; then each parameter's grad is a view
    /// of its bucket. unreachable when a peer failed or the group's timeout passed; the group is
    /// of no use after that.
    [[nodiscard]] Result<ReduceStats> finish();

    /// What the collectives of that step cost by class, when they are done (on a GPU behind a
    /// synchronisation). `exposed_s`: what this rank waited for them.
    [[nodiscard]] std::vector<protocol::CollectiveCost> costs(double exposed_s) const;

    /// The flat buckets (empty without collectives): clip norms read these few tensors instead of
    /// every gradient.
    [[nodiscard]] std::vector<at::Tensor> const& buckets() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace osora::worker
