// What a cache folder holds (docs/rfc/022): the index over its shards, parsed from an untrusted
// file. Read by training and the planner; the encode job writes it last.
#pragma once

#include "base/result.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace osora::protocol {

constexpr int kCacheVersion = 1;

/// The autoencoder that made the latents; channels 0: the folder has none.
struct LatentFormat {
    std::string vae;  // fingerprint
    int channels = 0;
    int temporal = 1, spatial = 1;  // compression
    int chunk_frames = 0;           // frames that the VAE encoded at once; 0: all
    std::string dtype = "F32";
    bool std = false;
};
/// The encoder that made the embeddings; channels 0: the folder has none.
struct TextFormat {
    std::string encoder;  // fingerprint
    int channels = 0;
    int max_tokens = 0;
    bool padded = false;  // all have max_tokens rows
    std::string dtype = "F32";
    int pooled = 0;  // CLIP's width; 0: none
};
struct LatentShard {
    std::string file;                           // below the folder
    std::string resolution;                     // of the bucket, as in the run file
    int height = 0, width = 0, num_frames = 0;  // of the clips, in pixels
    double share = 1;  // share of each clip's training that uses this bucket
    std::int64_t clips = 0;
    std::int64_t bytes = 0;  // of the file
};
struct TextShard {
    std::string file;
    std::int64_t first = 0;  // least hash; ascending over the shards
    std::int64_t captions = 0;
    std::int64_t bytes = 0;
};
struct CacheIndex {
    int version = 0;
    std::string settings;  // hash of the encode job's settings
    LatentFormat latents;
    TextFormat text;
    std::vector<LatentShard> latent_shards;
    std::vector<TextShard> text_shards;

    [[nodiscard]] std::int64_t clips() const;
};
BOOST_DESCRIBE_STRUCT(LatentFormat, (),
                      (vae, channels, temporal, spatial, chunk_frames, dtype, std))
BOOST_DESCRIBE_STRUCT(TextFormat, (), (encoder, channels, max_tokens, padded, dtype, pooled))
BOOST_DESCRIBE_STRUCT(LatentShard, (),
                      (file, resolution, height, width, num_frames, share, clips, bytes))
BOOST_DESCRIBE_STRUCT(TextShard, (), (file, first, captions, bytes))
BOOST_DESCRIBE_STRUCT(CacheIndex, (),
                      (version, settings, latents, text, latent_shards, text_shards))

/// corrupt: no index, or impossible sizes; invalid_input: another version.
[[nodiscard]] Result<CacheIndex> parse_cache_index(std::string_view json);

/// The index of a folder whose shards all exist and have the recorded sizes. not_found: no index
/// ("encoding has not ended").
[[nodiscard]] Result<CacheIndex> open_cache(std::filesystem::path const& folder);

[[nodiscard]] std::filesystem::path cache_index_path(std::filesystem::path const& folder);

/// The key of a text's embedding: the first 8 bytes of its SHA-256, big-endian.
[[nodiscard]] std::int64_t caption_hash(std::string_view text);

}  // namespace osora::protocol
