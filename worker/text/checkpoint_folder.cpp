#include "worker/text/checkpoint_folder.hpp"

#include "base/files.hpp"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <algorithm>
#include <iterator>
#include <set>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

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

Result<std::string> read_model_config(fs::path const& folder) {
    return read_file(folder / "config.json", kTextBytesMax);
}

Result<std::vector<NamedTensor>> load_model_tensors(fs::path const& folder) {
    OSORA_TRY(auto const files, weight_files(folder));
    std::vector<NamedTensor> tensors;
    for (std::string const& file : files) {
        OSORA_TRY(auto content, load_safetensors(folder / file));
        std::ranges::move(content.tensors, std::back_inserter(tensors));
    }
    return tensors;
}

}  // namespace osora::worker
