// The data of a training job: manifest, buckets and step schedule of one run, the same on every
// rank because nothing here depends on the rank.
#pragma once

#include "plan/buckets/schedule.hpp"
#include "plan/job_stage.hpp"
#include "worker/data/loader.hpp"
#include "worker/data/manifest.hpp"
#include "worker/jobs/cached_data.hpp"
#include "worker/train/checkpoint.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
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
    bool fills_text = false;             // with zeros, to as many: the model reads padding
    std::unique_ptr<plan::Schedule> schedule;
    std::vector<plan::BucketPlan> bucket_plans;  // per bucket of the schedule
    std::uint64_t hash = 0;  // hash of everything that decides which samples a step trains on,
    std::vector<double> keep_probs;  // except these, of the run file's buckets; a cache has its own
};

/// Reads the manifest or the cache and makes the schedule; `crashed` clips of the manifest are
/// never decoded; `sign` is called while its files are read. Errors: not_found / invalid_input with
/// the path; invalid_input if no clip fits any bucket, a cache does not match the model, or a
/// caption is not cached.
[[nodiscard]] Result<std::unique_ptr<TrainData>> open_train_data(
    plan::WorkerJob const& job, CrashedClips const& crashed = {},
    std::function<void()> const& sign = {});

/// Threads and memory of a rank's loader, as planned.
[[nodiscard]] LoaderOptions loader_options(plan::WorkerJob const& job);

/// Facts about the run's samples for its checkpoints.
[[nodiscard]] TrainedOn trained_on(plan::WorkerJob const& job, TrainData const& data);

/// Rows whose size is not what players show, at most ten, and their number; empty: none.
[[nodiscard]] std::vector<std::string> describe_sizes(Manifest const& manifest,
                                                      plan::WorkerJob const& job);

/// Clips that fit no bucket and buckets that no clip fits, for the user; empty if there are none.
[[nodiscard]] std::vector<std::string> describe_unused(TrainData const& data,
                                                       plan::WorkerJob const& job);

/// File for the figures of clips that the list lacks, as first read by the run; empty: no run
/// folder.
[[nodiscard]] std::filesystem::path clips_read_path(plan::WorkerJob const& job);

/// "64x64x8": height x width x frames.
[[nodiscard]] std::string bucket_name(plan::BucketKey const& key);

/// `path` in a run file: relative ones start at the run file's folder.
[[nodiscard]] std::string resolve(plan::WorkerJob const& job, std::string const& path);

}  // namespace osora::worker
