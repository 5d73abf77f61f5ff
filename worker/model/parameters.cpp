#include "worker/model/parameters.hpp"

#include "base/check.hpp"

#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace osora::worker {
namespace {

std::string shape_text(at::IntArrayRef shape) {
    return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ","));
}

/// At most the first few, so that a file of another network gives a readable message.
void add_problem(std::vector<std::string>& problems, std::string text) {
    constexpr std::size_t kShown = 5;
    if (problems.size() < kShown)
        problems.push_back(std::move(text));
    else if (problems.size() == kShown)
        problems.emplace_back("...");
}

}  // namespace

at::Tensor Parameters::add(std::string name, at::IntArrayRef shape, TensorKind kind) {
    OSORA_CHECK(find(name) == nullptr, "a parameter name is used once");
    at::Tensor tensor = at::empty(shape, options_);
    if (kind == TensorKind::trainable) tensor.set_requires_grad(true);
    index_.emplace(name, entries_.size());
    entries_.push_back({std::move(name), tensor, kind});
    return tensor;
}

std::shared_ptr<Adapter const> Parameters::add_linear(std::string name, std::int64_t in,
                                                      std::int64_t out) {
    linears_.push_back({std::move(name), in, out, std::make_shared<Adapter>()});
    return linears_.back().adapter;
}

bool Parameters::has_adapters() const {
    return std::ranges::any_of(
        linears_, [](LinearSlot const& linear) { return linear.adapter->a.defined(); });
}

void Parameters::freeze(std::function<bool(std::string_view)> const& which) {
    for (NamedTensor& entry : entries_) {
        if (entry.kind != TensorKind::trainable || !which(entry.name)) continue;
        entry.kind = TensorKind::frozen;
        entry.tensor.set_requires_grad(false);
    }
}

std::vector<at::Tensor> Parameters::trainable() const {
    std::vector<at::Tensor> tensors;
    for (auto const& entry : entries_)
        if (entry.kind == TensorKind::trainable) tensors.push_back(entry.tensor);
    return tensors;
}

NamedTensor const* Parameters::find(std::string_view name) const {
    auto const found = index_.find(name);
    return found == index_.end() ? nullptr : &entries_[found->second];
}

std::int64_t Parameters::trainable_count() const {
    std::int64_t count = 0;
    for (auto const& entry : entries_)
        if (entry.kind == TensorKind::trainable) count += entry.tensor.numel();
    return count;
}

Result<void> Parameters::check(std::vector<NamedTensor> const& values) const {
    std::map<std::string_view, at::Tensor const*> by_name;
    for (auto const& value : values) by_name[value.name] = &value.tensor;
    std::vector<std::string> problems;
    for (auto const& entry : entries_) {
        auto const found = by_name.find(entry.name);
        if (found == by_name.end()) {
            add_problem(problems, entry.name + " is missing");
        } else if (found->second->sizes() != entry.tensor.sizes()) {
            add_problem(problems, fmt::format("{} has shape {}, not {}", entry.name,
                                              shape_text(found->second->sizes()),
                                              shape_text(entry.tensor.sizes())));
        }
    }
    for (auto const& value : values)
        if (find(value.name) == nullptr) add_problem(problems, value.name + " is unknown");
    if (!problems.empty())
        return Error{Errc::invalid_input, fmt::format("weights: {}", fmt::join(problems, "; "))};
    return {};
}

Result<void> Parameters::load(std::vector<NamedTensor> const& values) {
    OSORA_TRY_VOID(check(values));
    at::NoGradGuard const no_grad;
    for (auto const& value : values) entries_[index_.at(value.name)].tensor.copy_(value.tensor);
    return {};
}

void Parameters::clear_gradients() {
    for (auto& entry : entries_) entry.tensor.mutable_grad() = at::Tensor();
}

}  // namespace osora::worker
