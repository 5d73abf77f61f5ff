#include "worker/model/parameters.hpp"

#include "base/check.hpp"
#include "worker/model/storage_bytes.hpp"
#include "worker/model/weights/weight_names.hpp"

#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <c10/util/accumulate.h>
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
    at::Tensor tensor =
        at::empty(shape, place_ == Place::other_stage ? options_.device(at::kMeta) : options_);
    if (kind == TensorKind::trainable) tensor.set_requires_grad(true);
    if (kind == TensorKind::trainable && delays_memory_ && place_ != Place::other_stage)
        set_storage_bytes(tensor, 0);
    index_.emplace(name, entries_.size());
    entries_.push_back({std::move(name), tensor, kind});
    units_.push_back(unit_);
    places_.push_back(place_);
    return tensor;
}

Place Parameters::place_of(NamedTensor const& own) const {
    return places_[index_.at(own.name)];
}

at::Tensor Parameters::add_slice(std::string name, at::IntArrayRef shape, std::int64_t dim,
                                 std::vector<std::int64_t> parts) {
    if (share_.ranks == 1) return add(std::move(name), shape);
    for (std::int64_t const part : parts) OSORA_CHECK_EQ(part % share_.ranks, 0);
    TensorSlice slice{shape.vec(), dim, std::move(parts), share_.rank, share_.ranks};
    at::Tensor const tensor = add(name, slice.own_sizes());
    slices_.emplace(std::move(name), std::move(slice));
    return tensor;
}

TensorSlice const* Parameters::slice_of(NamedTensor const& own) const {
    auto const found = slices_.find(own.name);
    return found == slices_.end() ? nullptr : &found->second;
}

at::IntArrayRef Parameters::whole_sizes(NamedTensor const& own) const {
    auto const* slice = slice_of(own);
    return slice == nullptr ? own.tensor.sizes() : at::IntArrayRef(slice->sizes);
}

at::Tensor Parameters::part_of(NamedTensor const& own, at::Tensor const& whole) const {
    auto const* slice = slice_of(own);
    return slice == nullptr ? whole : slice->of(whole);
}

void Parameters::take(NamedTensor const& own, at::Tensor const& whole) const {
    own.tensor.copy_(part_of(own, whole));
}

void Parameters::initialise(Draw draw) {
    draw_ = std::move(draw);
    for (NamedTensor const& entry : entries_)
        if (is_here(entry) && has_memory(entry.tensor)) write_values(entry, entry.tensor);
}

void Parameters::write_values(at::Tensor const& own, at::Tensor const& into) const {
    auto const found = std::ranges::find_if(
        entries_, [&](NamedTensor const& entry) { return entry.tensor.is_same(own); });
    OSORA_CHECK(found != entries_.end());
    write_values(*found, into);
}

void Parameters::write_values(NamedTensor const& own, at::Tensor const& into) const {
    at::NoGradGuard const no_grad;
    auto const loaded = loaded_.find(own.name);
    if (loaded != loaded_.end()) {
        bool const is_part = loaded->second.sizes() == into.sizes();
        into.copy_(is_part ? loaded->second : part_of(own, loaded->second));
        return;
    }
    OSORA_CHECK(draw_, "initialise() or load() comes before");
    bool const in_place = into.is_cpu() && into.scalar_type() == at::kFloat &&
                          into.is_contiguous() && slice_of(own) == nullptr;
    at::Tensor const values = in_place ? into : at::empty(whole_sizes(own), at::kFloat);
    draw_(own, values);
    if (!in_place) into.copy_(part_of(own, values));
}

void Parameters::allocate(std::vector<at::Tensor> const& tensors) {
    for (at::Tensor const& each : tensors) {
        if (has_memory(each)) continue;
        set_storage_bytes(each, each.nbytes());
        write_values(each, each);
    }
}

void Parameters::allocate_untrained() {
    for (NamedTensor const& entry : entries_)
        if (entry.kind != TensorKind::trainable && is_here(entry) && !homes_.contains(entry.name))
            allocate({entry.tensor});
}

void Parameters::move_home(NamedTensor const& own, at::Tensor home) {
    OSORA_CHECK(home.sizes() == own.tensor.sizes());
    homes_.insert_or_assign(own.name, std::move(home));
}

at::Tensor const& Parameters::home_of(NamedTensor const& own) const {
    auto const found = homes_.find(own.name);
    return found == homes_.end() ? own.tensor : found->second;
}

void Parameters::allocate_all() {
    allocate_untrained();
    allocate(trainable());
}

void Parameters::forget_values() {
    draw_ = nullptr;
    loaded_.clear();
}

std::shared_ptr<Adapter const> Parameters::add_linear(std::string name, std::int64_t in,
                                                      std::int64_t out, SharedSide shared) {
    linears_.push_back(
        {std::move(name), in, out, std::make_shared<Adapter>(), std::move(shared), unit_, place_});
    return linears_.back().adapter;
}

bool Parameters::has_adapters() const {
    return std::ranges::any_of(
        linears_, [](LinearSlot const& linear) { return linear.adapter->a.defined(); });
}

Parameters Parameters::trainable_on(at::TensorOptions const& options, bool delays) const {
    Parameters made(options, share_);
    made.delay_memory(delays);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        NamedTensor const& own = entries_[i];
        if (own.kind != TensorKind::trainable) continue;
        made.enter_unit(units_[i]);
        made.set_place(places_[i]).add(own.name, own.tensor.sizes());
        if (auto const* slice = slice_of(own)) made.slices_.emplace(own.name, *slice);
    }
    return made;
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
        if (entry.kind == TensorKind::trainable && is_here(entry)) tensors.push_back(entry.tensor);
    return tensors;
}

std::vector<std::size_t> Parameters::trainable_units() const {
    std::vector<std::size_t> units;
    for (std::size_t i = 0; i < entries_.size(); ++i)
        if (entries_[i].kind == TensorKind::trainable && is_here(entries_[i]))
            units.push_back(units_[i]);
    return units;
}

std::size_t Parameters::unit_of(NamedTensor const& own) const {
    return units_[index_.at(own.name)];
}

NamedTensor const* Parameters::find(std::string_view name) const {
    auto const found = index_.find(name);
    return found == index_.end() ? nullptr : &entries_[found->second];
}

std::int64_t Parameters::trainable_count() const {
    std::int64_t count = 0;
    for (auto const& entry : entries_)
        if (entry.kind == TensorKind::trainable)
            count += c10::multiply_integers(whole_sizes(entry));
    return count;
}

/// Weights of another network, or under other names: their names are more helpful than a list of
/// all that is missing.
Result<void> Parameters::check_any_known(std::vector<NamedTensor> const& values) const {
    std::vector<std::string_view> names, parts;
    for (std::string_view const name : names_of(values)) {
        if (find(name) != nullptr) return {};
        auto const dot = name.find('.');
        bool const fits = dot != name.npos && find(name.substr(dot + 1)) != nullptr;
        if (fits) parts.push_back(name.substr(0, dot + 1));
        names.push_back(name);
    }
    if (entries_.empty() || names.empty()) return {};
    std::string const choice =
        parts.empty() ? ""
                      : fmt::format(
                            "; after these prefixes it has names of the network: {}; choose one as "
                            "FILE#{}",
                            first_parts(parts), parts.front().substr(0, parts.front().size() - 1));
    return Error{
        Errc::invalid_input,
        fmt::format("weights: none of its {} names is one of the network; they begin with "
                    "{}; the network's with {}{}",
                    names.size(), first_parts(names), first_parts(names_of(entries_)), choice)};
}

Result<void> Parameters::check(std::vector<NamedTensor> const& values) const {
    std::map<std::string_view, at::Tensor const*> by_name;
    for (auto const& value : values) by_name[value.name] = &value.tensor;
    OSORA_TRY_VOID(check_any_known(values));
    std::vector<std::string> problems;
    for (auto const& entry : entries_) {
        auto const found = by_name.find(entry.name);
        if (found == by_name.end()) {
            add_problem(problems, entry.name + " is missing");
        } else if (found->second->sizes() != entry.tensor.sizes() &&
                   found->second->sizes() != whole_sizes(entry)) {
            add_problem(problems, fmt::format("{} has shape {}, not {}", entry.name,
                                              shape_text(found->second->sizes()),
                                              shape_text(whole_sizes(entry))));
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
    for (auto const& value : values) {
        NamedTensor const& entry = entries_[index_.at(value.name)];
        // Its own initial values are not copied (keep_initial).
        if (!is_here(entry) || value.tensor.is_alias_of(entry.tensor)) continue;
        if (!has_memory(entry.tensor))
            loaded_.insert_or_assign(entry.name, value.tensor);
        else if (value.tensor.sizes() == entry.tensor.sizes())
            entry.tensor.copy_(value.tensor);
        else
            take(entry, value.tensor);
    }
    return {};
}

void Parameters::clear_gradients() {
    for (auto& entry : entries_) entry.tensor.mutable_grad() = at::Tensor();
}

}  // namespace osora::worker
