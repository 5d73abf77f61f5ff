#include "worker/cache/shard_tensors.hpp"

#include "worker/cache/latent_shard.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace osora::worker {

Result<ShardTensors> ShardTensors::open(std::filesystem::path const& path) {
    OSORA_TRY(auto content, load_safetensors(path));
    return ShardTensors(path.string(), std::move(content));
}

Result<at::Tensor> ShardTensors::take(std::string const& name, at::ScalarType type,
                                      std::vector<std::int64_t> const& shape) const {
    auto const wrong = [&](std::string const& why) {
        return Error{Errc::corrupt, fmt::format("{}: tensor '{}': {}", path_, name, why)};
    };
    auto const* found = content_.find(name);
    if (found == nullptr) return wrong("missing");
    if (found->scalar_type() != type)
        return wrong(fmt::format("{} in place of {}", safetensors_type(found->scalar_type()),
                                 safetensors_type(type)));
    bool const fits = std::ranges::equal(
        found->sizes(), shape, [](auto has, auto wanted) { return wanted == -1 || has == wanted; });
    if (!fits)
        return wrong(fmt::format("shape ({}) in place of ({})", fmt::join(found->sizes(), ", "),
                                 fmt::join(shape, ", ")));
    return *found;
}

std::map<std::string, std::string> shard_metadata(ShardMark const& mark, std::int64_t entries) {
    return {{"osora_cache", std::to_string(protocol::kCacheVersion)},
            {"settings", mark.settings},
            {"number", std::to_string(mark.number)},
            {"entries", std::to_string(entries)}};
}

Result<std::int64_t> finished_shard(std::filesystem::path const& path, ShardMark const& mark) {
    OSORA_TRY(auto const content, load_safetensors(path));
    auto const said = [&](char const* key) {
        auto const found = content.metadata.find(key);
        return found == content.metadata.end() ? std::string() : found->second;
    };
    auto const expected = shard_metadata(mark, 0);
    if (said("settings") != mark.settings || said("number") != expected.at("number") ||
        said("osora_cache") != expected.at("osora_cache")) {
        return Error{Errc::invalid_input,
                     fmt::format("{}: made by an encode run with other clips or settings; choose "
                                 "another encode.out, or remove that folder",
                                 path.string())};
    }
    auto const* captions = content.find("caption");  // in shards of both kinds
    if (captions == nullptr || captions->dim() != 1)
        return Error{Errc::corrupt, path.string() + ": tensor 'caption': missing"};
    return captions->size(0);
}

at::ScalarType cache_type(std::string_view dtype) {
    return dtype == "BF16" ? at::kBFloat16 : at::kFloat;
}

}  // namespace osora::worker
