#include "worker/model/weight_files.hpp"

#include "base/files.hpp"
#include "worker/model/safetensors.hpp"
#include "worker/model/torch_file.hpp"

#include <ATen/ops/isfinite.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kTextBytesMax = std::int64_t{64} << 20;  // of an index, of config.json
constexpr std::string_view kIndexEnding = ".safetensors.index.json";

Error corrupt(std::string message) {
    return Error{Errc::corrupt, std::move(message)};
}

Result<std::vector<NamedTensor>> load_shards(fs::path const& index) {
    OSORA_TRY(auto const text, read_file(index, kTextBytesMax));
    auto listed = parse_weight_index(text);
    if (listed.has_error()) return std::move(listed).error().in(index.string());
    std::set<std::string> files;
    for (auto const& [name, file] : *listed) files.insert(file);
    std::vector<NamedTensor> weights;
    for (auto const& file : files) {
        OSORA_TRY(auto shard, load_safetensors(index.parent_path() / file));
        for (auto& tensor : shard.tensors) {
            auto const found = listed->find(tensor.name);
            if (found == listed->end() || found->second != file)
                return corrupt(fmt::format("{}: '{}' is in {}, but not listed there",
                                           index.string(), tensor.name, file));
            listed->erase(found);
            weights.push_back(std::move(tensor));
        }
    }
    if (!listed->empty())
        return corrupt(fmt::format("{}: '{}' is not in {}", index.string(), listed->begin()->first,
                                   listed->begin()->second));
    return weights;
}

/// What Hugging Face calls the weights of a folder, else its only index, else its only file.
Result<fs::path> file_in(fs::path const& folder) {
    std::vector<fs::path> indexes, files;
    std::error_code failed;
    for (char const* usual : {"model.safetensors.index.json", "model.safetensors"})
        if (fs::exists(folder / usual, failed)) return folder / usual;
    for (auto const& entry : fs::directory_iterator(folder, failed)) {
        std::string const name = entry.path().filename().string();
        if (name.ends_with(kIndexEnding)) indexes.push_back(entry.path());
        if (name.ends_with(".safetensors")) files.push_back(entry.path());
    }
    auto const& found = indexes.empty() ? files : indexes;
    if (!failed && found.size() == 1) return found.front();
    return Error{Errc::not_found,
                 fmt::format("{}: expected one *{} or one *.safetensors, found {} and {}",
                             folder.string(), kIndexEnding, indexes.size(), files.size())};
}

}  // namespace

Result<void> check_finite(std::vector<NamedTensor> const& weights) {
    for (NamedTensor const& weight : weights) {
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

Result<std::vector<NamedTensor>> load_weight_files(fs::path const& path) {
    std::error_code failed;
    if (fs::is_directory(path, failed)) {
        OSORA_TRY(auto const file, file_in(path));
        return load_weight_files(file);
    }
    if (path.extension() == ".json") return load_shards(path);
    if (is_torch_file(path)) return load_torch_file(path);
    OSORA_TRY(auto content, load_safetensors(path));
    return std::move(content.tensors);
}

}  // namespace osora::worker
