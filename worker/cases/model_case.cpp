#include "worker/cases/model_case.hpp"

#include "worker/model/weights/weight_files.hpp"

#include <ATen/ops/mul.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace osora::worker {
namespace {

constexpr std::string_view kWeightGroup = "weights/";

struct TypeName {
    std::string_view name;
    at::ScalarType type;
};
constexpr std::array kTypes{TypeName{"torch.float32", at::kFloat},
                            TypeName{"torch.bfloat16", at::kBFloat16},
                            TypeName{"torch.float16", at::kHalf}};

bool is_compute_type(at::ScalarType type) {
    return std::ranges::find(kTypes, type, &TypeName::type) != kTypes.end();
}

}  // namespace

std::vector<NamedTensor> case_weights(CaseFile const& file) {
    std::vector<NamedTensor> weights;
    for (auto const& entry : file.content.tensors)
        if (entry.name.starts_with(kWeightGroup))
            weights.push_back({entry.name.substr(kWeightGroup.size()), entry.tensor, entry.kind});
    return weights;
}

Result<at::ScalarType> case_type(CaseFile const& file) {
    if (auto const found = file.content.metadata.find("dtype");
        found != file.content.metadata.end()) {
        auto const* type = std::ranges::find(kTypes, found->second, &TypeName::name);
        if (type != kTypes.end()) return type->type;
        return invalid(
            fmt::format("metadata dtype '{}': expected torch.float32, torch.bfloat16 "
                        "or torch.float16",
                        found->second));
    }
    auto const weights = case_weights(file);
    return weights.empty() ? at::kFloat : weights.front().tensor.scalar_type();
}

Result<void> check_weight_values(CaseFile const& file) {
    auto const weights = case_weights(file);
    for (auto const& weight : weights) {
        at::ScalarType const type = weight.tensor.scalar_type();
        if (!is_compute_type(type))
            return invalid(fmt::format("{}{}: type {}, expected F32, BF16 or F16", kWeightGroup,
                                       weight.name, safetensors_type(type)));
        if (type != weights.front().tensor.scalar_type())
            return invalid(fmt::format("{}{}: type {}, but {} has {}: one type for all",
                                       kWeightGroup, weight.name, safetensors_type(type),
                                       weights.front().name,
                                       safetensors_type(weights.front().tensor.scalar_type())));
    }
    auto const finite = check_finite(weights);
    if (finite.has_error()) return invalid(std::string(kWeightGroup) + finite.error().message);
    return {};
}

Result<at::Tensor> read_loss_weight(CaseFile const& file, CaseInputs& inputs,
                                    std::string_view variant,
                                    std::vector<std::int64_t> const& shape) {
    if (file.train_step) return inputs.need(variant, "loss_weight", real(shape));
    return inputs.maybe(variant, "loss_weight", real(shape));
}

at::Tensor as_leaf(CaseFile const& file, at::Tensor const& input) {
    if (!file.train_step || !input.defined()) return input;
    return input.clone().set_requires_grad(true);
}

void append_outputs(CaseFile const& file, Parameters& parameters, CaseRun const& run,
                    std::vector<NamedTensor>& outputs) {
    at::AutoGradMode const with_gradients(file.train_step);
    auto const add = [&](std::string_view group, std::string_view name, at::Tensor const& tensor) {
        outputs.push_back({case_name(group, run.variant, name), tensor.detach()});
    };
    at::Tensor const out = run.forward();
    add("out", "out", out);
    if (!run.loss_weight.defined()) return;
    at::Tensor const loss = at::mul(out, run.loss_weight).sum();
    add("out", "loss", loss.view({1}));
    if (!file.train_step) return;
    parameters.clear_gradients();
    loss.backward();
    for (auto const& entry : parameters.all())
        if (entry.tensor.grad().defined()) add("grad", entry.name, entry.tensor.grad());
    for (auto const& input : run.inputs)
        if (input.tensor.defined() && input.tensor.grad().defined())
            add("grad_in", input.name, input.tensor.grad());
}

}  // namespace osora::worker
