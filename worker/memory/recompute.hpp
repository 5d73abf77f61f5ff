// Activations that are not kept: a part of a network runs without a graph, and again with one when
// its gradient is asked for. Memory is then that of the largest part, not of the sum.
//
// A part's gradients reach each parameter once a backward pass, after all parts that use it, so
// hooks on parameters (grad_reducer.hpp) see complete gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace osora::worker {

/// Must give the same numbers each time it is called with the same tensors, autocast and random
/// numbers of the default generators, which are put back for the second run.
using Part = std::function<std::vector<at::Tensor>(std::vector<at::Tensor> const& inputs)>;

/// part(inputs), where only `inputs` and the results are kept. `parameters`: what else of `part`
/// may want a gradient. Gradients are the bits of those of a plain graph, if an input that `part`
/// reads in several places is given once for each: so it is summed in the order of the graph.
[[nodiscard]] std::vector<at::Tensor> recompute(Part part, std::vector<at::Tensor> const& inputs,
                                                std::vector<at::Tensor> const& parameters);

/// Rows [first, first + n) of a tensor -> n rows of the result.
using RowsFunction = std::function<at::Tensor(at::Tensor const& rows, std::int64_t first)>;

/// `run` on `count` rows of `rows` at a time, each a part; at once, and kept, where count is 0 or
/// not below the rows.
[[nodiscard]] at::Tensor over_rows(at::Tensor const& rows, std::int64_t count,
                                   std::vector<at::Tensor> const& parameters,
                                   RowsFunction const& run);

}  // namespace osora::worker
