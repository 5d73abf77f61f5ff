// Component stdit3_tables: the tables of positions and times of a bf16 STDiT3 (and, as fp32_NAME,
// of an fp32 one): pos_emb of 3 x 4 tokens at 480 x 854 pixels and of 9 x 16 at 144 x 256, rope of
// the frames of q (B, heads, frames, head_dim), the sinusoid of timestep (n).
#include "worker/cases/case_inputs.hpp"
#include "worker/cases/case_table.hpp"
#include "worker/model/embedders.hpp"
#include "worker/model/rope.hpp"

#include <ATen/ops/arange.h>
#include <fmt/format.h>

#include <cmath>

namespace osora::worker {
namespace {

struct Grid {
    std::int64_t rows, columns;
    double height_px, width_px;
};
constexpr Grid kGrids[] = {{3, 4, 480, 854}, {9, 16, 144, 256}};

at::Tensor positions_of(Grid const& grid, Stdit3Config const& config, at::ScalarType type) {
    double const scale =
        std::sqrt(grid.height_px * grid.width_px) / static_cast<double>(config.input_sq_size);
    PositionTable table;
    return table.get({1, 1, grid.rows, grid.columns}, scale, config.hidden_size, type).unsqueeze(0);
}

/// (frames, head_dim): each angle is repeated for two values of a head.
at::Tensor angles_of(at::Tensor const& freqs, std::int64_t frames) {
    return rope_angles(freqs, frames).repeat_interleave(2, -1);
}

}  // namespace

CaseResult run_stdit3_tables_case(CaseFile const& file) {
    OSORA_TRY(auto const config, parse_stdit3_config(file.config));
    CaseInputs inputs(file);
    OSORA_TRY(auto const timestep, inputs.need("", "timestep", real({-1})));
    OSORA_TRY(auto const q, inputs.need("", "q", real({-1, -1, -1, config.head_dim()})));
    OSORA_TRY_VOID(inputs.finish());
    std::vector<NamedTensor> outputs;
    auto const add = [&](std::string const& name, at::Tensor const& tensor) {
        outputs.push_back({"out/" + name, tensor.contiguous()});
    };
    std::int64_t const frames = q.size(2);
    at::Tensor const fp32_freqs = rope_freqs(config.head_dim() / 2);
    at::Tensor const freqs = fp32_freqs.to(at::kBFloat16);
    for (Grid const& grid : kGrids) {
        std::string const name = fmt::format("pos_emb_{}x{}", grid.rows, grid.columns);
        add(name, positions_of(grid, config, at::kBFloat16));
        add("fp32_" + name, positions_of(grid, config, at::kFloat));
    }
    add("pos_embed.inv_freq",
        position_frequencies(config.hidden_size, at::kBFloat16).to(at::kBFloat16));
    add("rope_positions", at::arange(frames, at::kFloat).to(at::kBFloat16));
    add("rope_angles", angles_of(freqs, frames));
    add("fp32_rope_angles", angles_of(fp32_freqs, frames));
    at::Tensor const by_frame = q.transpose(1, 2).unsqueeze(2);  // (B, frames, 1, heads, head_dim)
    add("q_rotated",
        rotate_frames(by_frame, rope_rotations(freqs, frames)).squeeze(2).transpose(1, 2));
    add("t_freq", sinusoid(timestep.to(at::kBFloat16)).to(at::kBFloat16));
    return outputs;
}

}  // namespace osora::worker
