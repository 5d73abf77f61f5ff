// Peak memory of a rank and of a node, as a sum of terms that can be checked by hand. Pure.
// Parameters and gradients in the run's precision (sums of several micro-batches' in fp32), fp32
// masters where that is not fp32, AdamW's two moments and the moving average in fp32, of which data
// parallel ranks hold all or (ZeRO) a part; activations of one micro-batch; batches of the loader
// on the host (docs/rfc/019, 023).
#pragma once

#include "plan/activation_choice.hpp"
#include "plan/buckets/loader_memory.hpp"
#include "plan/buckets/shapes.hpp"
#include "plan/layout/divisibility.hpp"
#include "plan/model/model_description.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace osora::plan {

struct MemoryConstants {
    /// Memory of a worker without its model: LibTorch linked without CUDA (119 MB after one
    /// operator, 140 MB after a backward pass), or with it, on the host.
    std::int64_t cpu_process_bytes = 150'000'000;
    std::int64_t gpu_process_bytes = 485'000'000;
    /// CUDA context, cuBLAS workspaces and NCCL's buffers, on the GPU.
    std::int64_t gpu_context_bytes = 900'000'000;
    /// Allocated over counted for an autoencoder's activations.
    double vae_factor = 1.20;
    /// Resident over allocated on the host: malloc's rounding, caches and fragmentation. Fitted to
    /// the peaks of stdit3-tiny in tests/unit/plan/memory_test.cpp.
    double host_factor = 1.27;
    /// Share of a node's or GPU's memory that a plan may fill.
    double usable_share = 0.92;
};

struct MemoryQuery {
    ModelShape shape;
    BucketKey bucket;
    int micro_batch_size = 1;
    int dp_size = 1;
    int sp_size = 1;  // ranks that share the tokens of a sample, and ZeRO's shards with others
    SpKind sp_kind = SpKind::ulysses;
    int tp_size = 1;  // ranks that share linear layers and tokens, and ZeRO's shards with others
    int pp_size = 1;  // ranks that share blocks
    int virtual_stages = 1;  // block groups of each of these
    bool eager = false;      // eager 1F1B (worker/train/pass_order), with one virtual stage
    std::vector<std::int64_t> run_ends = {};  // of these; empty: by the work of this bucket
    [[nodiscard]] int ranks() const { return dp_size * sp_size * tp_size * pp_size; }
    bool gpu = false;
    std::string precision = "fp32";  // bf16, fp16
    std::string reduce_dtype = {};   // of gradients between ranks; empty: as precision
    bool ema = true;
    int lora_rank = 0;  // > 0: only adapters are trained
    int zero_stage = 0;
    int shard_size = 0;  // ranks that share what ZeRO divides; 0: all
    /// Several micro-batches a step, whose gradients add up in fp32 while the next one runs.
    bool accumulates = true;
    int grad_bucket_mib = 25;
    std::vector<std::string> freeze = {};  // optim.freeze: prefixes of frozen weights
    ActivationChoice activations = {};
    bool offload_frozen = false;  // pp_size is 1
    bool fused_kernels = false;   // osora's, of GPUs (docs/rfc/034), where the shapes fit them
    /// What cuBLAS and cuDNN take from the allocator; counted as activations.
    std::int64_t workspace_bytes = 0;
};
/// STDiT3-XL/2 on an H200: measured peaks over the sum of the tensors (docs/rfc/019).
constexpr std::int64_t kGpuWorkspaceBytes = 190'000'000;

struct RankMemory {
    std::int64_t process_bytes = 0;  // on the device that limits: the GPU, or the host
    std::int64_t parameter_bytes = 0;
    std::int64_t gradient_bytes = 0;
    std::int64_t master_bytes = 0;
    std::int64_t optimizer_bytes = 0;
    std::int64_t ema_bytes = 0;
    std::int64_t communication_bytes = 0;  // flat buckets of gradients, and gathered parameters
    std::int64_t activation_bytes = 0;
    std::int64_t input_bytes = 0;
    std::int64_t update_bytes = 0;  // of the optimizer, when activations are freed
    bool gradients_last = false;    // they take the place of activations that are freed
    bool is_sharded = false;
    std::int64_t saved_parameter_bytes = 0;  // this rank's part of a checkpoint, if any
    std::int64_t offloaded_bytes = 0;        // frozen weights in host memory
    std::int64_t stored_on_host_bytes = 0;   // activations there: activation_store "offload"

    /// Memory during a whole pass.
    [[nodiscard]] std::int64_t static_bytes() const {
        return process_bytes + parameter_bytes + (gradients_last ? 0 : gradient_bytes) +
               master_bytes + optimizer_bytes + ema_bytes + communication_bytes;
    }
    [[nodiscard]] std::int64_t total_bytes() const {
        std::int64_t const after = (gradients_last ? gradient_bytes : 0) + update_bytes;
        return static_bytes() + std::max(activation_bytes + input_bytes, after);
    }
    /// As the allocator counts: without the process and its context.
    [[nodiscard]] std::int64_t tensor_bytes() const { return total_bytes() - process_bytes; }
    /// Host memory for the copy of a checkpoint that is being written, on rank 0, or of this rank's
    /// part on each rank (is_sharded).
    [[nodiscard]] std::int64_t checkpoint_bytes() const {
        bool const apart = is_sharded || offloaded_bytes > 0;
        return (apart ? saved_parameter_bytes : parameter_bytes) + master_bytes + optimizer_bytes +
               ema_bytes;
    }
};
/// Whether the gradients of several passes, which then add up in fp32, take more than those of one:
/// on ranks that keep whole gradients (worker/parallel/sharding/gradient_sums).
[[nodiscard]] bool sums_take_more(std::string_view precision, int zero_stage, int ranks);

[[nodiscard]] RankMemory rank_memory(MemoryQuery const& query,
                                     MemoryConstants const& constants = {});

/// The tensor_bytes() of a CPU rank whose process occupies `resident_bytes`.
[[nodiscard]] std::int64_t allocated_within(std::int64_t resident_bytes,
                                            MemoryConstants const& constants = {});

struct NodeMemory {
    std::int64_t rank_bytes = 0;    // host part of one rank, without its loader; with its frozen
                                    // blocks, if they are offloaded
    std::int64_t loader_bytes = 0;  // of one rank
    int ranks = 1;
    std::int64_t checkpoint_bytes = 0;  // of all of them
    [[nodiscard]] std::int64_t total_bytes() const {
        return ranks * (rank_bytes + loader_bytes) + checkpoint_bytes;
    }
};
/// Host memory of a node with ranks whose peak is `peak`, and these loaders.
[[nodiscard]] NodeMemory node_memory(RankMemory const& peak, LoaderMemory const& loader, int ranks,
                                     bool gpu, MemoryConstants const& constants = {});

}  // namespace osora::plan
