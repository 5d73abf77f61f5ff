#include "worker/train/trainable.hpp"

#include "base/text/nearest.hpp"
#include "worker/model/seeded_generator.hpp"

#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace osora::worker {
namespace {

Error nothing_matches(std::string_view key, std::string_view wanted,
                      std::set<std::string> const& names) {
    std::vector<std::string_view> const views(names.begin(), names.end());
    auto const near = nearest_name(wanted, views);
    constexpr std::size_t kShown = 8;
    std::string const hint =
        near ? fmt::format("did you mean \"{}\"?", *near)
             : fmt::format(
                   "there are {}{}",
                   fmt::join(views.begin(), views.begin() + std::min(kShown, views.size()), ", "),
                   views.size() > kShown ? ", ..." : "");
    return Error{Errc::invalid_input,
                 fmt::format("{}: \"{}\" matches nothing in this model; {}", key, wanted, hint)};
}

/// "blocks.0.attn.qkv.weight" -> "blocks.", "blocks.0.", ... and the name itself.
std::set<std::string> prefixes_of(Parameters const& parameters) {
    std::set<std::string> prefixes;
    for (NamedTensor const& each : parameters.all()) {
        for (std::size_t dot = each.name.find('.'); dot != std::string::npos;
             dot = each.name.find('.', dot + 1)) {
            prefixes.insert(each.name.substr(0, dot + 1));
        }
        prefixes.insert(each.name);
    }
    return prefixes;
}

Result<void> freeze_prefixes(Parameters& parameters, std::vector<std::string> const& prefixes) {
    for (std::string const& prefix : prefixes) {
        auto const matches = [&](NamedTensor const& each) { return each.name.starts_with(prefix); };
        if (prefix.empty() || std::ranges::none_of(parameters.all(), matches)) {
            return nothing_matches("optim.freeze", prefix, prefixes_of(parameters));
        }
        parameters.freeze([&](std::string_view name) { return name.starts_with(prefix); });
    }
    return {};
}

/// Linears of attention and MLP: those in a block, but not those that compute its modulation.
bool is_usual_target(std::string_view name) {
    bool const in_block = name.find("blocks.") != std::string_view::npos;
    return in_block && !name.ends_with("_mod.lin") && !name.ends_with("modulation.lin");
}

bool ends_in(std::string_view name, std::string_view target) {
    if (!name.ends_with(target)) return false;
    return name.size() == target.size() || name[name.size() - target.size() - 1] == '.';
}

Result<std::vector<LinearSlot>> targets_of(Parameters const& parameters,
                                           std::vector<std::string> const& targets) {
    std::vector<LinearSlot> chosen;
    std::set<std::string> endings;
    std::set<std::string_view> used;
    for (LinearSlot const& linear : parameters.linears()) {
        endings.insert(linear.name.substr(linear.name.rfind('.') + 1));
        bool take = targets.empty() && is_usual_target(linear.name);
        for (std::string const& target : targets) {
            if (target.empty() || !ends_in(linear.name, target)) continue;
            take = true;
            used.insert(target);
        }
        if (take) chosen.push_back(linear);
    }
    for (std::string const& target : targets) {
        if (!used.contains(target)) return nothing_matches("optim.lora_targets", target, endings);
    }
    if (chosen.empty()) {
        return Error{Errc::invalid_input, "optim.lora_rank: this model has no linear for adapters"};
    }
    return chosen;
}

/// `cut`: along which ranks that share the layer have slices; none: each has it whole.
struct NewTensor {
    std::string name;
    std::vector<std::int64_t> shape;
    std::optional<std::int64_t> cut;
    double limit = 0;  // of its values
};

at::Tensor new_tensor(Parameters& parameters, LinearSlot const& linear, NewTensor const& wanted,
                      std::uint64_t seed) {
    at::Tensor const tensor = wanted.cut ? parameters.add_slice(wanted.name, wanted.shape,
                                                                *wanted.cut, linear.shared.parts)
                                         : parameters.add(wanted.name, wanted.shape);
    at::NoGradGuard const no_grad;
    tensor.zero_();
    if (wanted.limit > 0) {
        // Drawn whole on the CPU in fp32 and copied, so that slices, device and dtype do not change
        // the draws.
        at::Tensor const values = at::empty(wanted.shape, at::kFloat);
        parameters.take(
            *parameters.find(wanted.name),
            values.uniform_(-wanted.limit, wanted.limit, generator_for(seed, wanted.name)));
    }
    return tensor;
}

Result<void> add_adapters(Parameters& parameters, plan::OptimSection const& optim,
                          std::uint64_t seed) {
    OSORA_TRY(auto const linears, targets_of(parameters, optim.lora_targets));
    std::int64_t const rank = optim.lora_rank;
    parameters.freeze([](std::string_view) { return true; });
    parameters.delay_memory(false);
    for (LinearSlot const& linear : linears) {
        if (rank > std::min(linear.in, linear.out)) {
            return Error{
                Errc::invalid_input,
                fmt::format("optim.lora_rank = {}: {} is {} x {}; nearest valid: {}", rank,
                            linear.name, linear.out, linear.in, std::min(linear.in, linear.out))};
        }
        double const limit = 1 / std::sqrt(static_cast<double>(linear.in));
        bool const shared = !linear.shared.parts.empty(),
                   inputs = linear.shared.side == SharedSide::Side::inputs;
        auto const cut = [&](bool along, std::int64_t dim) {
            return shared && along ? std::optional(dim) : std::nullopt;
        };
        parameters.enter_unit(linear.unit);
        parameters.set_place(linear.place);
        linear.adapter->a = new_tensor(
            parameters, linear,
            {linear.name + ".lora_A.weight", {rank, linear.in}, cut(inputs, 1), limit}, seed);
        linear.adapter->b =
            new_tensor(parameters, linear,
                       {linear.name + ".lora_B.weight", {linear.out, rank}, cut(!inputs, 0)}, seed);
        linear.adapter->scale =
            optim.lora_alpha.value_or(static_cast<double>(rank)) / static_cast<double>(rank);
    }
    return {};
}

}  // namespace

Result<void> choose_trainable(Parameters& parameters, plan::OptimSection const& optim,
                              std::uint64_t seed) {
    OSORA_TRY_VOID(freeze_prefixes(parameters, optim.freeze));
    if (optim.lora_rank > 0) OSORA_TRY_VOID(add_adapters(parameters, optim, seed));
    if (!parameters.trainable().empty()) return {};
    bool const elsewhere = std::ranges::any_of(parameters.all(), [](NamedTensor const& each) {
        return each.kind == TensorKind::trainable;
    });
    return Error{Errc::invalid_input,
                 elsewhere ? "optim.freeze leaves this rank's pipeline stage nothing to train; "
                             "choose a smaller parallel.pp_size"
                           : "optim.freeze leaves nothing to train"};
}

}  // namespace osora::worker
