#include "worker/model/modulation.hpp"

#include "worker/memory/saved_kind.hpp"

#include <ATen/ops/addcmul.h>
#include <ATen/ops/layer_norm.h>

namespace osora::worker {

namespace {

at::Tensor normalised(at::Tensor const& x) {
    return at::layer_norm(x, {x.size(-1)}, {}, {}, 1e-6);
}

}  // namespace

at::Tensor modulated(at::Tensor const& x, at::Tensor const& shift, at::Tensor const& scale1,
                     TokenOrder order) {
    if (auto const fused = fused_modulated(x, shift, scale1, order)) return *fused;
    at::Tensor const norm =
        remade(normalised(x), {x}, [](auto const& from) { return normalised(from[0]); });
    return remade(at::addcmul(shift, norm, scale1), {norm, shift, scale1},
                  [](auto const& from) { return at::addcmul(from[1], from[0], from[2]); });
}

at::Tensor gated(at::Tensor const& x, at::Tensor const& gate, at::Tensor const& y) {
    if (auto const fused = fused_gated(x, gate, y)) return *fused;
    return at::addcmul(x, gate, y);
}

}  // namespace osora::worker
