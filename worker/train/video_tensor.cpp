#include "worker/train/video_tensor.hpp"

#include "base/check.hpp"
#include "worker/memory/upload.hpp"

#include <ATen/ops/from_blob.h>

namespace osora::worker {

at::Tensor video_tensor(std::span<std::uint8_t const> pixels, at::IntArrayRef shape,
                        c10::Device device) {
    OSORA_CHECK_EQ(shape.size(), 4u);
    OSORA_CHECK_EQ(static_cast<std::int64_t>(pixels.size()),
                   shape[0] * shape[1] * shape[2] * shape[3] * 3);
    at::Tensor const host =
        at::from_blob(const_cast<std::uint8_t*>(pixels.data()),  // NOLINT: only read
                      {shape[0], shape[1], shape[2], shape[3], 3}, at::kByte);
    return uploaded(host, device)
        .permute({0, 4, 1, 2, 3})
        .to(at::kFloat, false, false, at::MemoryFormat::Contiguous)
        .div_(127.5)
        .sub_(1.0);
}

}  // namespace osora::worker
