// Processes frames in overlapping tiles with blended seams, as AutoencoderKL.enable_tiling of
// diffusers 0.29.2: a large frame needs the memory of one tile. Each tile is normalised separately,
// so the result differs from that of the whole frame.
#pragma once

#include "base/result.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

namespace osora::worker {

struct Tiling {
    std::int64_t tile_px = 0;  // side of a tile in pixels; 0: no tiles
    double overlap = 0.25;     // share of a tile that it has in common with the next
};

/// not_divisible where tiles or their overlap are no whole number of latents of `factor` pixels:
/// seams would not meet.
[[nodiscard]] Result<void> check_tiling(Tiling const& tiling, std::int64_t factor);

/// Sides of tiles on the way in and out of a network.
struct TileSizes {
    std::int64_t in_side = 0;
    std::int64_t in_step = 0;   // from tile to tile
    std::int64_t blend = 0;     // output rows and columns that are mixed with the tile before
    std::int64_t out_step = 0;  // output rows and columns that are kept of a tile
};

[[nodiscard]] TileSizes encode_tiles(Tiling const& tiling, std::int64_t factor);
[[nodiscard]] TileSizes decode_tiles(Tiling const& tiling, std::int64_t factor);

/// `network` on each tile of `input` (N, C, H, W); two rows of its outputs are held at a time.
[[nodiscard]] at::Tensor run_tiled(at::Tensor const& input, TileSizes const& sizes,
                                   std::function<at::Tensor(at::Tensor const&)> const& network);

}  // namespace osora::worker
