// What a training job reads: manifest, buckets and step schedule of one run, the same on every rank
// because nothing here depends on the rank.
#pragma once

#include "plan/buckets/schedule.hpp"
#include "plan/job_stage.hpp"
#include "worker/data/loader.hpp"
#include "worker/data/manifest.hpp"
#include "worker/jobs/cached_data.hpp"
#include "worker/train/checkpoint.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace osora::worker {

struct TrainData {
    Manifest manifest;                   // empty with latents
    std::optional<CacheFolder> latents;  // data.latents: clips are numbered as in its index
    std::optional<CacheFolder> text;     // text.embeddings
    int text_tokens = 0;                 // of the model: longer captions are cut
    std::unique_ptr<plan::Schedule> schedule;
    std::vector<plan::BucketPlan> bucket_plans;  // per bucket of the schedule
    std::uint64_t hash = 0;  // of everything that decides which samples a step trains on
};

/// Reads the manifest or the cache and makes the schedule. Errors: not_found / invalid_input with
/// the path; invalid_input when no clip fits any bucket, a cache does not fit the model, or a
/// caption is not cached.
[[nodiscard]] Result<std::unique_ptr<TrainData>> open_train_data(plan::WorkerJob const& job);

/// Threads and memory of a rank's loader, as planned.
[[nodiscard]] LoaderOptions loader_options(plan::WorkerJob const& job);

/// What the checkpoints of the run say of its samples.
[[nodiscard]] TrainedOn trained_on(plan::WorkerJob const& job, TrainData const& data);

/// Rows whose size is not what players show, ten at most, and how many there are; empty: none is.
[[nodiscard]] std::vector<std::string> describe_sizes(Manifest const& manifest,
                                                      plan::WorkerJob const& job);

/// Clips that no bucket takes and buckets that no clip fits, for the user; empty when all is used.
[[nodiscard]] std::vector<std::string> describe_unused(TrainData const& data,
                                                       plan::WorkerJob const& job);

/// Numbers of clips that the list does not give, as the run first read them; empty: no run folder.
[[nodiscard]] std::filesystem::path clips_read_path(plan::WorkerJob const& job);

/// "64x64x8": height x width x frames.
[[nodiscard]] std::string bucket_name(plan::BucketKey const& key);

/// `path` of a run file: relative ones start at the run file's folder.
[[nodiscard]] std::string resolve(plan::WorkerJob const& job, std::string const& path);

}  // namespace osora::worker
