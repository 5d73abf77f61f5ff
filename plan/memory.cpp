// Memory terms from parameter counts and sample costs.
#include "plan/memory.hpp"

#include "plan/model_cost.hpp"

namespace osora::plan {

namespace {

/// The optimizer takes gradients to fp32 in groups of about this many numbers
/// (worker/train/optimizer.cpp).
constexpr std::int64_t kUpdateGroup = std::int64_t{64} << 20;

}  // namespace

RankMemory rank_memory(MemoryQuery const& query, MemoryConstants const& constants) {
    constexpr std::int64_t kFloat = 4;
    bool const low = query.precision != "fp32";
    std::int64_t const bytes = low ? 2 : kFloat;
    std::int64_t const model = parameter_count(query.shape).parameters;
    std::int64_t const adapters = adapter_parameters(query.shape, query.lora_rank);
    std::int64_t const trained = query.lora_rank > 0 ? adapters : model;
    SampleCost const sample = sample_cost(query.shape, query.bucket, static_cast<int>(bytes));
    std::int64_t const samples = query.micro_batch_size;
    RankMemory memory;
    memory.process_bytes = query.gpu ? constants.gpu_context_bytes : constants.cpu_process_bytes;
    memory.parameter_bytes = bytes * (model + adapters);
    memory.gradient_bytes = bytes * trained;
    memory.master_bytes = low ? kFloat * trained : 0;
    memory.optimizer_bytes = 2 * kFloat * trained;
    memory.ema_bytes = query.ema ? kFloat * trained : 0;
    memory.communication_bytes = query.dp_size > 1 ? bytes * trained : 0;
    memory.activation_bytes = static_cast<std::int64_t>(
        constants.activation_factor *
        static_cast<double>(samples * (sample.saved_bytes + sample.working_bytes)));
    memory.input_bytes = samples * sample.input_bytes;
    memory.update_bytes = low ? kFloat * std::min(trained, kUpdateGroup) : 0;
    return memory;
}

NodeMemory node_memory(RankMemory const& peak, LoaderMemory const& loader, int ranks, bool gpu,
                       MemoryConstants const& constants) {
    return {.rank_bytes = gpu ? constants.gpu_process_bytes : peak.total_bytes(),
            .loader_bytes = loader.total_bytes,
            .ranks = ranks,
            .checkpoint_bytes = peak.checkpoint_bytes()};
}

}  // namespace osora::plan
