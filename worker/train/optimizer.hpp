// AdamW, gradient clipping, warm-up and the moving average of the weights. Everything stays on the
// device of the parameters; no call here waits for a value of a tensor.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace osora::worker {

struct AdamWConfig {
    double lr = 1e-4;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 0.0;
};

/// torch.optim.AdamW(fused=True). Parameters without a gradient are left alone.
class AdamW {
public:
    AdamW(std::vector<at::Tensor> parameters, AdamWConfig const& config);

    /// One update with learning rate `lr`. A defined `grad_scale` (0-d, fp32; clip_scale below)
    /// divides the gradients inside the update, which saves a pass over them.
    void step(double lr, at::Tensor const& grad_scale = {});

    // State for checkpoints, in the order of the parameters.
    [[nodiscard]] std::vector<at::Tensor> const& exp_avg() const { return exp_avg_; }
    [[nodiscard]] std::vector<at::Tensor> const& exp_avg_sq() const { return exp_avg_sq_; }
    [[nodiscard]] std::int64_t steps() const { return steps_; }
    void set_steps(std::int64_t steps) { steps_ = steps; }
    [[nodiscard]] AdamWConfig const& config() const { return config_; }

private:
    AdamWConfig config_;
    std::vector<at::Tensor> parameters_, exp_avg_, exp_avg_sq_;
    std::int64_t steps_ = 0;
};

/// L2 norm over all of `tensors` together, 0-d fp32. Give it gradients, or the reducer's buckets.
[[nodiscard]] at::Tensor global_norm(std::vector<at::Tensor> const& tensors);
/// Gradients of `parameters` (those that have one).
[[nodiscard]] std::vector<at::Tensor> gradients_of(std::vector<at::Tensor> const& parameters);
/// What gradients are divided by so that their norm is at most `max_norm`:
/// max(1, (norm + 1e-6) / max_norm), as torch.nn.utils.clip_grad_norm_.
[[nodiscard]] at::Tensor clip_scale(at::Tensor const& norm, double max_norm);

/// Open-Sora's LinearWarmupLR: lr (step + 1) / (warmup_steps + 1) while step < warmup_steps.
[[nodiscard]] double warmup_lr(double lr, std::int64_t step, std::int64_t warmup_steps);

/// Exponential moving average of parameters, kept in fp32.
class Ema {
public:
    Ema(std::vector<at::Tensor> parameters, double decay);
    void update();
    [[nodiscard]] std::vector<at::Tensor> const& values() const { return values_; }

private:
    std::vector<at::Tensor> parameters_, values_;
    double decay_;
};

}  // namespace osora::worker
