// One row of `osora plan evaluate`: a model, a cluster, a layout. Pure.
#pragma once

#include "base/result.hpp"
#include "plan/buckets/shapes.hpp"
#include "plan/evaluate/cost_constants.hpp"
#include "plan/evaluate/hardware.hpp"
#include "plan/model/model_description.hpp"

#include <boost/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::plan {

/// A decoder of equal layers between an embedding and its logits.
struct GptModel {
    std::int64_t layers = 0;
    std::int64_t hidden = 0;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t ffn_hidden = 0;
    std::int64_t seq_len = 0;  // tokens a sample
    std::int64_t vocab = 0;
    /// Three matrices in the MLP (SwiGLU), else two. Not given: if ffn_hidden is, and differs from
    /// 4 hidden or the heads are grouped (1 < kv_heads < heads).
    bool gated = false;
};

/// A video model on one bucket, with the encoders of its clips.
struct ArchModel {
    ModelShape shape;
    BucketKey bucket;
    bool encoders = false;  // T5 and VAE run in every micro-batch
};

struct RowLayout {
    std::int64_t tp_size = 1, pp_size = 1, sp_size = 1, dp_size = 1;
    int zero_stage = 0;
    std::int64_t micro_batch_size = 1;  // samples of a data parallel rank
    std::int64_t grad_accum_steps = 1;  // micro-batches a step
    std::int64_t virtual_stages = 1;    // per rank, interleaved
    std::string recompute = "none";     // none | selective | full | first blocks
    bool sequence_parallel = false;     // Megatron's, with tp
    std::string activation_store = "none";
    std::string precision = "bf16";  // bf16 | fp16 | fp8 | fp32
    int lora_rank = 0;               // > 0: only adapters are trained
    /// Ranks that hold the same weights.
    [[nodiscard]] std::int64_t replicas() const { return sp_size * dp_size; }
    [[nodiscard]] double value_bytes() const { return precision == "fp32" ? 4 : 2; }
};

struct MeasuredRun;

struct EvaluateRow {
    std::optional<GptModel> gpt;  // one of the two
    std::optional<ArchModel> arch;
    Hardware hardware;
    std::int64_t nodes = 1;
    std::int64_t gpus_per_node = 1;
    double nic_gbit_per_gpu = 0;
    RowLayout layout;
    CostConstants constants;
    std::vector<MeasuredRun> measured;  // on the same cluster, valid ones
    std::vector<std::string> left_out;  // why others are not used
    std::vector<std::string> ignored;   // members that are no field of the contract
    [[nodiscard]] std::int64_t world_size() const { return nodes * gpus_per_node; }
    /// GPUs joined by NVLink: those of a node, or of a domain of several, evenly filled.
    [[nodiscard]] std::int64_t linked_gpus() const;
};

/// A run whose times correct the answer (measured_runs.hpp).
struct MeasuredRun {
    EvaluateRow row;
    double step_time_s = 0;
    std::optional<double> peak_memory_gib;  // GiB
};

/// Fields as in docs/contract.md section 5; unknown keys are noted. Errors name the field, the
/// problem and the nearest valid value: "layout.tp_size: 0 is below 1; nearest valid: 1".
[[nodiscard]] Result<EvaluateRow> read_row(boost::json::object const& from,
                                           HardwareTable const& hardware);

/// "240p", "256px", "512", "720x1280" (height x width, as Open-Sora writes it).
[[nodiscard]] Result<BucketKey> bucket_of(std::string_view resolution, int num_frames,
                                          int multiple);

}  // namespace osora::plan
