// How one block runs in a forward pass: as a plain graph, with its attention recomputed, or as a
// whole. Private to worker/model.
#pragma once

#include "plan/activation_choice.hpp"
#include "worker/memory/recompute.hpp"
#include "worker/model/linear.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace osora::worker {

class BlockRecompute {
public:
    BlockRecompute(plan::RecomputeChoice const* choice, std::int64_t block) {
        if (choice == nullptr) return;
        whole_ = choice->whole(block);
        attention_ = !whole_ && choice->attention;
    }

    /// part(inputs), as the whole of a block with these parameters.
    [[nodiscard]] std::vector<at::Tensor> whole(Part part, std::vector<at::Tensor> const& inputs,
                                                std::vector<at::Tensor> const& parameters) const {
        return whole_ ? recompute(std::move(part), inputs, parameters) : part(inputs);
    }
    /// The same as a block's attention.
    [[nodiscard]] std::vector<at::Tensor> attention(
        Part part, std::vector<at::Tensor> const& inputs,
        std::vector<at::Tensor> const& parameters) const {
        return attention_ ? recompute(std::move(part), inputs, parameters) : part(inputs);
    }

private:
    bool whole_ = false, attention_ = false;
};

/// Tensors that are there, and those of linear layers with their adapters.
class ParameterList {
public:
    ParameterList& add(at::Tensor const& tensor) {
        if (tensor.defined()) tensors_.push_back(tensor);
        return *this;
    }
    ParameterList& add(Linear const& linear) {
        add(linear.weight).add(linear.bias);
        return add(linear.adapter->a).add(linear.adapter->b);
    }
    [[nodiscard]] std::vector<at::Tensor> const& tensors() const { return tensors_; }

private:
    std::vector<at::Tensor> tensors_;
};

}  // namespace osora::worker
