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
/// numbers of the default generators, which are restored for the second run.
using Part = std::function<std::vector<at::Tensor>(std::vector<at::Tensor> const& inputs)>;

/// part(inputs), of which only `inputs` and the results are kept. `parameters`: other tensors in
/// `part` that may need a gradient. Gradients have the bits of a plain graph, if an input that
/// `part` reads in several places is passed once for each: then it is summed in the order of the
/// graph.
[[nodiscard]] std::vector<at::Tensor> recompute(Part part, std::vector<at::Tensor> const& inputs,
                                                std::vector<at::Tensor> const& parameters);

/// Rows [first, first + n) of a tensor -> n rows of the result.
using RowsFunction = std::function<at::Tensor(at::Tensor const& rows, std::int64_t first)>;

/// `run` on `count` rows of `rows` at a time, each as a part; all at once, and kept, if count is 0
/// or not below the number of rows.
[[nodiscard]] at::Tensor over_rows(at::Tensor const& rows, std::int64_t count,
                                   std::vector<at::Tensor> const& parameters,
                                   RowsFunction const& run);

}  // namespace osora::worker
