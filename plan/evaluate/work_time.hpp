// The work of a model on one rank for one micro-batch: seconds on its GPU and processor, bytes to
// exchange, parameters. Computed by gpt_work() and arch_work(); evaluate() combines it into a step.
#pragma once

#include "plan/evaluate/rows.hpp"

namespace osora::plan {

/// One block (their mean), forward, one micro-batch, on one rank.
struct BlockWork {
    double matmul_s = 0;
    double attention_s = 0;
    double element_s = 0;           // bound by device memory
    double attention_backward = 2;  // relative to forward; fused attention recomputes its scores
    double operators = 0;           // operators that the processor issues
    double tp_reduces = 0;          // all_reduces of tp_bytes, or gather and scatter of them
    double tp_bytes = 0;
    double sp_trades = 0;  // all_to_alls of sp_bytes
    double sp_bytes = 0;
    [[nodiscard]] double forward_s() const { return matmul_s + attention_s + element_s; }
    double weight_gradients = 1;  // share of the weight products that are computed: 0 with LoRA
    /// Products for the inputs and for the weights; norms and activations read half as much again
    /// and write.
    [[nodiscard]] double backward_s() const {
        return (1 + weight_gradients) * matmul_s + attention_backward * attention_s +
               1.7 * element_s;
    }
};

struct ModelWork {
    BlockWork block;
    double blocks = 0;             // of the network
    double recomputed_blocks = 0;  // of them, whole
    bool recomputes_attention = false;
    double first_s = 0;       // embedding, forward and backward, on the first stage
    double last_s = 0;        // logits and loss, forward and backward, on the last stage
    double last_reduces = 0;  // all_reduces of tp_bytes there
    double encoder_s = 0;
    double boundary_bytes = 0;    // of a message between stages
    double block_parameters = 0;  // of one block, over all ranks
    double trained_share = 1;     // share of the parameters; with LoRA the adapters'
    double outer_parameters = 0;  // outside the blocks, the larger of the first and the last stage
};

/// Rates of the row's GPU.
struct Rates {
    double matmul_flops = 0;  // sustained, in the row's precision
    double bf16_flops = 0;    // the same for attention and encoders: bf16, or fp32 below it
    double memory_bytes = 0;  // a second
};
[[nodiscard]] Rates rates_of(EvaluateRow const& row);

/// Product of m x k by k x n.
[[nodiscard]] double matmul_s(EvaluateRow const& row, double m, double n, double k);

/// Attention as one kernel: its products, and exponentials and sums of `scores` of all heads.
[[nodiscard]] double fused_attention_s(EvaluateRow const& row, double flops, double scores);

/// The effect of LoRA on every linear layer of the blocks.
void train_adapters(ModelWork& work, double adapter_parameters);

[[nodiscard]] ModelWork gpt_work(EvaluateRow const& row);
[[nodiscard]] ModelWork arch_work(EvaluateRow const& row);

/// Whether attention is one kernel that keeps no scores: with sharded parameters and gradients
/// (FSDP and similar), on GPUs with FP8 (Hopper and later) and beyond 2048 tokens; Megatron-LM on
/// A100 wrote scores, which selective recompute was made for.
[[nodiscard]] bool fused_attention(EvaluateRow const& row);

}  // namespace osora::plan
