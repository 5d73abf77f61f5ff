// ZeRO stage 0: gradients are copied into flat buckets as backward produces them, and each full
// bucket is all-reduced while backward continues. Every rank updates all parameters.
#pragma once

#include "worker/parallel/sharding/data_parallel.hpp"

namespace osora::worker {

class GradReducer final : public DataParallel {
public:
    /// `parameters` in forward order: buckets are filled from the last one on. Without a group, or
    /// in a group of one rank, nothing is copied and no collective runs.
    GradReducer(std::vector<at::Tensor> parameters, std::optional<Group> group,
                DataParallelOptions const& options);
    ~GradReducer() override;

    [[nodiscard]] std::vector<ParameterPiece> const& pieces() const override;
    [[nodiscard]] bool is_sharded() const override { return false; }
    void begin_step() override;
    /// Passes before the last one only accumulate.
    void begin(BackwardPass const& pass) override;
    /// After the last pass each parameter's grad is a view of its bucket; 0 if no pass reached it.
    /// With one rank it is what autograd left: a sum in fp32 where passes accumulate.
    [[nodiscard]] Result<void> finish() override;
    [[nodiscard]] Result<void> abandon() override;
    [[nodiscard]] at::Tensor norm() override;
    double publish() override { return 0; }
    [[nodiscard]] double waited_s() const override;
    [[nodiscard]] std::vector<protocol::CollectiveCost> costs(double exposed_s) const override;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace osora::worker
