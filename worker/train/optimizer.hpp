// AdamW, gradient clipping and the moving average of the weights. Everything stays on the device of
// the parameters; no call here waits for a value of a tensor.
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

/// torch.optim.AdamW(fused=True). Ignores parameters without a gradient. For parameters in bf16 or
/// fp16 (one type for all) it keeps fp32 masters: gradients become fp32, the masters are updated,
/// and their rounded values are copied back, as in ColossalAI's LowLevelZeroOptimizer.
class AdamW {
public:
    AdamW(std::vector<at::Tensor> parameters, AdamWConfig const& config);

    /// One update with learning rate `lr`. A defined `grad_scale` (0-d, fp32; clip_scale below)
    /// divides the gradients inside the update, which saves a pass over them.
    void step(double lr, at::Tensor const& grad_scale = {});

    /// The updated tensors, in fp32: the masters, or the parameters themselves.
    [[nodiscard]] std::vector<at::Tensor> const& values() const { return values_; }
    [[nodiscard]] bool has_masters() const { return has_masters_; }
    /// Rounds the masters into the parameters; nothing without masters.
    void copy_back();

    // State for checkpoints, in the order of the parameters.
    [[nodiscard]] std::vector<at::Tensor> const& exp_avg() const { return exp_avg_; }
    [[nodiscard]] std::vector<at::Tensor> const& exp_avg_sq() const { return exp_avg_sq_; }
    [[nodiscard]] std::int64_t steps() const { return steps_; }
    void set_steps(std::int64_t steps) { steps_ = steps; }
    void set_config(AdamWConfig const& config) { config_ = config; }

private:
    void update(std::size_t begin, std::size_t end, double lr, at::Tensor const& grad_scale);

    AdamWConfig config_;
    std::vector<at::Tensor> parameters_, values_, exp_avg_, exp_avg_sq_;
    bool has_masters_ = false;
    std::int64_t steps_ = 0;
};

/// The divisor for gradients that limits their norm to `max_norm`: max(1, (norm + 1e-6) /
/// max_norm), as torch.nn.utils.clip_grad_norm_.
[[nodiscard]] at::Tensor clip_scale(at::Tensor const& norm, double max_norm);

/// Exponential moving average of fp32 tensors (AdamW::values()). With decay 0 it is the tensors
/// themselves: none is kept.
class Ema {
public:
    Ema(std::vector<at::Tensor> const& parameters, double decay);
    void update();
    /// Above 0 if an average is kept.
    void set_decay(double decay) { decay_ = decay; }
    [[nodiscard]] std::vector<at::Tensor> const& values() const { return values_; }

private:
    std::vector<at::Tensor> parameters_, values_;
    double decay_;
};

}  // namespace osora::worker
