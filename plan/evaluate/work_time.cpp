// Rates and products.
#include "plan/evaluate/work_time.hpp"

namespace osora::plan {
namespace {
/// Share of their peak that FP8 products reach relative to BF16's: operands are scaled and cast
/// first.
constexpr double kFp8Share = 0.7;

/// FSDP on Hopper and later ran PyTorch's kernels, Megatron-LM TransformerEngine's.
bool sharded_kernels(EvaluateRow const& row) {
    return row.hardware.fp8_tflops > 0 && row.layout.zero_stage >= 2;
}
}  // namespace

Rates rates_of(EvaluateRow const& row) {
    Hardware const& gpu = row.hardware;
    std::string const& precision = row.layout.precision;
    double const share =
        gpu.sustained_share * (sharded_kernels(row) ? row.constants.fsdp_share : 1);
    double const sustained = 1e12 * share * row.constants.matmul_efficiency;
    double const wide = precision == "fp32" ? gpu.fp32_tflops : gpu.bf16_tflops;
    double const peak = precision == "fp8" ? kFp8Share * gpu.fp8_tflops : wide;
    return {.matmul_flops = sustained * peak,
            .bf16_flops = 1e12 * share * wide,
            .memory_bytes = 1e9 * gpu.memory_gbps * row.constants.memory_efficiency};
}

void train_adapters(ModelWork& work, double adapter_parameters) {
    work.block.weight_gradients = 0;
    work.trained_share =
        adapter_parameters / (work.blocks * work.block_parameters + work.outer_parameters);
}

double matmul_s(EvaluateRow const& row, double m, double n, double k) {
    CostConstants const& c = row.constants;
    Rates const rates = rates_of(row);
    double const slower = 1 + c.matmul_edge * (1 / m + 1 / n) + c.matmul_depth / k;
    double const bytes = row.layout.value_bytes() * (m * k + k * n + m * n);
    return 2 * m * n * k / rates.matmul_flops * slower + bytes / rates.memory_bytes;
}

double fused_attention_s(EvaluateRow const& row, double flops, double scores) {
    CostConstants const& c = row.constants;
    Rates const rates = rates_of(row);
    return flops / (rates.bf16_flops * c.matmul_efficiency * c.attention_efficiency) +
           c.fused_score_bytes * scores / rates.memory_bytes;
}

}  // namespace osora::plan
