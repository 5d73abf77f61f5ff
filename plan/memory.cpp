// Terms of memory from parameter counts and sample costs.
#include "plan/memory.hpp"

#include "base/text/units.hpp"
#include "plan/model/model_cost.hpp"
#include "plan/model/model_description.hpp"
#include "plan/model/trained_parameters.hpp"

#include <algorithm>

namespace osora::plan {

namespace {

/// The optimizer converts gradients to fp32 in groups of about this many values
/// (worker/train/optimizer.cpp).
constexpr std::int64_t kUpdateGroup = std::int64_t{64} << 20;

/// Number of parameters of a rank: outside the blocks, in its stage's blocks without their shared
/// linear layers, and in its slices of those. They are divided among all ranks, among those of the
/// stage, and among a tp_size-th of these.
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

    /// `all`: parameters of the network, `in_blocks` of them in blocks, `shared` of these in linear
    /// layers that tensor parallel ranks share. The first stages have one block more.
    [[nodiscard]] Numbers of_rank(std::int64_t all, std::int64_t in_blocks,
                                  std::int64_t shared) const {
        Numbers own{all - in_blocks, in_blocks - shared, divided_up(shared, query.tp_size)};
        if (query.tp_size == 1) own = {own.common, in_blocks, 0};
        if (query.pp_size == 1) return {own.common + own.blocks, 0, own.slices};
        std::int64_t const blocks = query.shape.blocks();
        std::int64_t const here = divided_up(blocks, query.pp_size);
        return {own.common, own.blocks * here / blocks, own.slices * here / blocks};
    }
    /// Bytes of what ranks share from this stage on, with `bytes` per parameter.
    [[nodiscard]] std::int64_t part(int stage, std::int64_t bytes, Numbers const& whole) const {
        if (query.zero_stage < stage) return bytes * whole.all();
        int const all = query.ranks(), together = all / query.pp_size;
        return divided_up(bytes * whole.common, all) + divided_up(bytes * whole.blocks, together) +
               divided_up(bytes * whole.slices, together / query.tp_size);
    }

    /// worker/parallel/sharding/sharded_parameters: flat gradients (stage 0, 1); four reductions in
    /// flight with their results, and the bucket that is being filled (2, 3); the parameters
    /// outside the blocks and of three blocks (3). `bytes` of a weight and its gradient.
    [[nodiscard]] std::int64_t communication_bytes(std::int64_t bytes,
                                                   Numbers const& trained) const {
        if (query.ranks() == 1) return 0;
        std::int64_t const travelling = query.reduce_dtype.empty()     ? bytes
                                        : query.reduce_dtype == "fp32" ? 4
                                                                       : 2;
        // If gradients travel in another type, adds a copy in that type.
        if (query.zero_stage == 0)
            return (travelling + (travelling == bytes ? 0 : bytes)) * trained.all();
        if (query.zero_stage == 1) return travelling * trained.all() + part(1, 4, trained);
        auto const& shape = query.shape;
        std::int64_t const shared = parameters_of_blocks(shape, {}).shared / shape.blocks();
        std::int64_t const whole = block_parameters(shape).parameters;
        std::int64_t const block = whole - shared + divided_up(shared, query.tp_size);
        std::int64_t bucket = query.grad_bucket_mib * kMiB;
        std::int64_t gathered = 0;
        if (query.zero_stage == 3) {
            bucket = std::max(bucket, bytes * block);
            std::int64_t const outer = parameter_count(shape).parameters - shape.blocks() * whole;
            gathered = bytes * (std::max<std::int64_t>(0, outer) + 3 * block);
        }
        return std::min(9 * bucket + gathered, 3 * bytes * trained.all());
    }
};

}  // namespace

RankMemory rank_memory(MemoryQuery const& query, MemoryConstants const& constants) {
    constexpr std::int64_t kFloat = 4;
    bool const low = query.precision != "fp32";
    std::int64_t const bytes = low ? 2 : kFloat;
    Shards const shards{query};
    BlockParameters const blocks = parameters_of_blocks(query.shape, query.freeze);
    Numbers const model = shards.of_rank(
        parameter_count(query.shape).parameters + adapter_parameters(query.shape, query.lora_rank),
        blocks.all, blocks.shared);
    std::int64_t const all_trained = trained_parameters(query.shape, query.lora_rank, query.freeze);
    Numbers const trained =
        query.lora_rank > 0 ? Numbers{all_trained, 0, 0}
                            : shards.of_rank(all_trained, blocks.trained, blocks.shared_trained);
    SampleCost const sample = sample_cost(query.shape, query.bucket,
                                          {.activations = query.activations,
                                           .bytes_per_value = static_cast<int>(bytes),
                                           .lora_rank = query.lora_rank,
                                           .exchanges = query.sp_size > 1});
    std::int64_t const samples = query.micro_batch_size;
    RankMemory memory;
    memory.process_bytes = query.gpu ? constants.gpu_context_bytes : constants.cpu_process_bytes;
    memory.parameter_bytes = bytes * (model.all() - trained.all()) + shards.part(3, bytes, trained);
    memory.gradient_bytes = query.zero_stage >= 2 && query.ranks() > 1
                                ? shards.part(2, kFloat, trained)
                                : bytes * trained.all();
    memory.gradients_last = !query.accumulates && query.zero_stage < 2 && query.pp_size == 1;
    memory.master_bytes = low ? shards.part(1, kFloat, trained) : 0;
    memory.optimizer_bytes = shards.part(1, 2 * kFloat, trained);
    memory.ema_bytes = query.ema ? shards.part(1, kFloat, trained) : 0;
    memory.communication_bytes = shards.communication_bytes(bytes, trained);
    memory.is_sharded =
        query.tp_size > 1 || query.pp_size > 1 || (query.zero_stage > 0 && query.ranks() > 1);
    memory.saved_parameter_bytes = shards.part(1, bytes, model);
    // The first stage holds activations of pp_size micro-batches of its blocks, as much as one
    // micro-batch of all blocks; more with virtual stages (arXiv 2205.05198).
    double const held = query.virtual_stages == 1
                            ? 1
                            : 1 + (query.pp_size - 1.0) / (query.pp_size * query.virtual_stages);
    double const here = activation_share(query.shape, query.tp_size) / query.sp_size;
    double const of_sample =
        held * static_cast<double>(sample.saved_bytes) + static_cast<double>(sample.working_bytes);
    memory.activation_bytes =
        static_cast<std::int64_t>(here * static_cast<double>(samples) * of_sample);
    memory.input_bytes = samples * sample.input_bytes;
    memory.update_bytes = low ? kFloat * std::min(shards.part(1, 1, trained), kUpdateGroup) : 0;
    return memory;
}

std::int64_t allocated_within(std::int64_t resident_bytes, MemoryConstants const& constants) {
    auto const tensors = static_cast<double>(resident_bytes - constants.cpu_process_bytes);
    return static_cast<std::int64_t>(tensors / constants.host_factor);
}

NodeMemory node_memory(RankMemory const& peak, LoaderMemory const& loader, int ranks, bool gpu,
                       MemoryConstants const& constants) {
    auto const resident =
        static_cast<std::int64_t>(constants.host_factor * static_cast<double>(peak.tensor_bytes()));
    return {.rank_bytes = gpu ? constants.gpu_process_bytes : peak.process_bytes + resident,
            .loader_bytes = loader.total_bytes,
            .ranks = ranks,
            .checkpoint_bytes = peak.checkpoint_bytes() * (peak.is_sharded ? ranks : 1)};
}

}  // namespace osora::plan
