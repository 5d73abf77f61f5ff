// Memory terms from parameter counts and sample costs.
#include "plan/memory.hpp"

#include "plan/model_cost.hpp"

namespace osora::plan {

RankMemory rank_memory(MemoryQuery const& query, MemoryConstants const& constants) {
    constexpr std::int64_t kFloat = 4;
    std::int64_t const parameters = parameter_count(query.shape).parameters;
    SampleCost const sample = sample_cost(query.shape, query.bucket, query.bytes_per_value);
    std::int64_t const samples = query.micro_batch_size;
    RankMemory memory;
    memory.process_bytes = query.gpu ? constants.gpu_context_bytes : constants.cpu_process_bytes;
    memory.parameter_bytes = kFloat * parameters;
    memory.gradient_bytes = kFloat * parameters;
    memory.optimizer_bytes = 2 * kFloat * parameters;
    memory.ema_bytes = query.ema ? kFloat * parameters : 0;
    memory.communication_bytes = query.dp_size > 1 ? kFloat * parameters : 0;
    memory.activation_bytes = static_cast<std::int64_t>(
        constants.activation_factor *
        static_cast<double>(samples * (sample.saved_bytes + sample.working_bytes)));
    memory.input_bytes = samples * sample.input_bytes;
    return memory;
}

NodeMemory node_memory(RankMemory const& peak, LoaderMemory const& loader, int ranks, bool gpu,
                       MemoryConstants const& constants) {
    return {.rank_bytes = gpu ? constants.gpu_process_bytes : peak.total_bytes(),
            .loader_bytes = loader.total_bytes,
            .ranks = ranks};
}

}  // namespace osora::plan
