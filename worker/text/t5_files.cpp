#include "worker/text/t5_files.hpp"

#include "base/files.hpp"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <algorithm>
#include <set>
#include <string>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::string_view kEmbedding = "shared.weight";
constexpr std::string_view kOtherName = "encoder.embed_tokens.weight";
constexpr std::int64_t kTextBytesMax = 16 << 20;  // of config.json and of the index

Error invalid(fs::path const& path, std::string const& why) {
    return Error{Errc::invalid_input, fmt::format("{}: {}", path.string(), why)};
}

/// The files that hold a folder's weights.
Result<std::set<std::string>> weight_files(fs::path const& folder) {
    fs::path const index = folder / "model.safetensors.index.json";
    std::error_code unknown;
    if (!fs::exists(index, unknown)) return std::set<std::string>{"model.safetensors"};
    OSORA_TRY(auto const text, read_file(index, kTextBytesMax));
    boost::system::error_code failed;
    auto const value = json::parse(text, failed);
    if (failed) return invalid(index, failed.message());
    auto const* object = value.if_object();
    auto const* map = object == nullptr ? nullptr : object->if_contains("weight_map");
    if (map == nullptr || !map->is_object()) return invalid(index, "no weight_map");
    std::set<std::string> files;
    for (auto const& [name, file] : map->get_object()) {
        auto const* shard = file.if_string();
        if (shard == nullptr || shard->empty() || shard->find('/') != json::string::npos) {
            return invalid(index,
                           fmt::format("{}: not a file of this folder", std::string_view(name)));
        }
        files.emplace(*shard);
    }
    return files;
}

}  // namespace

std::vector<NamedTensor> t5_encoder_tensors(std::vector<NamedTensor> const& tensors) {
    bool const shared = std::ranges::find(tensors, kEmbedding, &NamedTensor::name) != tensors.end();
    std::vector<NamedTensor> own;
    for (NamedTensor const& tensor : tensors) {
        if (tensor.name.starts_with("decoder.") || tensor.name == "lm_head.weight") continue;
        bool const other = tensor.name == kOtherName;
        if (other && shared) continue;
        own.push_back(tensor);
        if (other) own.back().name = kEmbedding;
    }
    return own;
}

Result<T5Encoder> load_t5(fs::path const& folder, at::TensorOptions const& options) {
    fs::path const config_path = folder / "config.json";
    OSORA_TRY(auto const text, read_file(config_path, kTextBytesMax));
    auto config = parse_t5_config(text);
    if (config.has_error()) return std::move(config).error().in(config_path.string());
    OSORA_TRY(auto const files, weight_files(folder));
    std::vector<NamedTensor> tensors;
    for (std::string const& file : files) {
        OSORA_TRY(auto content, load_safetensors(folder / file));
        std::ranges::move(content.tensors, std::back_inserter(tensors));
    }
    T5Encoder encoder(*config, options);
    auto loaded = encoder.parameters().load(t5_encoder_tensors(tensors));
    if (loaded.has_error()) return std::move(loaded).error().in(folder.string());
    return encoder;
}

}  // namespace osora::worker
