// Keeps what a forward pass saves for backward in less memory: rounded to bf16, in blocks of int8,
// or in host memory. An open Scope handles every tensor that autograd saves on its thread.
// Parameters and their views, integers, statistics of a row and small tensors are kept unchanged; a
// tensor that several nodes save is packed once, and values that layers can recompute
// (saved_kind.hpp) are not kept at all. docs/rfc/024.
#pragma once

#include "base/result.hpp"
#include "worker/memory/saved_hooks.hpp"
#include "worker/memory/saved_kind.hpp"

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace osora::worker {

enum class StoreForm { none, bf16, int8, offload };

/// "none", "bf16", "int8", "offload".
[[nodiscard]] Result<StoreForm> store_form(std::string_view text);

struct StoreOptions {
    StoreForm form = StoreForm::none;
    /// int8: up or down at random, so that the mean is right; the same for a seed.
    bool stochastic = false;
    std::uint64_t seed = 0;
    std::int64_t least_bytes = 32 << 10;
    /// int8: relative error (L2) of a tensor above which it is kept in bf16.
    double error_limit = 0.02;
    int prefetch_tensors = 2;  // offload: copied back ahead of their use
};

/// For one kind of tensor, since the store was made.
struct SavedCounts {
    std::int64_t packed = 0;     // tensors
    std::int64_t shared = 0;     // saves of a tensor that was already packed
    std::int64_t remade = 0;     // saves of values that are recomputed
    std::int64_t fallbacks = 0;  // int8 that became bf16
    std::int64_t bytes = 0, packed_bytes = 0, host_bytes = 0;
    double worst_error = 0;  // of a tensor in int8, relative L2
};

class ActivationStore final : private SavingPlace {
public:
    explicit ActivationStore(StoreOptions const& options);
    ~ActivationStore() override;
    ActivationStore(ActivationStore const&) = delete;
    ActivationStore& operator=(ActivationStore const&) = delete;

    /// Open around the forward pass of one micro-batch, on the thread that runs it. Backward may
    /// come after the scope, and after the store.
    class Scope {
    public:
        /// `weights`: parameters and buffers. `number`: of the pass in the run, for its random
        /// numbers.
        Scope(ActivationStore& store, std::vector<at::Tensor> const& weights, std::uint64_t number);
        ~Scope();
        Scope(Scope const&) = delete;
        Scope& operator=(Scope const&) = delete;

    private:
        ActivationStore& store_;
        SavingScope open_;
    };

    [[nodiscard]] std::array<SavedCounts, kSavedKinds> const& counts() const { return counts_; }
    [[nodiscard]] SavedCounts total() const;

private:
    struct Index;
    std::unique_ptr<torch::autograd::SavedVariableHooks> hooks() override;
    void remake(at::Tensor const& made, std::vector<at::Tensor> const& from, Make make) override;

    std::array<SavedCounts, kSavedKinds> counts_;
    std::unique_ptr<Index> index_;
};

}  // namespace osora::worker
