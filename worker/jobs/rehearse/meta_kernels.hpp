// Operators of the networks that LibTorch has no kernel for on the meta device (tensors with sizes
// and no values): results of the right sizes. Matrix products have one.
#pragma once

namespace osora::worker {

/// For this process; further calls do nothing. Keeps kernels that LibTorch has.
void add_meta_kernels();

}  // namespace osora::worker
