// Terms of memory from parameter counts and sample costs.
#include "plan/memory.hpp"

#include "base/text/units.hpp"
#include "plan/layout/stage_cut.hpp"
#include "plan/model/model_cost.hpp"
#include "plan/model/model_description.hpp"
#include "plan/model/trained_parameters.hpp"

#include <algorithm>

namespace osora::plan {

namespace {

/// The optimizer converts gradients to fp32 in groups of about this many values
/// (worker/train/optimizer.cpp).
constexpr std::int64_t kUpdateGroup = std::int64_t{64} << 20;

/// Number of parameters of a rank: those that all ranks have (without a pipeline), those that the
/// ranks of its stage have without their shared linear layers, and its slices of those. They are
/// divided among all ranks, among those of the stage, and among a tp_size-th of these.
struct Numbers {
    std::int64_t common = 0, blocks = 0, slices = 0;
    [[nodiscard]] std::int64_t all() const { return common + blocks + slices; }
};

std::int64_t divided_up(std::int64_t value, std::int64_t parts) {
    return (value + parts - 1) / parts;
}

/// How the ranks of a query share the model.
struct Shards {
    MemoryQuery const& query;

    /// `all` parameters of the rank's stage, `shared` of these in linear layers that tensor
    /// parallel ranks share.
    [[nodiscard]] Numbers of_rank(std::int64_t all, std::int64_t shared) const {
        bool const slices = query.tp_size > 1;
        std::int64_t const whole = all - (slices ? shared : 0);
        std::int64_t const sliced = slices ? divided_up(shared, query.tp_size) : 0;
        return query.pp_size == 1 ? Numbers{whole, 0, sliced} : Numbers{0, whole, sliced};
    }
    /// Bytes of what ranks share from this stage on, with `bytes` per parameter.
    [[nodiscard]] std::int64_t part(int stage, std::int64_t bytes, Numbers const& whole) const {
        if (query.zero_stage < stage) return bytes * whole.all();
        int const all = query.shard_size > 0 ? query.shard_size : query.ranks();
        int const together = all / query.pp_size;
        return divided_up(bytes * whole.common, all) + divided_up(bytes * whole.blocks, together) +
               divided_up(bytes * whole.slices, together / query.tp_size);
    }

    /// worker/parallel/sharding/sharded_parameters: flat gradients (stage 0, 1); buckets under way
    /// (2, 3); the parameters outside the blocks and of three buckets (3). `bytes` of a weight and
    /// its gradient; `activations`: bytes when backward begins.
    [[nodiscard]] std::int64_t communication_bytes(std::int64_t bytes, Numbers const& trained,
                                                   std::int64_t activations) const {
        if (query.ranks() == 1) return 0;
        std::int64_t const travelling = query.reduce_dtype.empty()     ? bytes
                                        : query.reduce_dtype == "fp32" ? 4
                                                                       : 2;
        // Adds what gradients become that travel in less than the weights' type.
        if (query.zero_stage == 0)
            return (travelling + (travelling < bytes ? bytes : 0)) * trained.all();
        if (query.zero_stage == 1) return travelling * trained.all() + part(1, 4, trained);
        auto const& shape = query.shape;
        std::int64_t const shared = parameters_of_blocks(shape, {}).shared / shape.blocks();
        std::int64_t const whole = block_parameters(shape).parameters;
        std::int64_t const block = whole - shared + divided_up(shared, query.tp_size);
        std::int64_t bucket = query.grad_bucket_mib * kMiB;
        std::int64_t gathered = 0;
        if (query.zero_stage == 3) {
            // As many whole blocks as fill one (group_units in worker/parallel/sharding).
            bucket = divided_up(bucket, bytes * block) * bytes * block;
            std::int64_t const outer = parameter_count(shape).parameters - shape.blocks() * whole;
            gathered = bytes * std::max<std::int64_t>(0, outer) + 3 * bucket;
        }
        std::int64_t const all = bytes * trained.all();
        // Buckets are cut by the bytes of their weights, and gradients may travel in a wider type.
        auto const sent = [&](std::int64_t weights) {
            return weights / bytes * std::max(travelling, bytes);
        };
        return std::min(gathered, all) +
               bucket_bytes(sent(std::min(bucket, all)), sent(all), activations);
    }

    /// Stages 2 and 3: the bucket that backward fills, and up to four reductions in flight with
    /// their results; less what has been freed of `activations` when so many buckets are full.
    [[nodiscard]] static std::int64_t bucket_bytes(std::int64_t bucket, std::int64_t all,
                                                   std::int64_t activations) {
        constexpr std::int64_t kInFlight = 4;
        std::int64_t most = bucket;
        for (std::int64_t full = 1; full <= kInFlight && full * bucket <= all; ++full) {
            auto const freed = static_cast<double>(activations) * static_cast<double>(full) *
                               static_cast<double>(bucket) / static_cast<double>(all);
            std::int64_t const filling = std::min(bucket, all - full * bucket);
            most = std::max(most, 2 * full * bucket + filling - static_cast<std::int64_t>(freed));
        }
        return most;
    }
};

/// A rank's part of the model: a pipeline's stage, or all of it.
struct OfStage {
    int stage = 0;
    BlockParameters parameters = {};
    std::vector<BlockSpan> spans = {};  // empty: all blocks
};

/// Bytes of the pass of a micro-batch.
struct Pass {
    std::int64_t activations = 0, inputs = 0;
    [[nodiscard]] std::int64_t total() const { return activations + inputs; }
};

/// Micro-batches of its blocks that stage `stage` keeps: as many as it is ahead of its gradients
/// (worker/train/pass_order). With virtual stages each pass keeps a part of a micro-batch
/// (arXiv 2205.05198).
double kept_micro_batches(MemoryQuery const& query, int stage) {
    int const pp = query.pp_size, virtual_stages = query.virtual_stages;
    if (query.eager) return 2.0 * (pp - 1 - stage) + 1;
    if (virtual_stages == 1) return pp - stage;
    return (2.0 * (pp - 1 - stage) + (virtual_stages - 1) * pp + 1) / virtual_stages;
}

/// The larger of the two peaks: in backward, and when forward ends.
Pass pass_of(MemoryQuery const& query, ActivationChoice const& choice, OfStage const& of) {
    int const bytes_per_value = query.precision == "fp32" ? 4 : 2;
    SampleCost const sample =
        sample_cost(query.shape, query.bucket,
                    {.activations = choice,
                     .bytes_per_value = bytes_per_value,
                     .lora_rank = query.lora_rank,
                     .exchanges = query.sp_size > 1 && query.sp_kind == SpKind::ulysses,
                     .one_sample = query.micro_batch_size == 1,
                     .fused = query.fused_kernels && kernels_fit(query.shape, bytes_per_value),
                     .spans = of.spans,
                     .micro_batches = kept_micro_batches(query, of.stage)});
    double const samples = query.micro_batch_size;
    double const here = samples * activation_share(query.shape, query.tp_size) / query.sp_size;
    auto const saved = static_cast<double>(sample.saved_bytes);
    double const latent = samples * static_cast<double>(sample.latent_bytes);
    auto const pass = [](double activations, double inputs) {
        return Pass{static_cast<std::int64_t>(activations), static_cast<std::int64_t>(inputs)};
    };
    Pass const backward = pass(here * (saved + static_cast<double>(sample.working_bytes)),
                               samples * static_cast<double>(sample.input_bytes()));
    if (query.pp_size > 1) return backward;  // passes of micro-batches alternate
    // Ranks that share a sample gather its output; tensor parallel ranks have summed tokens last.
    bool const shares = query.sp_size * query.tp_size > 1;
    double const gathered = shares ? 2.0 * query.shape.out_channels() / query.shape.in_channels : 0;
    double const sums = query.tp_size > 1
                            ? 2 * samples / query.sp_size * query.shape.hidden *
                                  static_cast<double>(sample.tokens()) * bytes_per_value
                            : 0;
    Pass const forward = pass(here * (saved + static_cast<double>(sample.unreleased_bytes)) + sums,
                              latent * (sample.latents_in_forward + gathered));
    return forward.total() > backward.total() ? forward : backward;
}

/// Activations that the store "offload" keeps in host memory, as they are: the values of the store
/// "bf16", at two bytes each.
std::int64_t stored_on_host(MemoryQuery const& query, OfStage const& of) {
    if (query.activations.store != "offload") return 0;
    auto const with = [&](char const* store) {
        return pass_of(query, {query.activations.recompute, store}, of).activations;
    };
    int const bytes = query.precision == "fp32" ? 4 : 2;
    return (with("bf16") - with("offload")) * bytes / 2;
}

/// Two of the largest blocks' frozen weights stay on the device (worker/model/offload).
void offload_frozen(MemoryQuery const& query, std::int64_t bytes, RankMemory& memory) {
    std::int64_t largest = 0;
    for (BlockParameters const& each : blocks_of(query.shape, query.freeze)) {
        std::int64_t const shared = each.shared - (query.lora_rank > 0 ? 0 : each.shared_trained);
        std::int64_t const all = each.all - (query.lora_rank > 0 ? 0 : each.trained);
        std::int64_t const own = bytes * (all - shared + divided_up(shared, query.tp_size));
        memory.offloaded_bytes += own;
        largest = std::max(largest, own);
    }
    memory.parameter_bytes +=
        std::min(2 * largest, memory.offloaded_bytes) - memory.offloaded_bytes;
}

RankMemory memory_of(MemoryQuery const& query, OfStage const& of,
                     MemoryConstants const& constants) {
    constexpr std::int64_t kFloat = 4;
    bool const low = query.precision != "fp32";
    std::int64_t const bytes = low ? 2 : kFloat;
    Shards const shards{query};
    BlockParameters const parameters = with_adapters(of.parameters, query.lora_rank);
    Numbers const model = shards.of_rank(parameters.all, parameters.shared);
    Numbers const trained = shards.of_rank(parameters.trained, parameters.shared_trained);
    RankMemory memory;
    memory.process_bytes = query.gpu ? constants.gpu_context_bytes : constants.cpu_process_bytes;
    memory.parameter_bytes = bytes * (model.all() - trained.all()) + shards.part(3, bytes, trained);
    bool const more =
        query.accumulates && sums_take_more(query.precision, query.zero_stage, query.ranks());
    memory.gradient_bytes = query.zero_stage >= 2 && query.ranks() > 1
                                ? shards.part(2, kFloat, trained)
                                : (more ? kFloat : bytes) * trained.all();
    memory.gradients_last = !query.accumulates && query.zero_stage < 2 && query.pp_size == 1;
    memory.master_bytes = low ? shards.part(1, kFloat, trained) : 0;
    memory.optimizer_bytes = shards.part(1, 2 * kFloat, trained);
    memory.ema_bytes = query.ema ? shards.part(1, kFloat, trained) : 0;
    memory.is_sharded =
        query.tp_size > 1 || query.pp_size > 1 || (query.zero_stage > 0 && query.ranks() > 1);
    memory.saved_parameter_bytes = shards.part(1, bytes, model);
    Pass pass = pass_of(query, query.activations, of);
    if (is_lossy(query.activations.store, query.precision)) {
        // Once in a while gradients are compared with exact ones (worker/train/objective).
        pass.activations += std::min(kCheckedGradientBytes, bytes * trained.all());
        Pass const exact = pass_of(query, {.recompute = "full", .store = "none"}, of);
        if (exact.total() > pass.total()) pass = exact;
    }
    memory.activation_bytes = pass.activations + query.workspace_bytes;
    memory.input_bytes = pass.inputs;
    memory.stored_on_host_bytes = stored_on_host(query, of);
    memory.communication_bytes =
        shards.communication_bytes(bytes, trained, memory.activation_bytes);
    if (query.offload_frozen) offload_frozen(query, bytes, memory);
    memory.update_bytes = low ? kFloat * std::min(shards.part(1, 1, trained), kUpdateGroup) : 0;
    return memory;
}

}  // namespace

bool sums_take_more(std::string_view precision, int zero_stage, int ranks) {
    return precision != "fp32" && (zero_stage < 2 || ranks == 1);
}

RankMemory rank_memory(MemoryQuery const& query, MemoryConstants const& constants) {
    int const stages = query.pp_size;
    if (stages == 1) {
        OfStage whole{.parameters = parameters_of_blocks(query.shape, query.freeze)};
        OuterParameters const outer = outer_parameters(query.shape, query.freeze);
        whole.parameters.all += outer.first + outer.last;
        whole.parameters.trained += outer.first_trained + outer.last_trained;
        return memory_of(query, whole, constants);
    }
    auto const ends = ends_or(query.run_ends, query.shape, query.bucket,
                              stages * query.virtual_stages, {query.lora_rank, query.freeze});
    auto const parameters = parameters_of_stages(query.shape, query.freeze, ends, stages);
    RankMemory largest;
    for (int stage = 0; stage < stages; ++stage) {
        RankMemory const memory = memory_of(query,
                                            {stage, parameters[static_cast<std::size_t>(stage)],
                                             spans_of_stage(ends, stages, stage)},
                                            constants);
        if (memory.total_bytes() > largest.total_bytes()) largest = memory;
    }
    return largest;
}

std::int64_t allocated_within(std::int64_t resident_bytes, MemoryConstants const& constants) {
    auto const tensors = static_cast<double>(resident_bytes - constants.cpu_process_bytes);
    return static_cast<std::int64_t>(tensors / constants.host_factor);
}

NodeMemory node_memory(RankMemory const& peak, LoaderMemory const& loader, int ranks, bool gpu,
                       MemoryConstants const& constants) {
    auto const resident =
        static_cast<std::int64_t>(constants.host_factor * static_cast<double>(peak.tensor_bytes()));
    std::int64_t const process = gpu ? constants.gpu_process_bytes : peak.process_bytes + resident;
    return {.rank_bytes = process + peak.offloaded_bytes + peak.stored_on_host_bytes,
            .loader_bytes = loader.total_bytes,
            .ranks = ranks,
            .checkpoint_bytes = peak.checkpoint_bytes() * (peak.is_sharded ? ranks : 1)};
}

}  // namespace osora::plan
