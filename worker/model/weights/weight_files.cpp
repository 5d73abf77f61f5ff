#include "worker/model/weights/weight_files.hpp"

#include "base/files/files.hpp"
#include "base/files/part_of_file.hpp"
#include "worker/model/weights/safetensors.hpp"
#include "worker/model/weights/torch_file.hpp"
#include "worker/model/weights/weight_names.hpp"

#include <ATen/ops/isfinite.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kTextBytesMax = std::int64_t{64} << 20;  // of an index, of config.json
constexpr std::string_view kIndexEnding = ".index.json";

Error corrupt(std::string message) {
    return Error{Errc::corrupt, std::move(message)};
}

Result<LoadedWeights> load_file(fs::path const& path, std::string const& set = "") {
    if (is_torch_file(path)) return load_torch_file(path, set);
    OSORA_TRY(auto content, load_safetensors(path));
    return LoadedWeights{std::move(content.tensors), {}};
}

/// Before the first one is read: which of the shards are not there.
Result<void> check_there(fs::path const& index, std::set<std::string> const& files) {
    std::vector<std::string> missing;
    std::error_code failed;
    for (auto const& file : files) {
        if (!fs::exists(index.parent_path() / file, failed)) missing.push_back(file);
    }
    if (missing.empty()) return {};
    return Error{Errc::not_found,
                 fmt::format("{}: {} of the {} files that it lists {} not there: {}",
                             index.string(), missing.size(), files.size(),
                             missing.size() == 1 ? "is" : "are", fmt::join(missing, ", "))};
}

Result<LoadedWeights> load_shards(fs::path const& index) {
    OSORA_TRY(auto const text, read_file(index, kTextBytesMax));
    auto listed = parse_weight_index(text);
    if (listed.has_error()) return std::move(listed).error().in(index.string());
    std::set<std::string> files;
    for (auto const& [name, file] : *listed) files.insert(file);
    OSORA_TRY_VOID(check_there(index, files));
    LoadedWeights weights;
    for (auto const& file : files) {
        OSORA_TRY(auto shard, load_file(index.parent_path() / file));
        for (auto& tensor : shard.tensors) {
            auto const found = listed->find(tensor.name);
            if (found == listed->end() || found->second != file)
                return corrupt(fmt::format("{}: '{}' is in {}, but not listed there",
                                           index.string(), tensor.name, file));
            listed->erase(found);
            weights.tensors.push_back(std::move(tensor));
        }
        std::ranges::move(shard.notices, std::back_inserter(weights.notices));
    }
    if (!listed->empty())
        return corrupt(fmt::format("{}: '{}' is not in {}", index.string(), listed->begin()->first,
                                   listed->begin()->second));
    return weights;
}

/// "diffusion_pytorch_model.fp16.safetensors": the same weights in another type.
bool is_variant(std::string const& name) {
    constexpr std::array<std::string_view, 4> kVariants{".fp16", ".bf16", ".fp32", ".non_ema"};
    return std::ranges::any_of(kVariants, [&](auto each) { return name.find(each) != name.npos; });
}

/// A shard has its index, which is read in its place.
bool is_shard(std::string const& name) {
    return name.find("-of-0") != std::string::npos;
}

/// What Hugging Face calls the weights of a folder.
constexpr std::array<std::string_view, 6> kUsualNames{
    "model.safetensors.index.json",
    "model.safetensors",
    "diffusion_pytorch_model.safetensors.index.json",
    "diffusion_pytorch_model.safetensors",
    "pytorch_model.bin.index.json",
    "pytorch_model.bin"};

/// The files of a folder that are weights, by kind, those of other types last.
struct Found {
    std::vector<fs::path> indexes, safetensors, torch;
};
Found weights_in(fs::path const& folder, bool variants, std::error_code& failed) {
    Found found;
    for (auto const& entry : fs::directory_iterator(folder, failed)) {
        std::string const name = entry.path().filename().string();
        if (is_variant(name) != variants || is_shard(name)) continue;
        if (name.ends_with(kIndexEnding)) found.indexes.push_back(entry.path());
        if (name.ends_with(".safetensors")) found.safetensors.push_back(entry.path());
        if (is_torch_file(name)) found.torch.push_back(entry.path());
    }
    return found;
}

/// By the usual names, else its only index, else its only file; weights in another number type only
/// if there are no others.
Result<fs::path> file_in(fs::path const& folder) {
    std::error_code failed;
    for (std::string_view const usual : kUsualNames)
        if (fs::exists(folder / usual, failed)) return folder / usual;
    Found found = weights_in(folder, false, failed);
    bool const none = found.indexes.empty() && found.safetensors.empty() && found.torch.empty();
    if (none && !failed) found = weights_in(folder, true, failed);
    for (auto const* kind : {&found.indexes, &found.safetensors, &found.torch}) {
        if (!failed && kind->size() == 1) return kind->front();
        if (!kind->empty()) break;
    }
    return Error{Errc::not_found,
                 fmt::format("{}: expected one *{}, one *.safetensors or one file of torch.save, "
                             "found {}, {} and {}: name the file",
                             folder.string(), kIndexEnding, found.indexes.size(),
                             found.safetensors.size(), found.torch.size())};
}

/// The tensors whose names begin with "PART.", without that.
Result<LoadedWeights> part_of(LoadedWeights weights, PartOfFile const& wanted) {
    std::string const prefix = wanted.part + ".";
    std::string const there = first_parts(names_of(weights.tensors));
    std::erase_if(weights.tensors,
                  [&](auto const& each) { return !each.name.starts_with(prefix); });
    if (weights.tensors.empty()) {
        return invalid(fmt::format("{}: no name begins with '{}'; names begin with {}",
                                   wanted.file.string(), prefix, there));
    }
    for (auto& each : weights.tensors) each.name.erase(0, prefix.size());
    return weights;
}

Result<LoadedWeights> load_part(PartOfFile const& wanted) {
    if (is_torch_file(wanted.file)) {
        auto set = load_file(wanted.file, wanted.part);
        if (set.has_value() || set.error().code != Errc::invalid_input) return set;
        auto all = load_file(wanted.file);
        auto part = all.has_error() ? std::move(all) : part_of(std::move(*all), wanted);
        return part.has_value() ? part : set;
    }
    OSORA_TRY(auto all, load_weight_files(wanted.file));
    return part_of(std::move(all), wanted);
}

bool is_8_bit(at::Tensor const& tensor) {
    return tensor.scalar_type() == at::kFloat8_e4m3fn || tensor.scalar_type() == at::kFloat8_e5m2;
}

/// ComfyUI's "scaled fp8": a number for each weight. Other scales are of blocks or of channels.
struct Scale {
    static constexpr std::string_view kEnding = ".scale_weight";
    static bool is_other(std::string_view name) {
        return name.ends_with(".weight_scale") || name.ends_with(".weight_scale_inv");
    }
    static bool is_dropped(std::string_view name) {
        return name.ends_with(kEnding) || name.ends_with(".scale_input") || name == "scaled_fp8";
    }
};

/// 8-bit floating point as bf16, exactly; times its scale if it has one.
Result<void> widen(LoadedWeights& weights) {
    std::int64_t const count = std::ranges::count_if(
        weights.tensors, [](auto const& each) { return is_8_bit(each.tensor); });
    if (count == 0) return {};
    std::map<std::string, double> scales;
    for (auto const& [name, tensor, kind] : weights.tensors) {
        bool const one = tensor.numel() == 1;
        if (Scale::is_other(name) || (name.ends_with(Scale::kEnding) && !one)) {
            return invalid(
                fmt::format("'{}': fp8 weights with scales of blocks or channels are "
                            "not read; take the bf16, fp16 or fp32 file of the model",
                            name));
        }
        if (!name.ends_with(Scale::kEnding)) continue;
        std::string const layer = name.substr(0, name.size() - Scale::kEnding.size());
        scales[layer + ".weight"] = tensor.to(at::kFloat).item<float>();
    }
    bool const scaled = !scales.empty();
    if (scaled) {
        std::erase_if(weights.tensors,
                      [](auto const& each) { return Scale::is_dropped(each.name); });
    }
    for (auto& [name, tensor, kind] : weights.tensors) {
        if (!is_8_bit(tensor)) continue;
        auto const scale = scales.find(name);
        tensor = scale == scales.end() ? tensor.to(at::kBFloat16)
                                       : tensor.to(at::kFloat).mul_(scale->second);
    }
    weights.notices.push_back(fmt::format("{} tensors of fp8 are read as {}", count,
                                          scaled ? "fp32, times their scales" : "bf16"));
    return {};
}

void leave_out_prefix(LoadedWeights& weights) {
    std::string const prefix = wrapper_prefix(names_of(weights.tensors));
    if (prefix.empty()) return;
    for (auto& each : weights.tensors) each.name.erase(0, prefix.size());
    weights.notices.push_back(fmt::format("all names begin with '{}', which is left out", prefix));
}

}  // namespace

Result<void> check_finite(std::vector<NamedTensor> const& weights,
                          std::function<void()> const& looked_at) {
    for (NamedTensor const& weight : weights) {
        if (looked_at) looked_at();
        if (!weight.tensor.is_floating_point()) continue;
        at::Tensor const finite = weight.tensor.isfinite();
        if (finite.all().item<bool>()) continue;
        at::Tensor const where = finite.logical_not().nonzero().select(0, 0).contiguous();
        auto const* first = where.const_data_ptr<std::int64_t>();
        std::vector<std::int64_t> const index(first, first + where.numel());
        at::Tensor value = weight.tensor;
        for (std::int64_t const i : index) value = value.select(0, i);
        return Error{Errc::invalid_input,
                     fmt::format("{}[{}] is {}", weight.name, fmt::join(index, ","),
                                 std::isnan(value.item<double>()) ? "NaN" : "infinite")};
    }
    return {};
}

Result<std::string> read_model_config(fs::path const& folder) {
    return read_file(folder / "config.json", kTextBytesMax);
}

Result<LoadedWeights> load_weight_files(fs::path const& path) {
    PartOfFile const wanted = part_of_file(path);
    if (!wanted.part.empty()) return load_part(wanted);
    std::error_code failed;
    if (fs::is_directory(path, failed)) {
        OSORA_TRY(auto const file, file_in(path));
        return load_weight_files(file);
    }
    return path.extension() == ".json" ? load_shards(path) : load_file(path);
}

Result<LoadedWeights> load_network_weights(fs::path const& path) {
    OSORA_TRY(auto weights, load_weight_files(path));
    auto const widened = widen(weights);
    if (widened.has_error()) return Error(widened.error()).in(path.string());
    leave_out_prefix(weights);
    return weights;
}

}  // namespace osora::worker
