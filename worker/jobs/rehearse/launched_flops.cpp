#include "worker/jobs/rehearse/launched_flops.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <memory>
#include <string_view>

namespace osora::worker {
namespace {

thread_local double launched = 0;

double product_flops(at::Tensor const& a, at::Tensor const& b) {
    return 2.0 * static_cast<double>(a.numel()) * static_cast<double>(b.size(-1));
}

std::unique_ptr<at::ObserverContext> note_launch(at::RecordFunction const& function) {
    std::string_view const name = function.name();
    bool const adds = name == "aten::addmm" || name == "aten::baddbmm";
    if (!adds && name != "aten::mm" && name != "aten::bmm") return nullptr;
    auto const inputs = function.inputs();
    std::size_t const first = adds ? 1 : 0;
    if (inputs.size() > first + 1)
        launched += product_flops(inputs[first].toTensor(), inputs[first + 1].toTensor());
    return nullptr;
}

}  // namespace

LaunchedFlops::LaunchedFlops()
    : handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(note_launch)
                                             .needsInputs(true)
                                             .scopes({at::RecordScope::FUNCTION}))) {
    reset();
}

LaunchedFlops::~LaunchedFlops() {
    at::removeCallback(handle_);
}

double LaunchedFlops::count() const {
    return launched;
}

void LaunchedFlops::reset() {
    launched = 0;
}

}  // namespace osora::worker
