// Memory of the fullest rank: states by ZeRO stage, activations by arXiv 2205.05198, logits. Video
// models use plan/memory.hpp.
#include "plan/evaluate/evaluate.hpp"

#include "base/text/units.hpp"
#include "plan/evaluate/work_time.hpp"
#include "plan/memory.hpp"

#include <algorithm>
#include <cmath>

namespace osora::plan {
namespace {

/// T5-XXL's encoder in bf16 and the VAE (docs of Open-Sora 1.2: 9.5 and 0.77 GB).
constexpr double kEncoderBytes = 10.3e9;

/// Bytes that a layer keeps of one micro-batch, if it keeps everything or only its input.
struct LayerBytes {
    double all = 0, input = 0;
};

LayerBytes layer_bytes(EvaluateRow const& row) {
    GptModel const& model = *row.gpt;
    RowLayout const& layout = row.layout;
    auto const t = static_cast<double>(layout.tp_size);
    double const wide = layout.value_bytes() / 2;
    auto const h = static_cast<double>(model.hidden), s = static_cast<double>(model.seq_len);
    double const sbh =
        static_cast<double>(layout.micro_batch_size) * s / static_cast<double>(layout.sp_size) * h;
    double const whole_share = layout.sequence_parallel ? 1 / t : 1;
    // 10 outside the shared products; 8 of attention, 4 ffn/h of the MLP, 6 when it is gated.
    double const mlp = (model.gated ? 6.0 : 4.0) * static_cast<double>(model.ffn_hidden) / h;
    double const heads = static_cast<double>(model.heads);
    bool const no_scores = layout.recompute == "selective" || fused_attention(row);
    double const scores = no_scores ? 0 : 5 * heads * s / h / t;
    return {.all = wide * sbh * (10 * whole_share + (8 + mlp) / t + scores),
            .input = wide * 2 * sbh * whole_share};
}

double recomputed_layers(EvaluateRow const& row) {
    std::string const& text = row.layout.recompute;
    auto const layers = static_cast<double>(row.gpt->layers);
    if (text == "full") return layers;
    if (text == "none" || text == "selective") return 0;
    return std::min(layers, std::stod(text));
}

double gpt_activation_bytes(EvaluateRow const& row) {
    RowLayout const& layout = row.layout;
    LayerBytes const layer = layer_bytes(row);
    auto const layers = static_cast<double>(row.gpt->layers);
    auto const p = static_cast<double>(layout.pp_size),
               v = static_cast<double>(layout.virtual_stages);
    auto const m = static_cast<double>(layout.grad_accum_steps);
    double const again = recomputed_layers(row) / layers;
    double const mean = again * layer.input + (1 - again) * layer.all;
    // 1F1B: the first stage has pp_size micro-batches in flight, more if interleaved.
    double const in_flight = std::min(p, m) * (v > 1 ? 1 + (p - 1) / (p * v) : 1);
    double const working = again > 0 ? layer.all : 0;  // the layer that is recomputed
    auto const t = static_cast<double>(layout.tp_size);
    double const tokens = static_cast<double>(layout.micro_batch_size * row.gpt->seq_len) /
                          static_cast<double>(layout.sp_size);
    // Logits and their gradient in fp32, on a rank of the last stage.
    double const logits =
        4 * tokens * (static_cast<double>(row.gpt->hidden) + static_cast<double>(row.gpt->vocab)) /
        t;
    double const first = in_flight * layers / p * mean + working;
    double const last = layers / p * mean + std::max(working, logits);
    return p > 1 ? std::max(first, last) : last;
}

/// Weights, gradients, fp32 master and moments: 18 bytes a parameter below fp32, 16 in it.
double gpt_state_bytes(EvaluateRow const& row) {
    RowLayout const& layout = row.layout;
    ModelWork const work = gpt_work(row);
    auto const pp = static_cast<double>(layout.pp_size), tp = static_cast<double>(layout.tp_size);
    double const own = (work.blocks * work.block_parameters / pp + work.outer_parameters) / tp;
    auto const shards = static_cast<double>(layout.replicas());
    bool const low = layout.precision != "fp32";
    auto const part = [&](int stage) { return layout.zero_stage >= stage ? shards : 1.0; };
    double const weights = (low ? 2 : 4) * own / part(3);
    double const trained = own * work.trained_share;
    double const gradients = 4 * trained / part(2);
    double const optimizer = (low ? 12 : 8) * trained / part(1);
    // Two layers and the embedding, gathered, with their gradients in reduction.
    double const block = work.block_parameters / tp;
    double const gathered = layout.zero_stage == 3
                                ? layout.value_bytes() * (4 * block + work.outer_parameters / tp)
                                : 0;
    return weights + gradients + optimizer + gathered;
}

double arch_bytes(EvaluateRow const& row) {
    RowLayout const& layout = row.layout;
    ArchModel const& arch = *row.arch;
    RankMemory const memory = rank_memory(
        {.shape = arch.shape,
         .bucket = arch.bucket,
         .micro_batch_size = 1,
         .dp_size = static_cast<int>(layout.dp_size),
         .sp_size = static_cast<int>(layout.sp_size),
         .tp_size = static_cast<int>(layout.tp_size),
         .pp_size = static_cast<int>(layout.pp_size),
         .gpu = true,
         .precision = layout.precision == "fp32" ? "fp32" : "bf16",
         .lora_rank = layout.lora_rank,
         .zero_stage = layout.zero_stage,
         .activations = {.recompute = layout.recompute, .store = layout.activation_store}});
    auto const in_flight = static_cast<double>(std::min(layout.pp_size, layout.grad_accum_steps)) /
                           static_cast<double>(layout.pp_size);
    double const of_sample = in_flight * static_cast<double>(memory.activation_bytes) +
                             static_cast<double>(memory.input_bytes);
    double const batch = static_cast<double>(layout.micro_batch_size) * of_sample;
    return static_cast<double>(memory.static_bytes() - memory.process_bytes) +
           std::max(batch, static_cast<double>(memory.update_bytes)) +
           (arch.encoders ? kEncoderBytes : 0);
}

}  // namespace

double layer_activation_bytes(EvaluateRow const& row) {
    LayerBytes const layer = layer_bytes(row);
    return row.layout.recompute == "full" ? layer.input : layer.all;
}

double peak_memory_gib(EvaluateRow const& row) {
    double const bytes =
        row.gpt ? gpt_state_bytes(row) + gpt_activation_bytes(row) : arch_bytes(row);
    return row.constants.memory_context_gib +
           row.constants.memory_margin * bytes / static_cast<double>(kGiB);
}

}  // namespace osora::plan
