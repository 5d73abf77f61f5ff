#include "worker/memory/value_rows.hpp"

#include "worker/memory/block_codec.hpp"

#include <algorithm>
#include <numeric>
#include <ranges>

namespace osora::worker {
namespace {

std::vector<std::size_t> by_stride(at::Tensor const& tensor) {
    std::vector<std::size_t> order(static_cast<std::size_t>(tensor.dim()));
    std::iota(order.begin(), order.end(), std::size_t{0});
    auto const strides = tensor.strides();
    auto const sizes = tensor.sizes();
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        if ((sizes[a] == 1) != (sizes[b] == 1)) return sizes[a] == 1;
        return strides[a] > strides[b];
    });
    return order;
}

void copy_run(at::Tensor const& tensor, std::int64_t at, std::int64_t count, float* to) {
    if (tensor.scalar_type() == at::kFloat) {
        std::copy_n(static_cast<float const*>(tensor.const_data_ptr()) + at, count, to);
    } else {
        widen_bf16(static_cast<std::uint16_t const*>(tensor.const_data_ptr()) + at, count, to);
    }
}

}  // namespace

ValueRows value_rows(at::Tensor const& tensor) {
    ValueRows rows;
    rows.strides.assign(static_cast<std::size_t>(tensor.dim()), 1);
    auto const order = by_stride(tensor);
    std::int64_t behind = 1;  // values of the dimensions that are done, innermost first
    for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
        std::int64_t const size = tensor.sizes()[*dim];
        std::int64_t const stride = tensor.strides()[*dim];
        rows.strides[*dim] = behind;
        behind *= size;
        if (size == 1) continue;
        if (rows.sizes.empty() && stride == rows.run) {
            rows.run *= size;
        } else if (!rows.sizes.empty() && stride == rows.steps.back() * rows.sizes.back()) {
            rows.sizes.back() *= size;
        } else {
            rows.sizes.push_back(size);
            rows.steps.push_back(stride);
        }
    }
    std::ranges::reverse(rows.sizes);
    std::ranges::reverse(rows.steps);
    rows.dense = rows.sizes.empty();
    return rows;
}

bool repeats_values(at::Tensor const& tensor) {
    std::int64_t reach = 0;  // of the inner dimensions
    for (auto const order = by_stride(tensor);
         std::size_t const dim : order | std::views::reverse) {
        std::int64_t const size = tensor.sizes()[dim];
        if (size == 1) continue;
        if (tensor.strides()[dim] <= reach) return true;
        reach += (size - 1) * tensor.strides()[dim];
    }
    return false;
}

float const* read_values(at::Tensor const& tensor, ValueRows const& rows, std::int64_t first,
                         std::int64_t count, float* buffer) {
    if (rows.dense) {
        if (tensor.scalar_type() == at::kFloat)
            return static_cast<float const*>(tensor.const_data_ptr()) + first;
        copy_run(tensor, first, count, buffer);
        return buffer;
    }
    std::int64_t const last = first + count;
    float* to = buffer;
    while (first < last) {
        std::int64_t index = first / rows.run;
        std::int64_t const within = first % rows.run;
        std::int64_t at = within;
        for (std::size_t dim = rows.sizes.size(); dim-- > 0; index /= rows.sizes[dim])
            at += index % rows.sizes[dim] * rows.steps[dim];
        std::int64_t const length = std::min(rows.run - within, last - first);
        copy_run(tensor, at, length, to);
        to += length;
        first += length;
    }
    return buffer;
}

}  // namespace osora::worker
