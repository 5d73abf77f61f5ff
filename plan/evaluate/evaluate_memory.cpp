// Memory of the fullest rank. Video models use plan/memory.hpp.
#include "plan/evaluate/evaluate.hpp"

#include "base/text/units.hpp"
#include "plan/evaluate/gpt_memory.hpp"
#include "plan/memory.hpp"

#include <algorithm>

namespace osora::plan {
namespace {

/// T5-XXL's encoder in bf16 and the VAE (docs of Open-Sora 1.2: 9.5 and 0.77 GB).
constexpr double kEncoderBytes = 10.3e9;

double arch_bytes(EvaluateRow const& row) {
    RowLayout const& layout = row.layout;
    ArchModel const& arch = *row.arch;
    RankMemory const memory = rank_memory(
        {.shape = arch.shape,
         .bucket = arch.bucket,
         .micro_batch_size = static_cast<int>(layout.micro_batch_size),
         .dp_size = static_cast<int>(layout.dp_size),
         .sp_size = static_cast<int>(layout.sp_size),
         .tp_size = static_cast<int>(layout.tp_size),
         .pp_size = static_cast<int>(layout.pp_size),
         .virtual_stages = static_cast<int>(layout.virtual_stages),
         .gpu = true,
         .precision = layout.precision == "fp32" ? "fp32" : "bf16",
         .lora_rank = layout.lora_rank,
         .zero_stage = layout.zero_stage,
         .accumulates = layout.grad_accum_steps > 1,
         .activations = {.recompute = layout.recompute, .store = layout.activation_store}});
    auto const in_flight = static_cast<double>(std::min(layout.pp_size, layout.grad_accum_steps)) /
                           static_cast<double>(layout.pp_size);
    double const batch = in_flight * static_cast<double>(memory.activation_bytes) +
                         static_cast<double>(memory.input_bytes);
    // Gradients count beside the activations even if a step has one pass.
    std::int64_t const gradients = memory.gradients_last ? memory.gradient_bytes : 0;
    return static_cast<double>(memory.static_bytes() - memory.process_bytes + gradients) +
           std::max(batch, static_cast<double>(memory.update_bytes)) +
           (arch.encoders ? kEncoderBytes : 0);
}

}  // namespace

double peak_memory_gib(EvaluateRow const& row) {
    return (row.gpt ? gpt_memory_bytes(row) : arch_bytes(row)) / static_cast<double>(kGiB);
}

bool fits_memory(EvaluateRow const& row, double peak_gib) {
    CostConstants const& c = row.constants;
    return c.memory_context_gib + c.memory_margin * peak_gib <= row.hardware.memory_gib;
}

}  // namespace osora::plan
