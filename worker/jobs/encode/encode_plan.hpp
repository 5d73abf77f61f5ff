// The output of an encode run: clips and captions by shard, the same on every rank because nothing
// here depends on the rank.
#pragma once

#include "plan/buckets/assign.hpp"
#include "plan/worker_job.hpp"
#include "worker/cache/encode_work.hpp"
#include "worker/cache/latent_shard.hpp"
#include "worker/data/manifest.hpp"
#include "worker/model/weights/loaded_weights.hpp"
#include "worker/text/caption_encoder.hpp"
#include "worker/text/pooled_encoder.hpp"
#include "worker/vae/vae_pipeline.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace osora::worker {

struct EncodePlan {
    std::filesystem::path out;
    Manifest manifest;
    plan::BucketSet set;
    std::vector<LatentWork> latents;             // one per shard
    std::vector<std::vector<Caption>> captions;  // one per shard
    std::vector<int> batch;                      // clips at once, per bucket
    LatentFormat latent_format;
    TextFormat text_format;
    std::string settings;  // hash of all of it

    [[nodiscard]] std::filesystem::path latent_path(std::size_t shard) const;
    [[nodiscard]] std::filesystem::path text_path(std::size_t shard) const;
    /// "" is the caption used for no caption; clips need not have it.
    [[nodiscard]] std::string_view text_of(Caption const& caption) const {
        return caption.clip < manifest.clips.size() ? manifest.clips[caption.clip].text
                                                    : std::string_view();
    }
};

/// The encoders; one of the first two may be missing, not both.
struct Encoders {
    std::optional<VaePipeline> vae;
    std::optional<CaptionEncoder> text;
    std::optional<PooledEncoder> pooled;  // with text only
    Notices notices;                      // of their weights
};

/// `crashed` clips are not decoded. They and clips that are gone keep the figures of the list or of
/// clips_read_path(job), so that the settings stay those of the shards that are there; `sign` is
/// called while files are read. Errors: those of the manifest; invalid_input when no clip fits a
/// bucket.
[[nodiscard]] Result<EncodePlan> make_encode_plan(plan::WorkerJob const& job,
                                                  Encoders const& encoders,
                                                  CrashedClips const& crashed,
                                                  std::function<void()> const& sign);

/// The index of the shards, which must all be complete: errors name the incomplete one. io: shards
/// are not written, as clips of them could not be read, or their folder cannot be read.
[[nodiscard]] Result<protocol::CacheIndex> index_of(plan::WorkerJob const& job,
                                                    EncodePlan const& plan);

}  // namespace osora::worker
