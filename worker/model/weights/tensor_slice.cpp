#include "worker/model/weights/tensor_slice.hpp"

#include <ATen/ops/cat.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace osora::worker {

std::vector<std::int64_t> TensorSlice::own_sizes() const {
    auto own = sizes;
    own[static_cast<std::size_t>(dim)] /= ranks;
    return own;
}

at::Tensor TensorSlice::of(at::Tensor const& whole) const {
    std::vector<at::Tensor> own;
    std::int64_t begin = 0;
    for (std::int64_t const part : parts) {
        std::int64_t const each = part / ranks;
        own.push_back(whole.narrow(dim, begin + rank * each, each));
        begin += part;
    }
    return at::cat(own, dim);
}

std::vector<ItemRun> TensorSlice::runs(std::int64_t first, std::int64_t count) const {
    // As (outer, dim, inner): for each outer index one run of each part.
    auto const product = [](auto begin, auto end) {
        return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
    };
    auto const at = sizes.begin() + dim;
    std::int64_t const outer = product(sizes.begin(), at), inner = product(at + 1, sizes.end());
    std::vector<ItemRun> all;
    std::int64_t own = 0;
    for (std::int64_t o = 0; o < outer && own < first + count; ++o) {
        std::int64_t whole = o * *at * inner;
        for (std::int64_t const part : parts) {
            std::int64_t const items = part / ranks * inner;
            std::int64_t const begin = std::max(first, own);
            std::int64_t const end = std::min(first + count, own + items);
            if (begin < end)
                all.push_back({whole + rank * items + begin - own, begin - first, end - begin});
            own += items;
            whole += part * inner;
        }
    }
    return all;
}

}  // namespace osora::worker
