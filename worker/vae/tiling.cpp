#include "worker/vae/tiling.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace osora::worker {
namespace {

std::int64_t overlap_latents(Tiling const& tiling, std::int64_t factor) {
    return std::llround(static_cast<double>(tiling.tile_px / factor) * tiling.overlap);
}

/// The first `extent` rows (dim 2) or columns (dim 3) of `tile` become a ramp from the last ones of
/// `before` to its own.
void blend(at::Tensor const& before, at::Tensor const& tile, std::int64_t dim,
           std::int64_t extent) {
    extent = std::min({before.size(dim), tile.size(dim), extent});
    if (extent == 0) return;
    std::vector<std::int64_t> shape(4, 1);
    shape[static_cast<std::size_t>(dim)] = extent;
    at::Tensor const own =
        at::arange(extent, tile.options()).div_(static_cast<double>(extent)).view(shape);
    at::Tensor const seam = tile.narrow(dim, 0, extent);
    at::Tensor const old = before.narrow(dim, before.size(dim) - extent, extent);
    seam.copy_(old * (1 - own) + seam * own);
}

at::Tensor kept(at::Tensor const& tile, std::int64_t step) {
    return tile.narrow(2, 0, std::min(step, tile.size(2)))
        .narrow(3, 0, std::min(step, tile.size(3)));
}

}  // namespace

Result<void> check_tiling(Tiling const& tiling, std::int64_t factor) {
    if (tiling.tile_px < factor || !(tiling.overlap >= 0 && tiling.overlap < 1))
        return Error{Errc::invalid_input,
                     fmt::format("tiles of {} pixels, overlap {}: must be at least {}, in [0, 1)",
                                 tiling.tile_px, tiling.overlap, factor)};
    double const latents = static_cast<double>(tiling.tile_px / factor) * tiling.overlap;
    if (tiling.tile_px % factor != 0 || std::abs(latents - std::round(latents)) > 1e-6)
        return Error{Errc::not_divisible,
                     fmt::format("tiles of {} pixels, overlap {}: no whole latents of {} pixels",
                                 tiling.tile_px, tiling.overlap, factor)};
    return {};
}

TileSizes encode_tiles(Tiling const& tiling, std::int64_t factor) {
    std::int64_t const blend = overlap_latents(tiling, factor);
    std::int64_t const step = tiling.tile_px / factor - blend;
    return {tiling.tile_px, step * factor, blend, step};
}

TileSizes decode_tiles(Tiling const& tiling, std::int64_t factor) {
    auto const in = encode_tiles(tiling, factor);
    return {tiling.tile_px / factor, in.out_step, in.blend * factor, in.in_step};
}

at::Tensor run_tiled(at::Tensor const& input, TileSizes const& sizes,
                     std::function<at::Tensor(at::Tensor const&)> const& network) {
    std::vector<at::Tensor> rows, above;
    for (std::int64_t y = 0; y < input.size(2); y += sizes.in_step) {
        at::Tensor const band = input.narrow(2, y, std::min(sizes.in_side, input.size(2) - y));
        std::vector<at::Tensor> tiles, parts;
        for (std::int64_t x = 0; x < input.size(3); x += sizes.in_step) {
            tiles.push_back(network(band.narrow(3, x, std::min(sizes.in_side, input.size(3) - x))));
            at::Tensor const& tile = tiles.back();
            if (!above.empty()) blend(above[tiles.size() - 1], tile, 2, sizes.blend);
            if (tiles.size() > 1) blend(tiles[tiles.size() - 2], tile, 3, sizes.blend);
            parts.push_back(kept(tile, sizes.out_step));
        }
        rows.push_back(at::cat(parts, 3));
        above = std::move(tiles);
    }
    return at::cat(rows, 2);
}

}  // namespace osora::worker
