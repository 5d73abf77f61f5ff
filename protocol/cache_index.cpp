#include "protocol/cache_index.hpp"

#include "base/files/files.hpp"
#include "base/sha256.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace osora::protocol {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kIndexBytesMax = std::int64_t{1} << 30;
constexpr int kSideMax = 1 << 20;                            // of anything counted in pixels
constexpr std::int64_t kEntriesMax = std::int64_t{1} << 32;  // clips have 32-bit numbers

Error corrupt(std::string message) {
    return Error{Errc::corrupt, "cache index: " + std::move(message)};
}

/// A path below the folder, written as the job writes it.
bool is_inside(std::string const& file) {
    fs::path const path(file);
    if (file.empty() || path.is_absolute()) return false;
    return std::ranges::none_of(path, [](fs::path const& part) { return part == ".."; });
}

bool in_range(std::initializer_list<int> values, int low) {
    return std::ranges::all_of(values,
                               [low](int value) { return value >= low && value <= kSideMax; });
}

Result<void> check_formats(CacheIndex const& index) {
    auto const& [vae, channels, temporal, spatial, chunk_frames, dtype, std] = index.latents;
    if (!in_range({channels, chunk_frames}, 0) || !in_range({temporal, spatial}, 1))
        return corrupt("sizes of the latents are out of range");
    if (!in_range({index.text.channels, index.text.max_tokens, index.text.pooled}, 0))
        return corrupt("sizes of the text are out of range");
    for (auto const& type : {dtype, index.text.dtype})
        if (type != "F32" && type != "BF16")
            return corrupt(fmt::format("dtype '{}' is neither F32 nor BF16", type));
    if (channels == 0 && !index.latent_shards.empty()) return corrupt("latents without channels");
    if (index.text.channels == 0 && !index.text_shards.empty())
        return corrupt("captions without channels");
    return {};
}

Result<void> check_shards(CacheIndex const& index) {
    std::int64_t clips = 0;
    for (auto const& shard : index.latent_shards) {
        bool const sized = in_range({shard.height, shard.width, shard.num_frames}, 1) &&
                           shard.clips >= 0 && shard.clips < kEntriesMax && shard.bytes >= 0;
        if (!is_inside(shard.file) || !sized || !(shard.share > 0 && shard.share <= 1))
            return corrupt(fmt::format("latent shard '{}' cannot be", shard.file));
        clips += shard.clips;
        if (clips >= kEntriesMax) return corrupt("more than 2^32 clips");
    }
    TextShard const* before = nullptr;
    for (auto const& shard : index.text_shards) {
        bool const sized = shard.captions >= 1 && shard.captions < kEntriesMax && shard.bytes >= 0;
        if (!is_inside(shard.file) || !sized)
            return corrupt(fmt::format("text shard '{}' cannot be", shard.file));
        if (before != nullptr && before->first >= shard.first)
            return corrupt(fmt::format("text shard '{}' is out of order", shard.file));
        before = &shard;
    }
    return {};
}

Result<void> check_file(fs::path const& path, std::int64_t bytes) {
    std::error_code error;
    auto const found = fs::file_size(path, error);
    if (error) return Error{Errc::not_found, path.string() + ": " + error.message()};
    if (found == static_cast<std::uintmax_t>(bytes)) return {};
    return Error{Errc::corrupt,
                 fmt::format("{}: {} bytes, the index says {}", path.string(), found, bytes)};
}

}  // namespace

std::int64_t CacheIndex::clips() const {
    std::int64_t sum = 0;
    for (auto const& shard : latent_shards) sum += shard.clips;
    return sum;
}

Result<CacheIndex> parse_cache_index(std::string_view json) {
    auto index = decode<CacheIndex>(json);
    if (index.has_error()) return corrupt(index.error().message);
    if (index->version == 0) return corrupt("it has no version");
    if (index->version != kCacheVersion)
        return Error{Errc::invalid_input,
                     fmt::format("cache index: it is of version {}, this osora reads {}: encode "
                                 "again with this one",
                                 index->version, kCacheVersion)};
    OSORA_TRY_VOID(check_formats(*index));
    OSORA_TRY_VOID(check_shards(*index));
    return index;
}

Result<CacheIndex> open_cache(fs::path const& folder) {
    fs::path const path = cache_index_path(folder);
    auto const text = read_file(path, kIndexBytesMax);
    if (text.has_error() && text.error().code == Errc::not_found)
        return Error{Errc::not_found,
                     fmt::format("{}: no cache, or its encode run has not ended", path.string())};
    if (text.has_error()) return text.error();
    auto index = parse_cache_index(*text);
    if (index.has_error()) return std::move(index).error().in(path.string());
    for (auto const& shard : index->latent_shards)
        OSORA_TRY_VOID(check_file(folder / shard.file, shard.bytes));
    for (auto const& shard : index->text_shards)
        OSORA_TRY_VOID(check_file(folder / shard.file, shard.bytes));
    return index;
}

fs::path cache_index_path(fs::path const& folder) {
    return folder / "index.json";
}

std::int64_t caption_hash(std::string_view text) {
    std::string const hex = sha256_hex(text).substr(0, 16);
    std::uint64_t value = 0;
    std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
    return static_cast<std::int64_t>(value);
}

}  // namespace osora::protocol
