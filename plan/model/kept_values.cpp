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
};

/// Both norms' inputs and outputs 4, inputs of qkv and fc1 2, qkv 3, normalised q and k 2, q and k
/// as attended 2, results of both attentions 2, what the gates multiply 2, input of the query and
/// the query 2, the MLP's hidden values before and after GELU 2 m.
BlockKeeps stdit3_block(ModelShape const& shape) {
    return {.all = 19 + 2 * shape.mlp_ratio,
            .attention = 14,
            .floats = 2,
            .adapters = 6,
            .lora_ranks = 6};
}

/// As STDiT3 with one more attention: its norm 1, input 1, qkv 3, q and k 4, result and gate 3.
BlockKeeps stdit2_block(ModelShape const& shape) {
    BlockKeeps block = stdit3_block(shape);
    return {.all = block.all + 12,
            .attention = block.attention + 12,
            .floats = 2 * block.floats,
            .adapters = block.adapters + 4,
            .lora_ranks = block.lora_ranks + 2};
}

/// Norms 4, inputs of q, k, v and of the MLP 2, q and k 2, normalised 2, joined q, k, v 3, the
/// result 1 (and its part for each stream, which is a copy if there are several samples: half),
/// what the gates multiply 2, the sum between 1, the MLP's hidden values 2 m.
BlockKeeps double_block(ModelShape const& shape) {
    return {.all = 16.5 + 2 * shape.mlp_ratio,
            .attention = 4.5,
            .floats = 1,
            .adapters = 6.5,
            .lora_ranks = 6};
}

/// Norm 2, input 1, q, k, v and the MLP's hidden values 3 + m, normalised q and k 2, turned 2,
/// the result 1, what linear2 reads 1 + m, what the gate multiplies 1.
BlockKeeps single_block(ModelShape const& shape) {
    return {.all = 13 + 2 * shape.mlp_ratio,
            .attention = 5,
            .floats = 1,
            .adapters = 4,
            .lora_ranks = 4};
}

/// What ranks that share tokens keep of q, k, v and attention's result before and after they
/// exchange them, the mean over blocks.
double exchanged_values(ModelShape const& shape) {
    return shape.family == ModelFamily::mmdit ? 1.3 : 3.2;
}

/// At the peak of a block's backward beyond what all blocks keep, in units of tokens x hidden.
struct AtWork {
    double gradients = 0;
    double attention = 0;  // more if attention is recomputed
    double unpacked = 0;   // more with an activation store
};
/// STDiT: gradients of x, of the MLP's result and its hidden values. MMDiT: those of the joined
/// linear layer's input with copies of its parts. Below fp32 some are in fp32. Measured:
/// tests/unit/worker/memory.
AtWork at_work(ModelShape const& shape, bool low) {
    if (shape.family == ModelFamily::mmdit)
        return {
            .gradients = 6.5 + shape.mlp_ratio + (low ? 2.5 : 0), .attention = 3, .unpacked = 13.5};
    return {.gradients = 2 + shape.mlp_ratio + (low ? 2 : 0), .attention = 2, .unpacked = 10.5};
}

/// Without q and k of the attention over frames, which every second attention of STDiT is: 4 of
/// qkv and its normalised values, 3 of what is attended and the result.
BlockKeeps with_one_frame(BlockKeeps block, double attentions) {
    block.all -= 7 * attentions;
    block.attention -= 7 * attentions;
    block.floats -= 2 * attentions;
    block.adapters -= 2 * attentions;
    return block;
}

struct Blocks {
    BlockKeeps keeps;
    std::int64_t count = 0;
};

/// In the order of a forward pass.
std::array<Blocks, 2> blocks_of(ModelShape const& shape, bool one_frame) {
    switch (shape.family) {
        case ModelFamily::stdit3:
            return {
                {{with_one_frame(stdit3_block(shape), one_frame ? 0.5 : 0), shape.blocks()}, {}}};
        case ModelFamily::stdit2:
            return {{{with_one_frame(stdit2_block(shape), one_frame ? 1 : 0), shape.blocks()}, {}}};
        case ModelFamily::mmdit:
            return {
                {{double_block(shape), shape.depth}, {single_block(shape), shape.single_depth}}};
    }
    return {};
}

/// Values that a store does not keep, because they can be computed again from the rest: norms and
/// modulated values 4, GELU m, normalised q and k 2 (worker/memory/saved_kind.hpp).
double remade_values(ModelShape const& shape, bool attention_recomputed) {
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
    auto const remade = [&](bool again) { return stores ? remade_values(shape, again) : 0; };
    double const rest = keeps.all - keeps.attention + ranks;
    double const copies = query.exchanges ? exchanged_values(shape) : 0;
    return {.all = (keeps.all + copies + ranks + floats - frozen - remade(false)) * value + rows,
            .without_attention = (rest - (lora ? 2 : 0) - remade(true)) * value + short_rows,
            .input = value};
}

}  // namespace

double kept_values(ModelShape const& shape, KeptQuery const& query) {
    double sum = 0;
    for (Blocks const& each : blocks_of(shape, query.one_frame)) {
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
    AtWork const work = at_work(shape, query.bytes_per_value < 4);
    bool const stores = query.activations.store != "none";
    double const gradients = (work.gradients + (stores ? work.unpacked : 0)) * value;
    double waiting = 3 * value;  // the final layer: its input, its norm and that modulated
    double peak = 0, until = 0;
    std::int64_t whole = recompute.first_blocks;
    for (Blocks const& each : blocks_of(shape, query.one_frame)) {
        if (each.count == 0) continue;
        BlockBytes const stored = bytes_of(shape, each.keeps, query);
        std::int64_t const again = std::clamp<std::int64_t>(whole, 0, each.count);
        whole -= again;
        double const inputs = static_cast<double>(again) * stored.input;
        // The input of the block that is recomputed is one of its values.
        double const recomputed = bytes_of(shape, each.keeps, plain).all - value;
        if (again > 0) peak = std::max(peak, until + inputs + recomputed + gradients);
        auto const rest = static_cast<double>(each.count - again);
        double const kept = recompute.attention ? stored.without_attention : stored.all;
        until += inputs + rest * kept;
        double const attention = recompute.attention ? work.attention * value : 0;
        if (rest > 0) peak = std::max(peak, until + gradients + attention);
    }
    waiting += until;
    return {.waiting = waiting, .working = std::max(0.0, peak - waiting)};
}

}  // namespace osora::plan
