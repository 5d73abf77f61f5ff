// The names by which rows override constants.
#include "plan/evaluate/cost_constants.hpp"

#include <array>

namespace osora::plan {
namespace {

using C = CostConstants;
constexpr std::array kRows{
    ConstantRow{"matmul_efficiency", &C::matmul_efficiency, 0.01, 1},
    ConstantRow{"matmul_edge", &C::matmul_edge, 0, 1e5},
    ConstantRow{"matmul_depth", &C::matmul_depth, 0, 1e5},
    ConstantRow{"fsdp_share", &C::fsdp_share, 0.01, 2},
    ConstantRow{"attention_efficiency", &C::attention_efficiency, 0.01, 2},
    ConstantRow{"fused_score_bytes", &C::fused_score_bytes, 0, 1e3},
    ConstantRow{"score_bytes", &C::score_bytes, 0, 1e3},
    ConstantRow{"fused_attention", &C::fused_attention, -1, 1},
    ConstantRow{"element_bytes", &C::element_bytes, 0, 1e4},
    ConstantRow{"element_bytes_whole", &C::element_bytes_whole, 0, 1e4},
    ConstantRow{"dit_element_bytes", &C::dit_element_bytes, 0, 1e5},
    ConstantRow{"logit_bytes", &C::logit_bytes, 0, 1e4},
    ConstantRow{"unfused_logit_bytes", &C::unfused_logit_bytes, 0, 1e4},
    ConstantRow{"memory_efficiency", &C::memory_efficiency, 0.01, 1},
    ConstantRow{"launch_us", &C::launch_us, 0, 1e5},
    ConstantRow{"launch_sharpness", &C::launch_sharpness, 1, 64},
    ConstantRow{"sync_us", &C::sync_us, 0, 1e5},
    ConstantRow{"step_overhead_ms", &C::step_overhead_ms, 0, 1e6},
    ConstantRow{"link_efficiency", &C::link_efficiency, 0.01, 2},
    ConstantRow{"link_latency_us", &C::link_latency_us, 0, 1e6},
    ConstantRow{"link_hop_us", &C::link_hop_us, 0, 1e6},
    ConstantRow{"nic_efficiency", &C::nic_efficiency, 0.01, 2},
    ConstantRow{"nic_sharing", &C::nic_sharing, 0, 1},
    ConstantRow{"nic_hop_us", &C::nic_hop_us, 0, 1e6},
    ConstantRow{"dit_sp_efficiency", &C::dit_sp_efficiency, 0.001, 2},
    ConstantRow{"stage_latency_us", &C::stage_latency_us, 0, 1e6},
    ConstantRow{"grad_bytes", &C::grad_bytes, 1, 8},
    ConstantRow{"overlap_share", &C::overlap_share, 0, 1},
    ConstantRow{"overlap_slowdown", &C::overlap_slowdown, 0, 1},
    ConstantRow{"optimizer_bytes", &C::optimizer_bytes, 0, 1e3},
    ConstantRow{"text_efficiency", &C::text_efficiency, 0.001, 1},
    ConstantRow{"vae_efficiency", &C::vae_efficiency, 0.001, 1},
    ConstantRow{"memory_context_gib", &C::memory_context_gib, 0, 100},
    ConstantRow{"memory_margin", &C::memory_margin, 1, 4},
    ConstantRow{"time_scale", &C::time_scale, 0.01, 100},
};

}  // namespace

std::span<ConstantRow const> constant_rows() {
    return kRows;
}

}  // namespace osora::plan
