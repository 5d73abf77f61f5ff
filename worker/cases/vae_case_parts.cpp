#include "worker/cases/vae_case_parts.hpp"

#include "worker/vae/gaussian.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace osora::worker {
namespace {

bool fits(at::IntArrayRef sizes, at::IntArrayRef shape) {
    return std::ranges::equal(sizes, shape, [](auto size, auto wanted) {
        return wanted == -1 ? size > 0 : size == wanted;
    });
}

at::Tensor rounded(at::Tensor const& tensor) {
    return tensor.detach().to(at::kFloat).contiguous();
}

}  // namespace

at::Tensor CaseVariant::get(std::string_view name) const {
    auto const found = inputs.find(name);
    return found == inputs.end() ? at::Tensor() : found->second;
}

Result<void> CaseVariant::require(std::string_view name, at::IntArrayRef shape) const {
    if (!has(name)) return Error{Errc::not_found, fmt::format("in/{}{} is missing", prefix, name)};
    return allow(name, shape);
}

Result<void> CaseVariant::allow(std::string_view name, at::IntArrayRef shape) const {
    auto const tensor = get(name);
    if (!tensor.defined() || fits(tensor.sizes(), shape)) return {};
    return Error{Errc::invalid_input,
                 fmt::format("in/{}{} has shape [{}], not [{}]", prefix, name,
                             fmt::join(tensor.sizes(), ","), fmt::join(shape, ","))};
}

Result<void> CaseVariant::only(std::vector<std::string> const& names) const {
    for (auto const& [name, tensor] : inputs)
        if (std::ranges::find(names, name) == names.end())
            return Error{Errc::invalid_input, fmt::format("in/{}{} is unknown", prefix, name)};
    return {};
}

Result<void> CaseVariant::divides(std::int64_t factor) const {
    at::Tensor const x = get("x");
    if (x.size(-2) % factor == 0 && x.size(-1) % factor == 0) return {};
    return Error{Errc::not_divisible, fmt::format("in/{}x: {} x {} pixels % {} != 0", prefix,
                                                  x.size(-2), x.size(-1), factor)};
}

Result<std::vector<CaseVariant>> case_variants(CaseFile const& file) {
    std::vector<CaseVariant> variants;
    for (auto const& entry : file.content.tensors) {
        if (!entry.name.starts_with("in/")) continue;
        auto const slash = entry.name.rfind('/');
        std::string const prefix = entry.name.substr(3, slash - 2);
        auto found = std::ranges::find(variants, prefix, &CaseVariant::prefix);
        if (found == variants.end()) found = variants.insert(found, CaseVariant{prefix, {}});
        found->inputs[entry.name.substr(slash + 1)] = entry.tensor.to(at::kDouble);
    }
    // What stands beside the variants is for all of them.
    auto const shared = std::ranges::find(variants, "", &CaseVariant::prefix);
    if (variants.size() > 1 && shared != variants.end()) {
        auto const inputs = std::move(shared->inputs);
        variants.erase(shared);
        for (auto& variant : variants) variant.inputs.insert(inputs.begin(), inputs.end());
    }
    if (variants.empty()) return Error{Errc::not_found, "the case has no inputs in/NAME"};
    return variants;
}

void CaseOutputs::add(std::string_view name, at::Tensor const& tensor) const {
    results.push_back({"out/" + variant.prefix + std::string(name), rounded(tensor)});
}

at::Tensor CaseOutputs::add_posterior(at::Tensor const& moments) const {
    auto const gaussian = gaussian_of(moments);
    at::Tensor const z = sample(gaussian, variant.get("eps"));
    add("moments", moments);
    add("mean", gaussian.mean);
    add("logvar", gaussian.logvar);
    add("z", z);
    add("kl", kl_divergence(gaussian));
    return z;
}

void add_gradients(std::vector<NamedTensor>& results, CaseVariant const& variant,
                   at::Tensor const& out, Parameters& parameters) {
    parameters.clear_gradients();
    auto const loss = out.mul(variant.get("loss_weight")).sum();
    loss.backward();
    CaseOutputs{results, variant}.add("loss", loss.view({1}));
    results.push_back({"grad_in/" + variant.prefix + "x", rounded(variant.get("x").grad())});
    for (auto const& entry : parameters.all())
        if (entry.kind == TensorKind::trainable)
            results.push_back(
                {"grad/" + variant.prefix + entry.name, rounded(entry.tensor.grad())});
    parameters.clear_gradients();
}

}  // namespace osora::worker
