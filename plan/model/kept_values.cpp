// Counts are in units of tokens x hidden. STDiT: worker/model/block.cpp, attention.cpp; MMDiT:
// mmdit/mmdit_block.cpp. m is mlp_ratio.
#include "plan/model/kept_values.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace osora::plan {
namespace {

/// What one block keeps.
struct BlockKeeps {
    double all = 0;
    double attention = 0;   // of `all`, freed if attention is recomputed
    double floats = 0;      // also kept in fp32 below it: q and k before they are normalised
    double adapters = 0;    // kept only for gradients of weights that LoRA freezes
    double lora_ranks = 0;  // linear layers, each of which keeps lora_rank values a token
    double gradients = 0;   // at the peak of its backward pass
    double output = 0;      // more at that peak if the block was recomputed: its output waits
    /// Not kept with osora's kernels, nor any `floats`: outputs of norms, of which part is freed if
    /// attention is recomputed.
    double fused = 0, fused_attention = 0;
};

/// Both norms' inputs and outputs 4, inputs of qkv and fc1 2, qkv 3, normalised q and k 2, q and k
/// as attended 2, results of both attentions 2, what the gates multiply 2, input of the query and
/// the query 2, the MLP's hidden values before and after GELU 2 m. Gradients: of the output, of x
/// and of the MLP's hidden values.
BlockKeeps stdit3_block(ModelShape const& shape) {
    return {.all = 19 + 2 * shape.mlp_ratio,
            .attention = 14,
            .floats = 2,
            .adapters = 6,
            .lora_ranks = 6,
            .gradients = 2 + shape.mlp_ratio,
            .fused = 4,
            .fused_attention = 3};
}

/// As STDiT3 with one more attention: its norm 1, input 1, qkv 3, q and k 4, result and gate 3.
BlockKeeps stdit2_block(ModelShape const& shape) {
    BlockKeeps block = stdit3_block(shape);
    return {.all = block.all + 12,
            .attention = block.attention + 12,
            .floats = 2 * block.floats,
            .adapters = block.adapters + 4,
            .lora_ranks = block.lora_ranks + 2,
            .gradients = block.gradients,
            .fused = 2 * block.fused - 1,
            .fused_attention = 2 * block.fused_attention};
}

/// Norms 4, inputs of q, k, v and of the MLP 2, q and k 2, normalised 2, joined q, k, v 3, the
/// result 1 (and its part for each stream, which is a copy if there are several samples), what the
/// gates multiply 2, the sum between 1, the MLP's hidden values 2 m. Gradients as in STDiT.
BlockKeeps double_block(ModelShape const& shape, bool one_sample) {
    double const copies = one_sample ? 0 : 1;
    return {.all = 16 + copies + 2 * shape.mlp_ratio,
            .attention = 4 + copies,
            .floats = 1,
            .adapters = 6,
            .lora_ranks = 6,
            .gradients = 2 + shape.mlp_ratio,
            .output = 1,
            .fused = 4,
            .fused_attention = 2};
}

/// Norm 2, input 1, q, k, v and the MLP's hidden values 3 + m, normalised q and k 2, turned 2,
/// the result 1, what linear2 reads 1 + m, what the gate multiplies 1. The peak is in attention:
/// gradients of what linear2 read 1 + m, of GELU m, of q, k, v and the result 4.3, of a slice 1,
/// where 2 + m of the values are released.
BlockKeeps single_block(ModelShape const& shape) {
    return {.all = 13 + 2 * shape.mlp_ratio,
            .attention = 5,
            .floats = 1,
            .adapters = 4,
            .lora_ranks = 4,
            .gradients = 4 + shape.mlp_ratio,
            .output = 1.3,
            .fused = 3,
            .fused_attention = 2};
}

/// What ranks that share tokens keep of q, k, v and attention's result before and after they
/// exchange them, the mean over blocks: in STDiT every second block exchanges q, k, v 3 and the
/// result 1, and keeps 2 less of the normalised q and k.
double exchanged_values(ModelShape const& shape) {
    return shape.family == ModelFamily::mmdit ? 1.3 : 1;
}

/// At the peaks of a pass beyond what all blocks keep, in units of tokens x hidden.
struct AtWork {
    double floats = 0;      // more gradients below fp32: some are in fp32
    double attention = 0;   // more gradients if attention is recomputed
    double unpacked = 0;    // more in backward with an activation store
    double unreleased = 0;  // of the last block when its forward pass ends, with a store
};
/// Measured: tests/unit/worker/memory, and the trainer (bench/planner/trainer_memory.py). STDiT,
/// unpacked: the MLP's hidden values, before GELU and their gradient. Unreleased: hidden values
/// before and after GELU, x and what is added to it; MMDiT: also what linear2 reads, q, k and v.
AtWork at_work(ModelShape const& shape) {
    double const m = shape.mlp_ratio;
    if (shape.family == ModelFamily::mmdit)
        return {.floats = 2.5, .attention = 4.8, .unpacked = 5.5 + m, .unreleased = 7 + 3 * m};
    return {.floats = 2, .attention = 1, .unpacked = 2 * m - 1, .unreleased = 4 + 2 * m};
}

/// Without q and k of the attention over frames, which every second attention of STDiT is: 4 of
/// qkv and its normalised values (with kernels 2), 3 of what is attended and the result.
BlockKeeps with_one_frame(BlockKeeps block, bool fused, double attentions) {
    double const values = fused ? 5 : 7;
    block.all -= values * attentions;
    block.attention -= values * attentions;
    block.floats = std::max(0.0, block.floats - 2 * attentions);
    block.adapters -= 2 * attentions;
    return block;
}

struct Blocks {
    BlockKeeps keeps;
    std::int64_t count = 0;
};

/// What it keeps with the kernels of the query.
BlockKeeps with_kernels(BlockKeeps block, KeptQuery const& query) {
    if (!query.fused) return block;
    block.all -= block.fused;
    block.attention -= block.fused_attention;
    block.floats = 0;
    return block;
}

/// In the order of a forward pass.
std::array<Blocks, 2> blocks_of(ModelShape const& shape, KeptQuery const& query) {
    auto const stdit = [&](BlockKeeps const& block, double attentions) {
        BlockKeeps const kept = with_kernels(block, query);
        return Blocks{with_one_frame(kept, query.fused, query.one_frame ? attentions : 0),
                      shape.blocks()};
    };
    switch (shape.family) {
        case ModelFamily::stdit3:
            return {{stdit(stdit3_block(shape), 0.5), {}}};
        case ModelFamily::stdit2:
            return {{stdit(stdit2_block(shape), 1), {}}};
        case ModelFamily::mmdit:
            return {{{with_kernels(double_block(shape, query.one_sample), query), shape.depth},
                     {with_kernels(single_block(shape), query), shape.single_depth}}};
    }
    return {};
}

/// Values that a store does not keep, because they can be computed again from the rest: norms and
/// modulated values 4, GELU m, normalised q and k 2 (worker/memory/saved_kind.hpp). Kernels make
/// modulated values 2 and q and k as attended 2.
double remade_values(ModelShape const& shape, KeptQuery const& query, bool attention_recomputed) {
    if (query.fused) return shape.mlp_ratio + (attention_recomputed ? 1 : 4);
    return shape.mlp_ratio + (attention_recomputed ? 2 : 6);
}

/// Bytes in the store for a value of `bytes` bytes: bf16; codes with a scale per 128; the host.
double stored_bytes(std::string_view store, double bytes) {
    if (store == "bf16") return 2;
    if (store == "int8") return 1 + 4.0 / 128;
    return store == "offload" ? 0 : bytes;
}

/// Bytes a token of one block.
struct BlockBytes {
    double all = 0, without_attention = 0, input = 0;
};

BlockBytes bytes_of(ModelShape const& shape, BlockKeeps const& keeps, KeptQuery const& query) {
    std::string const& store = query.activations.store;
    double const hidden = shape.hidden, bytes = query.bytes_per_value;
    double const value = hidden * stored_bytes(store, bytes);
    bool const lora = query.lora_rank > 0, stores = store != "none";
    double const frozen = lora ? keeps.adapters : 0;
    double const ranks = lora ? keeps.lora_ranks * query.lora_rank / hidden : 0;
    double const floats = bytes < 4 ? keeps.floats * 4 / bytes : 0;
    // Means, deviations and the sums of exponentials of two attentions, two norms of heads.
    double const rows = 4.0 * (4 + 4 * shape.heads);
    double const short_rows = 4.0 * 4;
    auto const remade = [&](bool again) { return stores ? remade_values(shape, query, again) : 0; };
    double const rest = keeps.all - keeps.attention + ranks;
    double const copies = query.exchanges ? exchanged_values(shape) : 0;
    return {.all = (keeps.all + copies + ranks + floats - frozen - remade(false)) * value + rows,
            .without_attention = (rest - (lora ? 2 : 0) - remade(true)) * value + short_rows,
            .input = value};
}

}  // namespace

bool kernels_fit(ModelShape const& shape, int bytes_per_value) {
    constexpr int kBytes = 16, kThreads = 1024, kLanes = 32;
    int const vector = kBytes / bytes_per_value;
    std::int64_t const hidden = shape.hidden, dim = hidden / shape.heads;
    return hidden % vector == 0 && hidden / vector <= kThreads && dim % vector == 0 &&
           dim / vector <= kLanes;
}

double kept_values(ModelShape const& shape, KeptQuery const& query) {
    double sum = 0;
    for (Blocks const& each : blocks_of(shape, query)) {
        double const lora = query.lora_rank > 0 ? each.keeps.adapters : 0;
        sum += static_cast<double>(each.count) * (each.keeps.all - lora);
    }
    return sum / shape.blocks();
}

KeptBytes kept_bytes(ModelShape const& shape, KeptQuery const& query) {
    RecomputeChoice const recompute = checked_recompute(query.activations.recompute);
    KeptQuery plain = query;
    plain.activations.store = "none";
    double const value = static_cast<double>(shape.hidden) * query.bytes_per_value;
    AtWork const work = at_work(shape);
    bool const stores = query.activations.store != "none";
    bool const apart = query.bytes_per_value < 4 && !query.fused;
    double const floats = apart ? work.floats : 0;
    double const unpacked = stores ? work.unpacked : 0;
    // The final layer: its input, its norm (not with kernels) and that modulated.
    double const ends = (query.fused ? 2 : 3) * value;
    // A first block that nothing trained precedes keeps no values for its norm's gradient.
    double const first = query.lora_rank > 0 && shape.family != ModelFamily::mmdit ? value : 0;
    double peak = 0, until = 0;
    auto const spans =
        query.spans.empty() ? std::vector<BlockSpan>{{0, shape.blocks()}} : query.spans;
    std::int64_t begin = 0;
    for (Blocks const& each : blocks_of(shape, query)) {
        BlockSpan const kind{begin, begin + each.count};
        begin = kind.end;
        std::int64_t count = 0, again = 0;
        for (BlockSpan const& span : spans) {
            count += span.common(kind);
            again += BlockSpan{span.begin, std::min(span.end, recompute.first_blocks)}.common(kind);
        }
        if (count == 0) continue;
        double const gradients = (each.keeps.gradients + floats) * value;
        BlockBytes const stored = bytes_of(shape, each.keeps, query);
        double const inputs = query.micro_batches * static_cast<double>(again) * stored.input;
        // The input of the block that is recomputed is one of its values.
        double const recomputed = bytes_of(shape, each.keeps, plain).all - value;
        double const waits = (each.keeps.output + (stores ? 1 : 0)) * value;
        if (again > 0) peak = std::max(peak, until + inputs + recomputed + gradients + waits);
        double const rest = query.micro_batches * static_cast<double>(count - again);
        double const kept = recompute.attention ? stored.without_attention : stored.all;
        until += inputs + rest * kept;
        double const attention = recompute.attention ? work.attention * value : 0;
        if (rest > 0) peak = std::max(peak, until + gradients + unpacked * value + attention);
    }
    double const waiting = until + ends - first;
    bool const waits_last = stores && recompute.first_blocks == 0;
    return {.waiting = waiting,
            .working = std::max(0.0, peak - first - waiting),
            .unreleased = waits_last ? work.unreleased * value - ends : 0};
}

}  // namespace osora::plan
