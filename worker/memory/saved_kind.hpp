// What layers say about the activations that autograd saves of them. Costs nothing where no
// activation store is open.
#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>
#include <vector>

namespace osora::worker {

/// Where a saved tensor comes from; errors are told for each kind.
enum class SavedKind { other, attention, scores, mlp };
inline constexpr int kSavedKinds = 4;

/// Until it goes, what this thread saves is of this kind. `scores`: inside scaled dot product
/// attention, whose sums of exponents (all that has not four dimensions) are never rounded.
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

using Make = at::Tensor (*)(std::vector<at::Tensor> const& from);

/// `made`, of which an activation store keeps `from` alone: make(from) gives it again, for a small
/// part of the time that its making took with what came before it. Contiguous.
at::Tensor remade(at::Tensor made, std::initializer_list<at::Tensor> from, Make make);

}  // namespace osora::worker
