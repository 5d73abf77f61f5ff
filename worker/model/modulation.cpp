#include "worker/model/modulation.hpp"

#include <ATen/ops/addcmul.h>
#include <ATen/ops/layer_norm.h>

namespace osora::worker {

at::Tensor modulated(at::Tensor const& x, at::Tensor const& shift, at::Tensor const& scale1) {
    return at::addcmul(shift, at::layer_norm(x, {x.size(-1)}, {}, {}, 1e-6), scale1);
}

}  // namespace osora::worker
