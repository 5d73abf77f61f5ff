// A flat piece of the parameters that the ranks share: its values, whole or this rank's part of
// them, and its gradient on the way to the sum over the ranks. Private to worker/parallel.
#pragma once

#include "worker/parallel/step_collectives.hpp"

#include <ATen/core/Tensor.h>

#include <optional>

namespace osora::worker {

class ShardedBucket {
public:
    struct Keeps {
        bool values = true;     // all values, always; else between gather and release
        bool gradients = true;  // memory for all gradients; else until they are reduced
        std::optional<at::ScalarType> gradient_type = {};  // none: that of the values
    };
    /// `values`: (n), n a multiple of the ranks; with a separate storage if it is not kept. All
    /// functions throw what LibTorch and the backend throw.
    ShardedBucket(StepCollectives& collectives, at::Tensor values, Keeps keeps);

    /// (n). Their storage stays the same object; it is empty while they are released.
    [[nodiscard]] at::Tensor const& values() const { return values_; }
    /// (n / ranks): this rank's part of the values.
    [[nodiscard]] at::Tensor const& own() const { return own_; }
    /// (n / ranks), fp32: of the sum over ranks and backward passes.
    [[nodiscard]] at::Tensor const& own_gradient() const { return own_gradient_; }

    /// After the first values were written: own() takes its part, the rest may be freed.
    void adopt();
    void start_gather();
    /// Waits for what start_gather() began, if it did.
    void finish_gather();
    /// Nothing where values are kept.
    void release();
    /// Whether values() are available, or being gathered.
    [[nodiscard]] bool is_gathered() const { return gathered_; }

    void begin_step() { reduced_ = false; }
    /// (n): where gradients of this pass go. Waits for the reduction of the previous pass.
    [[nodiscard]] at::Tensor const& gradients();
    void start_reduce();
    void finish_reduce();
    [[nodiscard]] bool is_reducing() const { return reducing_.has_value(); }
    /// Whether finish_reduce() would not wait.
    [[nodiscard]] bool is_reduced() const;

private:
    StepCollectives& collectives_;
    Keeps keeps_;
    at::Tensor values_, own_, gradients_, own_gradient_;
    at::TensorOptions gradient_options_;
    bool gathered_ = true;
    bool reduced_ = false;  // own_gradient_ holds a pass of this step
    std::optional<StepCollectives::Started> gathering_, reducing_;
};

}  // namespace osora::worker
