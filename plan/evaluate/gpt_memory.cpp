// Counts tensors. With ZeRO 0 and 1 those of Megatron-LM, with 2 and 3 those of PyTorch's FSDP: in
// torchtitan if the MLP is gated (Llama), else in llm-foundry (MPT).
#include "plan/evaluate/gpt_memory.hpp"

#include "plan/evaluate/work_time.hpp"

#include <algorithm>
#include <string>

namespace osora::plan {
namespace {

/// torchtitan computes the loss of logits in fp32: logits, a copy, their log-softmax, its gradient.
constexpr double kPlainLogitBytes = 2 + 4 + 4 + 4;
/// One kernel computes the loss in place; older frameworks keep an fp32 copy.
constexpr double kFusedLogitBytes = 2, kUnfusedLogitBytes = 4;
/// Hidden states that a rank holds whole while it computes: input and output of the layer at work,
/// gathered, and their gradients.
constexpr double kWorkingBytes = 4 * 2;
/// Input and output of a stage, for each of its micro-batches.
constexpr double kBoundaryBytes = 2 * 2;
constexpr double kInputBytes = 2;

bool is_fsdp(EvaluateRow const& row) {
    return row.layout.zero_stage >= 2;
}

/// Sizes of one micro-batch on one rank.
struct RankSizes {
    double hidden, width, tokens, tp, pp;
    explicit RankSizes(EvaluateRow const& row)
        : hidden(static_cast<double>(row.gpt->hidden)),
          width(row.layout.value_bytes() / 2),
          tokens(static_cast<double>(row.layout.micro_batch_size * row.gpt->seq_len) /
                 static_cast<double>(row.layout.sp_size)),
          tp(static_cast<double>(row.layout.tp_size)),
          pp(static_cast<double>(row.layout.pp_size)) {}
    /// Bytes of `each` per token and hidden value, counted in bf16.
    [[nodiscard]] double bytes(double each) const { return each * width * tokens * hidden; }
};

/// Bytes per token and hidden value that a layer keeps.
struct LayerBytes {
    double all = 0;      // nothing is recomputed
    double input = 0;    // all of it is
    double partial = 0;  // recompute = "selective"
};

/// Outputs of Q, K, V, attention and the MLP, which tensor parallel ranks share.
double shared_bytes(EvaluateRow const& row) {
    GptModel const& model = *row.gpt;
    auto const h = static_cast<double>(model.hidden), ffn = static_cast<double>(model.ffn_hidden);
    double const kv = static_cast<double>(model.kv_heads) / static_cast<double>(model.heads);
    double const exchanged = row.layout.sp_size > 1 ? 2 : 0;  // attention's output, before and
                                                              // after ranks exchange it
    return 4 + 4 * kv + (model.gated ? 6 : 4) * ffn / h + exchanged;
}

LayerBytes layer_bytes(EvaluateRow const& row) {
    GptModel const& model = *row.gpt;
    RowLayout const& layout = row.layout;
    auto const t = static_cast<double>(layout.tp_size);
    auto const h = static_cast<double>(model.hidden), s = static_cast<double>(model.seq_len);
    double const split = layout.sequence_parallel ? t : 1;
    // Inputs and outputs of both norms; two dropout masks in Megatron-LM's GPTs.
    double const outside = (model.gated || is_fsdp(row) ? 8 : 10) / split;
    double const shared = shared_bytes(row);
    // FSDP keeps what tensor parallel ranks gathered, Megatron-LM gathers it again.
    double const gathered = is_fsdp(row) && split > 1 ? 4 - 4 / split : 0;
    double const scores = 5 * static_cast<double>(model.heads) * s / h / t;
    double const rest = outside + gathered + shared / t;
    LayerBytes found;
    found.input = kInputBytes / split;
    found.all = rest + (fused_attention(row) ? 0 : scores);
    // PyTorch's selective checkpoint recomputes every second product: K, the projection and the
    // second matrix of the MLP.
    auto const kv = static_cast<double>(model.kv_heads) / static_cast<double>(model.heads);
    auto const ffn = static_cast<double>(model.ffn_hidden);
    found.partial = is_fsdp(row) ? found.input + (6 + 2 * kv + 2 * ffn / h) / t : rest;
    return found;
}

double recomputed_share(EvaluateRow const& row) {
    std::string const& text = row.layout.recompute;
    if (text == "full") return 1;
    if (text == "none" || text == "selective") return 0;
    auto const layers = static_cast<double>(row.gpt->layers);
    return std::min(layers, std::stod(text)) / layers;
}

struct Activations {
    double layers = 0;   // kept of one micro-batch by the layers of a stage
    double working = 0;  // the layer that is recomputed
};
Activations activations_of(EvaluateRow const& row) {
    RankSizes const sizes(row);
    LayerBytes const layer = layer_bytes(row);
    bool const selective = row.layout.recompute == "selective";
    double const again = recomputed_share(row);
    double const kept = again * layer.input + (1 - again) * (selective ? layer.partial : layer.all);
    bool const works = again > 0 || (selective && is_fsdp(row));
    return {.layers = static_cast<double>(row.gpt->layers) / sizes.pp * sizes.bytes(kept),
            .working = works ? sizes.bytes(layer.all) : 0};
}

/// Micro-batches whose activations the first stage holds: 1F1B, more if interleaved.
double micro_batches_in_flight(RowLayout const& layout) {
    auto const p = static_cast<double>(layout.pp_size),
               v = static_cast<double>(layout.virtual_stages);
    double const held = std::min(p, static_cast<double>(layout.grad_accum_steps));
    return held * (v > 1 ? 1 + (p - 1) / (p * v) : 1);
}

double logit_bytes(EvaluateRow const& row) {
    if (is_fsdp(row)) return row.gpt->gated ? kPlainLogitBytes : kUnfusedLogitBytes;
    return row.hardware.fp8_tflops > 0 ? kFusedLogitBytes : kUnfusedLogitBytes;
}

/// Gradients of weights in the type of the weights, before they are added to fp32: of one layer,
/// and of the output matrix.
struct FreshGradients {
    double layer = 0, output = 0;
};
FreshGradients fresh_gradients(EvaluateRow const& row, ModelWork const& work) {
    bool const low = row.layout.precision != "fp32";
    if (is_fsdp(row) || !low || row.layout.lora_rank > 0) return {};
    auto const t = static_cast<double>(row.layout.tp_size);
    auto const output = static_cast<double>(row.gpt->vocab * row.gpt->hidden);
    return {.layer = 2 * work.block_parameters / t, .output = 2 * output / t};
}

double activation_bytes(EvaluateRow const& row, ModelWork const& work) {
    RankSizes const sizes(row);
    Activations const kept = activations_of(row);
    FreshGradients const fresh = fresh_gradients(row, work);
    double const split = row.layout.sequence_parallel ? sizes.tp : 1;
    double const boundary = sizes.pp > 1 ? sizes.bytes(kBoundaryBytes) / split : 0;
    double const logits =
        logit_bytes(row) * sizes.tokens * static_cast<double>(row.gpt->vocab) / sizes.tp;
    auto const stage = [&](double micro_batches, double last) {
        return micro_batches * (kept.layers + boundary) + sizes.bytes(kWorkingBytes) + fresh.layer +
               std::max(kept.working, last);
    };
    double const last = stage(1, logits + fresh.output);
    return sizes.pp > 1 ? std::max(stage(micro_batches_in_flight(row.layout), 0), last) : last;
}

/// Of a stage before ZeRO.
double held_parameters(EvaluateRow const& row, ModelWork const& work) {
    auto const pp = static_cast<double>(row.layout.pp_size);
    return (work.blocks * work.block_parameters / pp + work.outer_parameters) /
           static_cast<double>(row.layout.tp_size);
}

/// Two layers, the embedding and the output, gathered, and their gradients.
double gathered_bytes(EvaluateRow const& row, ModelWork const& work) {
    double const both = 2 * row.layout.value_bytes();
    return both * (2 * work.block_parameters + work.outer_parameters) /
           static_cast<double>(row.layout.tp_size);
}

double state_bytes(EvaluateRow const& row, ModelWork const& work) {
    RowLayout const& layout = row.layout;
    double const own = held_parameters(row, work), trained = own * work.trained_share;
    auto const shards = static_cast<double>(layout.replicas());
    bool const low = layout.precision != "fp32";
    double const weights = (low ? 2 : 4) * own;
    if (layout.zero_stage == 3) {
        // FSDP shards weights in fp32, which are their own master.
        double const frozen = work.trained_share < 1 ? weights : 4 * own;
        return (frozen + 12 * trained) / shards + gathered_bytes(row, work);
    }
    double const optimizer = (low ? 12 : 8) * trained;
    // A pipeline reduces gradients after its last micro-batch, and holds them whole until then.
    bool const sharded = layout.zero_stage == 2 && layout.pp_size == 1;
    return weights + 4 * trained / (sharded ? shards : 1) +
           optimizer / (layout.zero_stage >= 1 ? shards : 1);
}

}  // namespace

double layer_activation_bytes(EvaluateRow const& row) {
    LayerBytes const layer = layer_bytes(row);
    RankSizes const sizes(row);
    if (row.layout.recompute == "full") return sizes.bytes(layer.input);
    return sizes.bytes(row.layout.recompute == "selective" ? layer.partial : layer.all);
}

double gpt_memory_bytes(EvaluateRow const& row) {
    ModelWork const work = gpt_work(row);
    return state_bytes(row, work) + activation_bytes(row, work);
}

}  // namespace osora::plan
