// Layers' hints about the activations that autograd saves for them. Free if no activation store is
// open.
#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>
#include <vector>

namespace osora::worker {

/// Origin of a saved tensor; errors are reported per kind.
enum class SavedKind { other, attention, scores, mlp };
inline constexpr int kSavedKinds = 4;

/// Until destroyed, what this thread saves is of this kind. `scores`: inside scaled dot product
/// attention, whose sums of exponents (everything that is not four-dimensional) are never rounded.
class SavedKindScope {
public:
    explicit SavedKindScope(SavedKind kind);
    ~SavedKindScope();
    SavedKindScope(SavedKindScope const&) = delete;
    SavedKindScope& operator=(SavedKindScope const&) = delete;

private:
    SavedKind before_;
};
[[nodiscard]] SavedKind saved_kind();

/// Whether an activation store is open on this thread.
[[nodiscard]] bool store_is_open();

using Make = at::Tensor (*)(std::vector<at::Tensor> const& from);

/// `made`, of which an activation store keeps only `from`: make(from) recomputes it, in a small
/// part of the time that computing it took with what came before. Contiguous.
at::Tensor remade(at::Tensor made, std::initializer_list<at::Tensor> from, Make make);

}  // namespace osora::worker
