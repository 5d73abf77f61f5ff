// The tensors of a network under their state-dict names, in the order in which the forward pass
// uses them (so the reverse is the order in which gradients appear). Layers keep shared handles.
#pragma once

#include "base/result.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace osora::worker {

enum class TensorKind {
    trainable,
    frozen,  // a parameter of the state dict that gets no gradient (rope.freqs)
    buffer
};

struct NamedTensor {
    std::string name;
    at::Tensor tensor;
    TensorKind kind = TensorKind::trainable;
};

/// Low-rank adapter of a linear layer (LoRA, arXiv 2106.09685): its outputs get
/// scale (x a^T) b^T on top. Undefined tensors: it has none.
struct Adapter {
    at::Tensor a;      // (rank, in)
    at::Tensor b;      // (out, rank)
    double scale = 1;  // alpha / rank
};

/// A linear layer "NAME.weight" and the adapter that it looks at in each forward.
struct LinearSlot {
    std::string name;
    std::int64_t in = 0, out = 0;
    std::shared_ptr<Adapter> adapter;
};

class Parameters {
public:
    /// Device and dtype of all tensors; on the meta device nothing is allocated.
    explicit Parameters(at::TensorOptions options) : options_(std::move(options)) {}

    /// A new uninitialised tensor; a name is used once.
    at::Tensor add(std::string name, at::IntArrayRef shape,
                   TensorKind kind = TensorKind::trainable);

    /// The adapter of a new linear layer, which has none yet.
    std::shared_ptr<Adapter const> add_linear(std::string name, std::int64_t in, std::int64_t out);
    [[nodiscard]] std::vector<LinearSlot> const& linears() const { return linears_; }
    /// Whether add_adapters (worker/train/trainable.hpp) has been here.
    [[nodiscard]] bool has_adapters() const;

    /// Takes the tensors that `which` names out of training.
    void freeze(std::function<bool(std::string_view)> const& which);

    [[nodiscard]] std::vector<NamedTensor> const& all() const { return entries_; }
    /// Handles of the trainable ones, in order: what optimizer, reducer and EMA take.
    [[nodiscard]] std::vector<at::Tensor> trainable() const;
    /// nullptr when there is none.
    [[nodiscard]] NamedTensor const* find(std::string_view name) const;
    [[nodiscard]] std::int64_t trainable_count() const;  // numbers, not tensors

    /// Missing, additional and misshapen tensors among `values`, all named in one Error.
    [[nodiscard]] Result<void> check(std::vector<NamedTensor> const& values) const;
    /// Copies values in by name; nothing is changed when check() finds something.
    [[nodiscard]] Result<void> load(std::vector<NamedTensor> const& values);

    /// Drops the gradients (they are taken over, not accumulated into, by the next backward).
    void clear_gradients();

private:
    at::TensorOptions options_;
    std::vector<NamedTensor> entries_;
    std::vector<LinearSlot> linears_;
    std::map<std::string, std::size_t, std::less<>> index_;  // of entries_, by name
};

}  // namespace osora::worker
