#include "worker/cases/vae_case_parts.hpp"

#include "worker/vae/gaussian.hpp"

#include <fmt/format.h>

#include <utility>

namespace osora::worker {
namespace {

at::Tensor rounded(at::Tensor const& tensor) {
    return tensor.detach().to(at::kFloat).contiguous();
}

}  // namespace

Result<at::Tensor> maybe_fp64(CaseInputs& inputs, std::string_view variant, std::string_view name,
                              std::vector<std::int64_t> shape) {
    OSORA_TRY(auto const found, inputs.maybe(variant, name, real(std::move(shape))));
    return found.defined() ? found.to(at::kDouble) : found;
}

Result<at::Tensor> need_fp64(CaseInputs& inputs, std::string_view variant, std::string_view name,
                             std::vector<std::int64_t> shape) {
    OSORA_TRY(auto const found, inputs.need(variant, name, real(std::move(shape))));
    return found.to(at::kDouble);
}

Result<at::Tensor> need_frames(CaseInputs& inputs, std::string_view variant,
                               std::vector<std::int64_t> shape, std::int64_t factor) {
    OSORA_TRY(auto x, need_fp64(inputs, variant, "x", std::move(shape)));
    if (x.size(-2) % factor == 0 && x.size(-1) % factor == 0) return x;
    return Error{Errc::not_divisible,
                 fmt::format("{}: {} x {} pixels % {} != 0", case_name("in", variant, "x"),
                             x.size(-2), x.size(-1), factor)};
}

void VaeOutputs::add(std::string_view name, at::Tensor const& tensor) const {
    results.push_back({case_name("out", run.variant, name), rounded(tensor)});
}

at::Tensor VaeOutputs::add_posterior(at::Tensor const& moments) const {
    auto const gaussian = gaussian_of(moments);
    at::Tensor const z = sample(gaussian, run.eps);
    add("moments", moments);
    add("mean", gaussian.mean);
    add("logvar", gaussian.logvar);
    add("z", z);
    add("kl", kl_divergence(gaussian));
    return z;
}

void VaeOutputs::add_gradients(at::Tensor const& out, Parameters& parameters) const {
    parameters.clear_gradients();
    auto const loss = out.mul(run.loss_weight).sum();
    loss.backward();
    add("loss", loss.view({1}));
    results.push_back({case_name("grad_in", run.variant, "x"), rounded(run.x.grad())});
    for (auto const& entry : parameters.all()) {
        if (entry.kind != TensorKind::trainable) continue;
        results.push_back(
            {case_name("grad", run.variant, entry.name), rounded(entry.tensor.grad())});
    }
    parameters.clear_gradients();
}

}  // namespace osora::worker
