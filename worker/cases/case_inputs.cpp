#include "worker/cases/case_inputs.hpp"

#include "base/text/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace osora::worker {
namespace {

constexpr std::string_view kInputGroup = "in/";

std::string_view last_part(std::string_view name) {
    return name.substr(name.rfind('/') + 1);
}

std::string shape_text(std::vector<std::int64_t> const& shape) {
    std::vector<std::string> sizes;
    for (std::int64_t const size : shape) sizes.push_back(size < 0 ? "*" : std::to_string(size));
    return fmt::format("[{}]", fmt::join(sizes, ","));
}

std::string_view words(Expected::Kind kind) {
    if (kind == Expected::Kind::whole) return "integers or BOOL";
    return kind == Expected::Kind::real ? "F32 or another real type" : "numbers";
}

bool is_of(at::Tensor const& tensor, Expected::Kind kind) {
    return kind == Expected::Kind::number ||
           tensor.is_floating_point() == (kind == Expected::Kind::real);
}

bool fits(at::Tensor const& tensor, std::vector<std::int64_t> const& shape) {
    if (tensor.dim() != static_cast<std::int64_t>(shape.size())) return false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        std::int64_t const size = tensor.size(static_cast<std::int64_t>(i));
        if (shape[i] < 0 ? size < 1 : size != shape[i]) return false;
    }
    return true;
}

}  // namespace

std::string case_name(std::string_view group, std::string_view variant, std::string_view name) {
    if (variant.empty()) return fmt::format("{}/{}", group, name);
    return fmt::format("{}/{}/{}", group, variant, name);
}

CaseInputs::CaseInputs(CaseFile const& file) : file_(file) {
    for (auto const& tensor : file.content.tensors) {
        if (!tensor.name.starts_with(kInputGroup)) continue;
        std::string_view const rest = std::string_view(tensor.name).substr(kInputGroup.size());
        auto const slash = rest.rfind('/');
        if (slash == std::string_view::npos) continue;
        std::string const variant(rest.substr(0, slash));
        if (std::ranges::find(variants_, variant) == variants_.end()) variants_.push_back(variant);
    }
    std::ranges::sort(variants_);
    if (variants_.empty()) variants_.emplace_back();
}

bool CaseInputs::has(std::string_view name) const {
    return std::ranges::any_of(file_.content.tensors, [&](NamedTensor const& tensor) {
        return tensor.name.starts_with(kInputGroup) && last_part(tensor.name) == name;
    });
}

Result<at::Tensor> CaseInputs::maybe(std::string_view variant, std::string_view name,
                                     Expected const& expected) {
    asked_.emplace(name);
    std::string full = case_name("in", variant, name);
    auto const* found = file_.content.find(full);
    if (found == nullptr && !variant.empty()) {
        full = case_name("in", "", name);
        found = file_.content.find(full);
    }
    if (found == nullptr) return at::Tensor();
    taken_.insert(full);
    if (!is_of(*found, expected.kind))
        return invalid(fmt::format("{}: type {}, expected {}", full,
                                   safetensors_type(found->scalar_type()), words(expected.kind)));
    if (!fits(*found, expected.shape))
        return invalid(fmt::format("{}: shape {}, expected {}", full,
                                   shape_text(found->sizes().vec()), shape_text(expected.shape)));
    return *found;
}

Result<at::Tensor> CaseInputs::need(std::string_view variant, std::string_view name,
                                    Expected const& expected) {
    OSORA_TRY(auto found, maybe(variant, name, expected));
    if (!found.defined())
        return invalid(fmt::format("{} is missing: expected {} of shape {}",
                                   case_name("in", variant, name), words(expected.kind),
                                   shape_text(expected.shape)));
    return found;
}

Result<void> CaseInputs::finish() const {
    std::vector<std::string_view> const known(asked_.begin(), asked_.end());
    std::vector<std::string> unknown;
    for (auto const& tensor : file_.content.tensors) {
        if (!tensor.name.starts_with(kInputGroup) || taken_.contains(tensor.name)) continue;
        auto const nearest = nearest_name(last_part(tensor.name), known);
        unknown.push_back(tensor.name +
                          (nearest ? fmt::format(" (did you mean {}?)", *nearest) : std::string()));
    }
    if (unknown.empty()) return {};
    return invalid(fmt::format("{} {} not read; known: {}", fmt::join(unknown, ", "),
                               unknown.size() == 1 ? "is" : "are", fmt::join(known, ", ")));
}

}  // namespace osora::worker
