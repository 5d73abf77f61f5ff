// Where autograd asks what to keep of a tensor that a node saves for backward. LibTorch asks its
// engine; ours answers with the store that is open on the thread, if there is one. The engine is
// put in place once, with the first store (torch/csrc/autograd/engine.h: set_default_engine_stub).
#pragma once

#include "worker/memory/saved_kind.hpp"

#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <memory>

namespace osora::worker {

class SavingPlace {
public:
    virtual ~SavingPlace() = default;
    [[nodiscard]] virtual std::unique_ptr<torch::autograd::SavedVariableHooks> hooks() = 0;
    /// As remade() of saved_kind.hpp.
    virtual void remake(at::Tensor const& made, std::vector<at::Tensor> const& from, Make make) = 0;
};

/// Until it goes, what this thread's graphs save goes through `place`; nullptr: is kept plainly.
class SavingScope {
public:
    explicit SavingScope(SavingPlace* place);
    ~SavingScope();
    SavingScope(SavingScope const&) = delete;
    SavingScope& operator=(SavingScope const&) = delete;

private:
    SavingPlace* before_;
};

/// Plain saving.
class PlainSaving : SavingScope {
public:
    PlainSaving() : SavingScope(nullptr) {}
};

}  // namespace osora::worker
