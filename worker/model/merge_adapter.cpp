#include "worker/model/merge_adapter.hpp"

#include "base/files.hpp"
#include "base/nearest.hpp"
#include "worker/model/safetensors.hpp"

#include <ATen/ops/addmm.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <boost/json.hpp>

#include <map>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::string_view kPrefix = "base_model.model.";
constexpr std::string_view kA = ".lora_A.weight";
constexpr std::string_view kB = ".lora_B.weight";

/// lora_alpha / r of a config, or what of it is not plain LoRA.
Result<double> scale_of(std::string_view text) {
    boost::system::error_code failed;
    auto const value = json::parse(text, failed);
    if (failed || !value.is_object()) return invalid("no JSON object");
    auto const& config = value.get_object();
    auto const number = [&](char const* key) {
        auto const* found = config.if_contains(key);
        return found != nullptr && found->is_number() ? found->to_number<double>() : 0.0;
    };
    double const rank = number("r"), alpha = number("lora_alpha");
    if (rank < 1 || alpha <= 0) return invalid("r and lora_alpha must be above 0");
    for (char const* key : {"use_rslora", "use_dora", "fan_in_fan_out"}) {
        auto const* found = config.if_contains(key);
        if (found != nullptr && found->is_bool() && found->get_bool()) {
            return invalid(fmt::format("{}: only plain LoRA is read", key));
        }
    }
    for (char const* key : {"rank_pattern", "alpha_pattern"}) {
        auto const* found = config.if_contains(key);
        if (found != nullptr && found->is_object() && !found->get_object().empty()) {
            return invalid(fmt::format("{}: one rank and one alpha for all layers, please", key));
        }
    }
    return alpha / rank;
}

std::string nearest_note(std::string_view wanted, std::vector<NamedTensor> const& weights) {
    std::vector<std::string_view> names;
    for (NamedTensor const& each : weights) names.push_back(each.name);
    auto const near = nearest_name(wanted, names);
    return near ? fmt::format("; the nearest is {}", *near) : "";
}

}  // namespace

std::string peft_name(std::string_view name) {
    return fmt::format("{}{}", kPrefix, name);
}

std::string plain_name(std::string_view name) {
    if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
    return std::string(name);
}

std::string adapter_config(std::vector<NamedTensor> const& adapter, double alpha) {
    json::array modules;
    std::int64_t rank = 0;
    for (NamedTensor const& each : adapter) {
        if (!each.name.ends_with(kA)) continue;
        rank = each.tensor.size(0);
        std::string const name = plain_name(each.name);
        modules.emplace_back(std::string_view(name).substr(0, name.size() - kA.size()));
    }
    return json::serialize(json::object{{"peft_type", "LORA"},
                                        {"r", rank},
                                        {"lora_alpha", alpha},
                                        {"lora_dropout", 0.0},
                                        {"bias", "none"},
                                        {"fan_in_fan_out", false},
                                        {"use_rslora", false},
                                        {"inference_mode", true},
                                        {"base_model_name_or_path", nullptr},
                                        {"target_modules", std::move(modules)}}) +
           "\n";
}

Result<LoadedAdapter> load_adapter(fs::path const& path) {
    std::error_code failed;
    bool const folder = fs::is_directory(path, failed);
    fs::path const file = folder ? path / kAdapterFile : path;
    fs::path const config_file = file.parent_path() / kAdapterConfigFile;
    OSORA_TRY(auto const text, read_file(config_file, std::int64_t{16} << 20));
    auto const scale = scale_of(text);
    if (scale.has_error()) return Error(scale.error()).in(config_file.string());
    OSORA_TRY(auto content, load_safetensors(file));
    LoadedAdapter adapter{std::move(content.tensors), *scale};
    for (NamedTensor& each : adapter.tensors) {
        each.name = plain_name(each.name);
        if (each.name.ends_with(kA) || each.name.ends_with(kB)) continue;
        return invalid(
            fmt::format("{}: {} is not part of a LoRA adapter", file.string(), each.name));
    }
    return adapter;
}

Result<std::vector<NamedTensor>> merge_adapter(std::vector<NamedTensor> weights,
                                               LoadedAdapter const& adapter) {
    at::NoGradGuard const no_grad;
    std::map<std::string, at::Tensor> parts;
    for (NamedTensor const& each : adapter.tensors) parts.emplace(each.name, each.tensor);
    std::map<std::string, NamedTensor*> by_name;
    for (NamedTensor& each : weights) by_name.emplace(each.name, &each);
    for (auto const& [name, a] : parts) {
        bool const is_a = name.ends_with(kA);
        std::string const layer = name.substr(0, name.size() - kA.size());  // kA, kB: one length
        auto const other = parts.find(layer + std::string(is_a ? kB : kA));
        if (other == parts.end()) return invalid(fmt::format("adapter: {} has no pair", name));
        if (!is_a) continue;
        at::Tensor const& b = other->second;
        auto const found = by_name.find(layer + ".weight");
        if (found == by_name.end()) {
            return invalid(fmt::format("weights: {}.weight is missing, which the adapter changes{}",
                                       layer, nearest_note(layer + ".weight", weights)));
        }
        at::Tensor& weight = found->second->tensor;
        bool const fits = weight.dim() == 2 && a.dim() == 2 && b.dim() == 2 &&
                          a.size(0) == b.size(1) && a.size(1) == weight.size(1) &&
                          b.size(0) == weight.size(0);
        if (!fits) return invalid(fmt::format("adapter: {} does not fit {}.weight", name, layer));
        weight =
            at::addmm(weight.to(at::kFloat), b.to(at::kFloat), a.to(at::kFloat), 1, adapter.scale)
                .to(weight.scalar_type());
    }
    return weights;
}

}  // namespace osora::worker
