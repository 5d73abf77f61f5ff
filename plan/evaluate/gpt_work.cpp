// A GPT's block: Q, K, V, projection, two or three matrices of the MLP, attention over all s^2
// scores (as 96 B s l h^2 (1 + s/6h + V/16lh) counts them, arXiv 2104.04473), norms and dropout.
#include "plan/evaluate/work_time.hpp"

#include <algorithm>
#include <string>

namespace osora::plan {
namespace {

constexpr double kOperators = 45;  // per block forward, including views
constexpr double kGptFusedBackward = 2.5;
constexpr double kCausalShare = 0.5;  // share of the scores left by a causal mask

struct Sizes {
    double tokens, hidden, kv_width, ffn, tp, mlp_inputs;
};
Sizes sizes_of(EvaluateRow const& row) {
    GptModel const& model = *row.gpt;
    RowLayout const& layout = row.layout;
    auto const hidden = static_cast<double>(model.hidden);
    // Ranks beyond the kv heads hold copies.
    auto const kv_heads = static_cast<double>(std::max(model.kv_heads, layout.tp_size));
    return {.tokens = static_cast<double>(layout.micro_batch_size) *
                      static_cast<double>(model.seq_len) / static_cast<double>(layout.sp_size),
            .hidden = hidden,
            .kv_width = std::min(hidden, hidden / static_cast<double>(model.heads) * kv_heads),
            .ffn = static_cast<double>(model.ffn_hidden),
            .tp = static_cast<double>(layout.tp_size),
            .mlp_inputs = model.gated ? 2.0 : 1.0};
}

/// Kernels on Hopper and later skip what the mask hides (Llama 3's, MLPerf v5.1's); those of MPT's
/// FSDP in 2023 did not, which attention_efficiency includes.
bool skips_masked(EvaluateRow const& row) {
    return row.hardware.fp8_tflops > 0 && row.layout.zero_stage < 2;
}

double attention_s(EvaluateRow const& row, Sizes const& sizes) {
    CostConstants const& c = row.constants;
    Rates const rates = rates_of(row);
    auto const length = static_cast<double>(row.gpt->seq_len);
    double const flops = 4 * sizes.tokens * length * sizes.hidden / sizes.tp;
    double const scores = sizes.tokens * length * static_cast<double>(row.gpt->heads) / sizes.tp;
    double const share = skips_masked(row) ? kCausalShare : 1;
    if (fused_attention(row)) return fused_attention_s(row, share * flops, share * scores);
    double const wider = row.layout.value_bytes() / 2;
    return flops / (rates.bf16_flops * c.matmul_efficiency) +
           c.score_bytes * wider * scores / rates.memory_bytes;
}

BlockWork block_work(EvaluateRow const& row, Sizes const& sizes) {
    CostConstants const& c = row.constants;
    auto const& [tokens, hidden, kv_width, ffn, tp, mlp_inputs] = sizes;
    bool const sharded = row.layout.sequence_parallel;
    BlockWork block;
    block.matmul_s = matmul_s(row, tokens, (hidden + 2 * kv_width) / tp, hidden) +
                     matmul_s(row, tokens, hidden, hidden / tp) +
                     mlp_inputs * matmul_s(row, tokens, ffn / tp, hidden) +
                     matmul_s(row, tokens, hidden, ffn / tp);
    block.attention_s = attention_s(row, sizes);
    double const bytes = c.element_bytes_whole / (sharded ? tp : 1) + c.element_bytes / tp;
    block.element_s = row.hardware.element_share * bytes * row.layout.value_bytes() / 2 * tokens *
                      hidden / rates_of(row).memory_bytes;
    block.attention_backward = fused_attention(row) ? kGptFusedBackward : 2;
    block.operators = kOperators;
    block.tp_reduces = tp > 1 ? 2 : 0;
    block.tp_bytes = row.layout.value_bytes() * tokens * hidden;
    block.sp_trades = row.layout.sp_size > 1 ? 4 : 0;
    block.sp_bytes = block.tp_bytes / tp;
    return block;
}

void add_recompute(EvaluateRow const& row, ModelWork& work) {
    std::string const& text = row.layout.recompute;
    work.recomputes_attention = text == "selective";
    if (text == "full") work.recomputed_blocks = work.blocks;
    if (!text.empty() && text.front() >= '0' && text.front() <= '9') {
        work.recomputed_blocks = std::min(work.blocks, std::stod(text));
    }
}

}  // namespace

bool fused_attention(EvaluateRow const& row) {
    if (row.constants.fused_attention >= 0) return row.constants.fused_attention > 0.5;
    return row.layout.zero_stage >= 2 || row.hardware.fp8_tflops > 0 ||
           (row.gpt && row.gpt->seq_len > 2048);
}

ModelWork gpt_work(EvaluateRow const& row) {
    GptModel const& model = *row.gpt;
    CostConstants const& c = row.constants;
    Sizes const sizes = sizes_of(row);
    auto const vocab = static_cast<double>(model.vocab);
    Rates const rates = rates_of(row);
    ModelWork work;
    work.block = block_work(row, sizes);
    work.blocks = static_cast<double>(model.layers);
    add_recompute(row, work);
    double const wider = row.layout.value_bytes() / 2;
    work.first_s = 3 * c.element_bytes_whole * wider * sizes.tokens * sizes.hidden / sizes.tp /
                   rates.memory_bytes;
    double const logit_bytes = fused_attention(row) ? c.logit_bytes : c.unfused_logit_bytes;
    work.last_s = 3 * matmul_s(row, sizes.tokens, vocab / sizes.tp, sizes.hidden) +
                  logit_bytes * wider * sizes.tokens * vocab / sizes.tp / rates.memory_bytes;
    work.last_reduces = sizes.tp > 1 ? 1 : 0;
    work.boundary_bytes = work.block.tp_bytes / (row.layout.sequence_parallel ? sizes.tp : 1);
    double const h = sizes.hidden;
    auto const kv =
        std::min(h, h / static_cast<double>(model.heads) * static_cast<double>(model.kv_heads));
    double const mlp = (model.gated ? 3 : 2) * h * sizes.ffn;
    // Biases and norms: 13 h of 12 h^2 + 13 h (arXiv 2104.04473, equation 2); gated: only norms.
    work.block_parameters = h * (2 * h + 2 * kv) + mlp + (model.gated ? 2 : 13) * h;
    // Gated models do not share the embedding with the output, which is on the last stage.
    bool const both = model.gated && row.layout.pp_size == 1;
    work.outer_parameters = vocab * h * (both ? 2 : 1);
    if (row.layout.lora_rank > 0) {
        // (in + out) rank of Q, K, V, the projection and the matrices of the MLP.
        double const widths = (2 * h + 2 * kv) + 2 * h + (model.gated ? 3 : 2) * (h + sizes.ffn);
        train_adapters(work, work.blocks * row.layout.lora_rank * widths);
    }
    return work;
}

}  // namespace osora::plan
