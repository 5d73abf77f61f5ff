#include "worker/model/weights/merge_adapter.hpp"

#include "base/files/files.hpp"
#include "base/text/nearest.hpp"
#include "worker/model/weights/adapter_names.hpp"
#include "worker/model/weights/safetensors.hpp"
#include "worker/model/weights/weight_names.hpp"

#include <ATen/ops/addmm.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <boost/json.hpp>

#include <algorithm>
#include <map>
#include <optional>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::string_view kPrefix = "base_model.model.";
constexpr std::string_view kA = ".lora_A.weight";
constexpr std::string_view kB = ".lora_B.weight";

/// Reads a peft config; names what in it is not plain LoRA.
struct PeftConfig {
    double rank = 0, alpha = 0;
};
Result<PeftConfig> config_of(json::object const& config) {
    auto const number = [&](char const* key) {
        auto const* found = config.if_contains(key);
        return found != nullptr && found->is_number() ? found->to_number<double>() : 0.0;
    };
    PeftConfig const read{number("r"), number("lora_alpha")};
    if (read.rank < 1 || read.alpha <= 0) return invalid("r and lora_alpha must be above 0");
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
    return read;
}

/// diffusers stores peft's config in the metadata, with the part of the pipeline before its keys.
json::object config_in(std::string_view metadata) {
    boost::system::error_code failed;
    auto const value = json::parse(metadata, failed);
    json::object config;
    if (failed || !value.is_object()) return config;
    for (auto const& [key, each] : value.get_object()) {
        std::string_view const name(key);
        config[name.substr(name.rfind('.') + 1)] = each;
    }
    return config;
}

/// If alpha is given for the whole adapter.
Result<std::optional<PeftConfig>> config_for(fs::path const& file,
                                             std::map<std::string, std::string> const& metadata) {
    fs::path const beside = file.parent_path() / kAdapterConfigFile;
    std::error_code failed;
    json::object config;
    std::string where = beside.string();
    auto const inside = metadata.find("lora_adapter_metadata");
    if (fs::exists(beside, failed)) {
        OSORA_TRY(auto const text, read_file(beside, std::int64_t{16} << 20));
        boost::system::error_code wrong;
        auto const value = json::parse(text, wrong);
        if (wrong || !value.is_object()) return invalid(where + ": no JSON object");
        config = value.get_object();
    } else if (inside != metadata.end()) {
        config = config_in(inside->second);
        where = file.string() + ": lora_adapter_metadata";
    } else {
        return std::optional<PeftConfig>();
    }
    auto read = config_of(config);
    if (read.has_error()) return Error(read.error()).in(where);
    return std::optional(*read);
}

/// The tensors of a file, by the layer's name.
struct AdapterTensors {
    std::map<std::string, double> alphas;
    std::map<std::string, std::int64_t> ranks;
    bool needs_alpha = false;
};
Result<void> take(NamedTensor const& tensor, LoadedAdapter& adapter, AdapterTensors& said) {
    OSORA_TRY(auto const name, adapter_name(tensor.name));
    adapter.underscored = adapter.underscored || name.underscored;
    said.needs_alpha = said.needs_alpha || name.needs_alpha;
    if (name.part == AdapterPart::alpha) {
        if (tensor.tensor.numel() != 1) return invalid(tensor.name + " is not one number");
        said.alphas[name.layer] = tensor.tensor.to(at::kDouble).item<double>();
        return {};
    }
    bool const is_a = name.part == AdapterPart::a;
    if (is_a && tensor.tensor.dim() > 0) said.ranks[name.layer] = tensor.tensor.size(0);
    adapter.tensors.push_back(
        {fmt::format("{}{}", name.layer, is_a ? kA : kB), tensor.tensor, tensor.kind});
    return {};
}

/// The scale of each layer, from its alpha or the adapter's; the ranks that both name must agree.
Result<void> take_scales(LoadedAdapter& adapter, AdapterTensors const& said,
                         std::optional<PeftConfig> const& config) {
    if (config) adapter.scale = config->alpha / config->rank;
    for (auto const& [layer, rank] : said.ranks) {
        auto const alpha = said.alphas.find(layer);
        if (alpha != said.alphas.end()) {
            if (rank < 1 || !(alpha->second > 0)) {
                return invalid(layer + ": alpha and rank must be above 0");
            }
            adapter.scales[layer] = alpha->second / static_cast<double>(rank);
        } else if (config && static_cast<double>(rank) != config->rank) {
            return invalid(
                fmt::format("{} has rank {}, the config says r = {}", layer, rank, config->rank));
        }
    }
    if (config || said.alphas.size() >= said.ranks.size()) return {};
    if (said.needs_alpha && said.alphas.empty()) {
        return invalid(
            fmt::format("{} is not beside it, so lora_alpha is unknown", kAdapterConfigFile));
    }
    adapter.notices.emplace_back(
        "alpha is not said where it is the rank: scale 1, as diffusers and "
        "ComfyUI take it");
    return {};
}

/// The one of a folder.
fs::path adapter_file_in(fs::path const& folder) {
    std::error_code failed;
    fs::path const diffusers = folder / "pytorch_lora_weights.safetensors";
    bool const is_diffusers =
        !fs::exists(folder / kAdapterFile, failed) && fs::exists(diffusers, failed);
    return is_diffusers ? diffusers : folder / kAdapterFile;
}

/// Tensors by name, also by names without what a wrapper left, or with underscores for dots.
class WeightFinder {
public:
    WeightFinder(std::vector<NamedTensor>& weights, bool underscored) : underscored_(underscored) {
        std::string const prefix = wrapper_prefix(names_of(weights));
        for (NamedTensor& each : weights) {
            by_name_.emplace(key_of(each.name), &each);
            if (!prefix.empty()) by_name_.emplace(key_of(each.name.substr(prefix.size())), &each);
        }
    }
    /// The weight of a layer; nullptr: missing.
    [[nodiscard]] NamedTensor* find(std::string const& layer) const {
        auto const found = by_name_.find(key_of(layer + ".weight"));
        return found == by_name_.end() ? nullptr : found->second;
    }

private:
    [[nodiscard]] std::string key_of(std::string name) const {
        if (underscored_) std::ranges::replace(name, '.', '_');
        return name;
    }
    bool underscored_;
    std::map<std::string, NamedTensor*> by_name_;
};

std::string nearest_note(std::string_view wanted, std::vector<NamedTensor> const& weights) {
    auto const near = nearest_name(wanted, names_of(weights));
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
    fs::path const file = fs::is_directory(path, failed) ? adapter_file_in(path) : path;
    OSORA_TRY(auto const content, load_safetensors(file));
    OSORA_TRY(auto const config, config_for(file, content.metadata));
    LoadedAdapter adapter;
    AdapterTensors said;
    for (NamedTensor const& each : content.tensors) {
        auto const taken = take(each, adapter, said);
        if (taken.has_error()) return Error(taken.error()).in(file.string());
    }
    auto const scaled = take_scales(adapter, said, config);
    if (scaled.has_error()) return Error(scaled.error()).in(file.string());
    return adapter;
}

Result<std::vector<NamedTensor>> merge_adapter(std::vector<NamedTensor> weights,
                                               LoadedAdapter const& adapter) {
    at::NoGradGuard const no_grad;
    std::map<std::string, at::Tensor> parts;
    for (NamedTensor const& each : adapter.tensors) parts.emplace(each.name, each.tensor);
    WeightFinder const finder(weights, adapter.underscored);
    for (auto const& [name, a] : parts) {
        bool const is_a = name.ends_with(kA);
        std::string const layer = name.substr(0, name.size() - kA.size());  // kA, kB: one length
        auto const other = parts.find(layer + std::string(is_a ? kB : kA));
        if (other == parts.end()) return invalid(fmt::format("adapter: {} has no pair", name));
        if (!is_a) continue;
        at::Tensor const& b = other->second;
        NamedTensor* const found = finder.find(layer);
        if (found == nullptr) {
            return invalid(fmt::format("weights: {}.weight is missing, which the adapter changes{}",
                                       layer, nearest_note(layer + ".weight", weights)));
        }
        at::Tensor& weight = found->tensor;
        bool const fits = weight.dim() == 2 && a.dim() == 2 && b.dim() == 2 &&
                          a.size(0) == b.size(1) && a.size(1) == weight.size(1) &&
                          b.size(0) == weight.size(0);
        if (!fits) return invalid(fmt::format("adapter: {} does not fit {}.weight", name, layer));
        auto const own = adapter.scales.find(layer);
        double const scale = own == adapter.scales.end() ? adapter.scale : own->second;
        weight = at::addmm(weight.to(at::kFloat), b.to(at::kFloat), a.to(at::kFloat), 1, scale)
                     .to(weight.scalar_type());
    }
    return weights;
}

}  // namespace osora::worker
