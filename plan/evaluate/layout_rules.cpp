// The second table of rules.
#include "plan/evaluate/layout_rules.hpp"

#include "plan/model/model_cost.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

namespace osora::plan {
namespace {

std::string nearest(std::vector<std::int64_t> const& values) {
    return fmt::format("nearest valid: {}", fmt::join(values, ", "));
}

std::int64_t blocks_of(EvaluateRow const& row) {
    return row.gpt ? row.gpt->layers : row.arch->shape.blocks();
}

// Each returns why the row breaks the rule, or nothing.
using Why = std::optional<std::string>;

Why head_width(EvaluateRow const& row) {
    if (!row.gpt || row.gpt->hidden % row.gpt->heads == 0) return {};
    return fmt::format("does not divide hidden {}; {}", row.gpt->hidden,
                       nearest(nearest_divisors(row.gpt->hidden, row.gpt->heads)));
}
Why grouped_heads(EvaluateRow const& row) {
    if (!row.gpt || row.gpt->heads % row.gpt->kv_heads == 0) return {};
    return fmt::format("does not divide {} heads; {}", row.gpt->heads,
                       nearest(nearest_divisors(row.gpt->heads, row.gpt->kv_heads)));
}
/// Ranks beyond the kv heads hold copies of them.
Why divided_kv_heads(EvaluateRow const& row) {
    if (!row.gpt) return {};
    std::int64_t const heads = row.gpt->kv_heads, tp = row.layout.tp_size;
    if (heads % tp == 0 || tp % heads == 0) return {};
    return fmt::format("neither divides {} kv_heads nor is a multiple; {}", heads,
                       nearest(nearest_divisors(heads, tp)));
}
/// Llama 3 counts embedding and logits as two layers (arXiv 2407.21783, 3.3.2): 126 on 16 stages.
Why whole_stages(EvaluateRow const& row) {
    std::int64_t const stages = row.layout.pp_size * row.layout.virtual_stages;
    std::int64_t const blocks = blocks_of(row);
    if (stages == 1 || blocks % stages == 0) return {};
    if (row.gpt && (blocks + 2) % stages == 0) return {};
    if (row.arch && row.layout.virtual_stages == 1 && stages <= blocks) return {};
    return fmt::format("does not divide {} layers; {}", blocks,
                       nearest(nearest_divisors(blocks, stages)));
}
Why interleaving(EvaluateRow const& row) {
    auto const& [layout, pp] = std::pair{row.layout, row.layout.pp_size};
    if (layout.virtual_stages == 1) return {};
    if (pp == 1) return "needs a pipeline; nearest valid: 1";
    if (layout.grad_accum_steps % pp == 0) return {};
    return fmt::format("takes grad_accum_steps in multiples of pp_size {}, not {}; {}", pp,
                       layout.grad_accum_steps,
                       nearest(nearest_multiples(pp, layout.grad_accum_steps)));
}
Why sequence_parallel(EvaluateRow const& row) {
    if (!row.layout.sequence_parallel) return {};
    if (row.layout.tp_size == 1) return "needs tp_size > 1; nearest valid: false";
    if (!row.gpt) return {};
    std::int64_t const tokens = row.gpt->seq_len / row.layout.sp_size;
    if (tokens % row.layout.tp_size == 0) return {};
    return fmt::format("needs a tp_size that divides {} tokens; {}", tokens,
                       nearest(nearest_divisors(tokens, row.layout.tp_size)));
}
Why sharded_pipeline(EvaluateRow const& row) {
    if (row.layout.zero_stage < 3 || row.layout.pp_size == 1) return {};
    return "gathers parameters once more for each micro-batch of a pipeline; nearest valid: 2";
}
Why fp8(EvaluateRow const& row) {
    if (row.layout.precision != "fp8" || row.hardware.fp8_tflops > 0) return {};
    return fmt::format("is not what {} has; nearest valid: bf16", row.hardware.name);
}
Why recomputed_blocks(EvaluateRow const& row) {
    auto const& text = row.layout.recompute;
    if (text == "none" || text == "selective" || text == "full") return {};
    std::int64_t const blocks = blocks_of(row);
    if (std::stoll(text) <= blocks) return {};
    return fmt::format("exceeds {} layers; nearest valid: {}", blocks, blocks);
}
/// Memory and time of a GPT are those of frameworks that store activations as they are.
Why stored_activations(EvaluateRow const& row) {
    if (row.arch || row.layout.activation_store == "none") return {};
    return R"(needs a model of kind "arch"; nearest valid: none)";
}

struct RowRule {
    std::string_view text;
    std::string_view key;
    std::string (*subject)(EvaluateRow const&);
    Why (*why)(EvaluateRow const&);
};

constexpr std::array kRules{
    RowRule{"hidden % heads == 0", "model.heads",
            [](EvaluateRow const& row) { return fmt::format("heads {}", row.gpt->heads); },
            head_width},
    RowRule{"heads % kv_heads == 0", "model.kv_heads",
            [](EvaluateRow const& row) { return fmt::format("kv_heads {}", row.gpt->kv_heads); },
            grouped_heads},
    RowRule{"kv_heads % tp_size == 0", "layout.tp_size",
            [](EvaluateRow const& row) { return fmt::format("tp_size {}", row.layout.tp_size); },
            divided_kv_heads},
    RowRule{"layers % (pp_size * virtual_stages) == 0", "layout.pp_size",
            [](EvaluateRow const& row) {
                return fmt::format("pp_size * virtual_stages {}",
                                   row.layout.pp_size * row.layout.virtual_stages);
            },
            whole_stages},
    RowRule{"grad_accum_steps % pp_size == 0 with virtual_stages > 1", "layout.virtual_stages",
            [](EvaluateRow const& row) {
                return fmt::format("virtual_stages {}", row.layout.virtual_stages);
            },
            interleaving},
    RowRule{"tokens % tp_size == 0 with sequence_parallel", "layout.sequence_parallel",
            [](EvaluateRow const& row) {
                return fmt::format("sequence_parallel {}", row.layout.sequence_parallel);
            },
            sequence_parallel},
    RowRule{
        "zero_stage <= 2 with pp_size > 1", "layout.zero_stage",
        [](EvaluateRow const& row) { return fmt::format("zero_stage {}", row.layout.zero_stage); },
        sharded_pipeline},
    RowRule{
        "precision of the GPU", "layout.precision",
        [](EvaluateRow const& row) { return fmt::format("precision {}", row.layout.precision); },
        fp8},
    RowRule{
        "recompute <= layers", "layout.recompute",
        [](EvaluateRow const& row) { return fmt::format("recompute {}", row.layout.recompute); },
        recomputed_blocks},
    RowRule{"activation_store == none with kind gpt", "layout.activation_store",
            [](EvaluateRow const& row) {
                return fmt::format("activation_store {}", row.layout.activation_store);
            },
            stored_activations},
};

CutLimits limits_of(EvaluateRow const& row) {
    if (row.arch) {
        SampleCost const cost = sample_cost(row.arch->shape, row.arch->bucket);
        // MMDiT attends over all tokens at once; STDiT divides those of a frame.
        bool const joint = row.arch->shape.family == ModelFamily::mmdit;
        return cut_limits(row.arch->shape, {joint ? cost.tokens() : cost.tokens_per_frame});
    }
    return {.heads = static_cast<int>(row.gpt->heads),
            .mlp_hidden = static_cast<int>(row.gpt->ffn_hidden),
            .blocks = static_cast<int>(row.gpt->layers),
            .tokens = row.gpt->seq_len};
}

}  // namespace

std::vector<LayoutViolation> row_violations(EvaluateRow const& row) {
    RowLayout const& layout = row.layout;
    // Sizes are at most 1e6, so that products of any two fit; if the world size matches, all do.
    double const ranks = static_cast<double>(layout.tp_size) * static_cast<double>(layout.pp_size) *
                         static_cast<double>(layout.sp_size) * static_cast<double>(layout.dp_size);
    std::int64_t const world = row.world_size();
    if (ranks != static_cast<double>(world)) {
        std::int64_t const others = layout.tp_size * layout.pp_size;
        std::string const fix =
            others <= world && layout.sp_size <= world && world % (others * layout.sp_size) == 0
                ? fmt::format("; nearest valid: dp_size {}", world / (others * layout.sp_size))
                : "; nearest valid: sizes that divide it";
        return {{"tp_size * pp_size * sp_size * dp_size == nodes * gpus_per_node", "layout.dp_size",
                 "the sizes",
                 fmt::format("multiply to {:.0f}, not to nodes * gpus_per_node {}{}", ranks, world,
                             fix)}};
    }
    Layout const sizes{.tp_size = static_cast<int>(layout.tp_size),
                       .pp_size = static_cast<int>(layout.pp_size),
                       .sp_size = static_cast<int>(layout.sp_size),
                       .dp_size = static_cast<int>(layout.dp_size)};
    auto broken = layout_violations(sizes, limits_of(row), static_cast<int>(world));
    for (LayoutViolation& each : broken) {
        if (each.key.starts_with("parallel.")) each.key.replace(0, 8, "layout");
    }
    for (RowRule const& rule : kRules) {
        if (auto why = rule.why(row)) {
            broken.push_back({std::string(rule.text), std::string(rule.key), rule.subject(row),
                              std::move(*why)});
        }
    }
    return broken;
}

}  // namespace osora::plan
