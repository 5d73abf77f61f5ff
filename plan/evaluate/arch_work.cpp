// A video model's blocks, from the planner's sample costs (plan/model/model_cost.hpp), and the
// encoders before it.
#include "plan/evaluate/work_time.hpp"

#include "plan/model/model_cost.hpp"
#include "plan/model/trained_parameters.hpp"

#include <algorithm>
#include <cmath>

namespace osora::plan {
namespace {

constexpr double kArchFusedBackward = 2.5;
/// T5-XXL's encoder: 24 layers of 4096, 64 heads, a gated MLP of 10240 (google/t5-v1_1-xxl).
constexpr double kTextParameters = 4.76e9;
/// FLOPs to encode a pixel: Stable Diffusion's image VAE, 1.08 TFLOP for 512 x 512; followed by the
/// temporal VAE of Open-Sora 1.2; HunyuanVideo's, whose kernels are 3 x 3 x 3.
constexpr double kImageVaeFlops = 4.1e6, kTemporalVaeFlops = 4.9e6, kVideoVaeFlops = 9.0e6;

/// Pairs of collectives per forward pass in shared linear layers.
double tp_reduces(ModelShape const& shape) {
    if (shape.family == ModelFamily::mmdit) return 2 * shape.depth + shape.single_depth;
    return (shape.family == ModelFamily::stdit2 ? 4 : 3) * shape.blocks();
}

double encoder_s(EvaluateRow const& row) {
    ArchModel const& arch = *row.arch;
    if (!arch.encoders) return 0;
    CostConstants const& c = row.constants;
    Rates const rates = rates_of(row);
    auto const samples = static_cast<double>(row.layout.micro_batch_size);
    double const text = 2 * kTextParameters * samples * arch.shape.text_tokens;
    double const pixels = samples * arch.bucket.height * arch.bucket.width * arch.bucket.num_frames;
    double const pixel_flops = arch.shape.family == ModelFamily::mmdit    ? kVideoVaeFlops
                               : arch.shape.family == ModelFamily::stdit3 ? kTemporalVaeFlops
                                                                          : kImageVaeFlops;
    return text / (rates.bf16_flops * c.text_efficiency) +
           pixels * pixel_flops / (rates.bf16_flops * c.vae_efficiency);
}

}  // namespace

ModelWork arch_work(EvaluateRow const& row) {
    ArchModel const& arch = *row.arch;
    ModelShape const& shape = arch.shape;
    RowLayout const& layout = row.layout;
    CostConstants const& c = row.constants;
    Rates const rates = rates_of(row);
    bool const joint = shape.family == ModelFamily::mmdit;
    SampleCost const cost = sample_cost(shape, arch.bucket);
    double const attention = attention_flops(shape, cost);
    auto const ranks = static_cast<double>(layout.sp_size * layout.tp_size);
    auto const samples = static_cast<double>(layout.micro_batch_size);
    double const of_sample = static_cast<double>(cost.tokens()) + (joint ? shape.text_tokens : 0);
    double const tokens = samples * of_sample / static_cast<double>(layout.sp_size);
    double const blocks = shape.blocks();
    double const share = samples / ranks / blocks;
    double const width = static_cast<double>(shape.hidden) / static_cast<double>(layout.tp_size);

    ModelWork work;
    work.blocks = blocks;
    BlockWork& block = work.block;
    double const slower =
        1 + c.matmul_edge * (1 / tokens + 1 / width) + c.matmul_depth / shape.hidden;
    block.matmul_s = (cost.forward_flops - attention) * share / rates.matmul_flops * slower;
    block.attention_s = fused_attention_s(row, head_padding(shape) * attention * share,
                                          attention * share / 4 / shape.head_dim());
    block.attention_backward = kArchFusedBackward;
    block.element_s = row.hardware.element_share * c.dit_element_bytes * layout.value_bytes() / 2 *
                      tokens * width / rates.memory_bytes;
    // operators_per_pass() counts forward and a backward of twice as many.
    block.operators = static_cast<double>(operators_per_pass(shape)) / 3 / blocks;
    block.tp_reduces = layout.tp_size > 1 ? tp_reduces(shape) / blocks : 0;
    block.tp_bytes = layout.value_bytes() * tokens * shape.hidden;
    // STDiT3 exchanges tokens for heads only in its spatial blocks.
    double const trading = shape.family == ModelFamily::stdit3 ? 0.5 : 1;
    block.sp_trades = layout.sp_size > 1 ? 4 * trading : 0;
    block.sp_bytes = layout.value_bytes() * tokens * width;

    if (layout.recompute == "selective") {
        work.recomputes_attention = true;
    } else {
        work.recomputed_blocks = blocks * recomputed_share(shape, cost, layout.recompute);
    }
    work.encoder_s = encoder_s(row);
    work.boundary_bytes = block.sp_bytes;
    BlockParameters const parameters = parameters_of_blocks(shape, {});
    work.block_parameters = static_cast<double>(parameters.all) / blocks;
    work.outer_parameters = static_cast<double>(parameter_count(shape).parameters - parameters.all);
    if (layout.lora_rank > 0) {
        train_adapters(work, static_cast<double>(adapter_parameters(shape, layout.lora_rank)));
    }
    return work;
}

}  // namespace osora::plan
