#include "worker/memory/saved_hooks.hpp"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/engine.h>

#include <utility>

namespace osora::worker {
namespace {

thread_local SavingPlace* open_place = nullptr;
thread_local SavedKind kind_here = SavedKind::other;

class AskingEngine final : public torch::autograd::Engine {
public:
    ~AskingEngine() override { stop(); }

    std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks()
        override {
        return open_place == nullptr ? nullptr : open_place->hooks();
    }
};

/// Never destroyed: its threads may outlive main's objects.
torch::autograd::Engine& asking_engine() {
    static auto& engine = *std::make_unique<AskingEngine>().release();
    return engine;
}

/// Before main. LibTorch starts threads for its devices once in a process, for the engine of the
/// first backward pass (Engine::initialize_device_threads_pool); another engine that takes its
/// place later has none, and no pass on a GPU runs with it.
[[maybe_unused]] bool const kInPlace =
    (torch::autograd::set_default_engine_stub(&asking_engine), true);

}  // namespace

SavingScope::SavingScope(SavingPlace* place) : before_(std::exchange(open_place, place)) {}
SavingScope::~SavingScope() {
    open_place = before_;
}

SavedKindScope::SavedKindScope(SavedKind kind) : before_(std::exchange(kind_here, kind)) {}
SavedKindScope::~SavedKindScope() {
    kind_here = before_;
}
SavedKind saved_kind() {
    return kind_here;
}

bool store_is_open() {
    return open_place != nullptr;
}

at::Tensor remade(at::Tensor made, std::initializer_list<at::Tensor> from, Make make) {
    if (open_place != nullptr && c10::GradMode::is_enabled() && made.requires_grad())
        open_place->remake(made, from, make);
    return made;
}

}  // namespace osora::worker
