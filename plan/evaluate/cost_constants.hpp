// The constants of the step-time model: few, physical, one value for all GPUs and frameworks. A
// row's `calibration` object overrides any by its name. docs/rfc/027 says what each was fitted to.
#pragma once

#include <span>
#include <string_view>

namespace osora::plan {

struct CostConstants {
    // Matrix products of M x K by K x N: efficiency / (1 + edge (1/M + 1/N) + depth / K).
    double matmul_efficiency = 0.8365;  // of the sustained peak, large products
    double matmul_edge = 88.9;          // rows and columns
    double matmul_depth = 20.2;         // inner dimension
    double fsdp_share = 0.835;          // of sustained_share with ZeRO 2 and 3 on Hopper and later
    double attention_efficiency = 0.804;  // of fused attention, all s^2 scores counted
    double fused_score_bytes = 0.186;     // also in attention, for work beside products: per score
                                          // and head
    double score_bytes = 8.88;            // unfused attention: bytes moved forward per score beside
                                          // products
    double fused_attention = -1;          // 1, 0; -1: as fused_attention() says
    // Work beside products: bytes moved forward per token and hidden value.
    double element_bytes = 31.1;        // the part that tensor parallel ranks share
    double element_bytes_whole = 16.8;  // the part that each rank has whole without
                                        // sequence_parallel
    double dit_element_bytes = 558;    // of a block of STDiT or MMDiT: modulation, norms, rope, MLP
    double logit_bytes = 33.5;         // per token and word of the vocabulary, forward and backward
    double unfused_logit_bytes = 100;  // the same if attention is not fused: older frameworks
    double memory_efficiency = 0.79;   // share of the data sheet's bandwidth
    // The processor's side.
    double launch_us = 20.3;         // to issue an operator, including the framework
    double launch_sharpness = 12;    // p of (gpu^p + cpu^p)^(1/p)
    double sync_us = 3.7;            // ranks wait for each other, per blocking collective and peer
    double step_overhead_ms = 2.22;  // per step: loss, norm, schedule
    // Collectives: latency_us + hops x hop_us + bytes / (efficiency x line rate).
    double link_efficiency = 0.7, link_latency_us = 15.7, link_hop_us = 3;
    double nic_efficiency = 0.8;  // one ring alone on its NICs
    double nic_sharing = 0.5;     // r concurrent rings of a node: efficiency / r^sharing
    double nic_hop_us = 12;
    /// Share of the link rate: ring attention of Open-Sora 2.0, including its waits.
    double dit_sp_efficiency = 0.029;
    double stage_latency_us = 23.3;  // per message between pipeline stages
    double grad_bytes = 2;           // per gradient that is reduced, below fp32
    double overlap_share = 0.9;      // share of the window that hides sharded gradients and
                                     // parameters
    double overlap_slowdown = 0.12;  // of computing while a collective runs (Galvatron: 1.1256)
    double optimizer_bytes = 19.9;   // moved per parameter of this rank
    // Encoders before a video model.
    double text_efficiency = 0.43;  // of the sustained peak: T5
    double vae_efficiency = 0.28;   // of the sustained peak: convolutions
    // Memory.
    double memory_context_gib = 1.0;  // CUDA context, cuBLAS, NCCL
    double memory_margin = 1.05;      // reserved over allocated
    /// The one constant of a machine: measured over predicted step time.
    double time_scale = 1;
};

struct ConstantRow {
    std::string_view name;
    double CostConstants::*member;
    double min, max;  // accepted range
};
/// All of them.
[[nodiscard]] std::span<ConstantRow const> constant_rows();

}  // namespace osora::plan
