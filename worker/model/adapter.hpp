// Linear layers that may have a low-rank adapter.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace osora::worker {

/// Low-rank adapter of a linear layer (LoRA, arXiv 2106.09685): adds scale (x a^T) b^T to its
/// outputs. Undefined tensors: no adapter.
struct Adapter {
    at::Tensor a;      // (rank, in)
    at::Tensor b;      // (out, rank)
    double scale = 1;  // alpha / rank
};

/// The ranks that have a tensor, if ranks have separate blocks (pipeline parallel).
enum class Place { every_rank, this_stage, other_stage };

/// How ranks share a layer: each has its slice of each of `parts` of its outputs or of its inputs.
struct SharedSide {
    enum class Side { outputs, inputs };
    Side side = Side::outputs;
    std::vector<std::int64_t> parts;  // empty: they do not share it
    bool with_bias = true;
};

/// A linear layer "NAME.weight" and the adapter that it reads in each forward. Ranks that share the
/// outputs have slices of b, those that share the inputs of a.
struct LinearSlot {
    std::string name;
    std::int64_t in = 0, out = 0;
    std::shared_ptr<Adapter> adapter;
    SharedSide shared = {};
    std::size_t unit = 0;
    Place place = Place::every_rank;
};

}  // namespace osora::worker
