// The hook where autograd decides how to keep a tensor that a node saves for backward. LibTorch
// asks its engine; osora's engine forwards to the store that is open on the thread, if any. It is
// the only engine of a program that contains this file (torch/csrc/autograd/engine.h:
// set_default_engine_stub).
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

/// Until destroyed, what this thread's graphs save goes through `place`; nullptr: kept plainly.
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
