#include "worker/model/weights/fingerprint.hpp"

#include "base/sha256.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace osora::worker {

std::string fingerprint_of(Parameters const& parameters, std::string_view settings) {
    constexpr std::int64_t kBytesMax = 64 << 10;
    std::string text(settings);
    for (auto const& [name, tensor, kind] : parameters.all()) {
        auto const count =
            std::min<std::int64_t>(tensor.numel(), kBytesMax / tensor.element_size());
        at::Tensor const head =
            tensor.detach().reshape({-1}).narrow(0, 0, count).to(at::kCPU).contiguous();
        std::string_view const bytes(static_cast<char const*>(head.const_data_ptr()),
                                     head.nbytes());
        text += fmt::format("\n{} {} {} {}", name, at::toString(tensor.scalar_type()),
                            fmt::join(tensor.sizes(), "x"), sha256_hex(bytes));
    }
    return sha256_hex(text);
}

}  // namespace osora::worker
