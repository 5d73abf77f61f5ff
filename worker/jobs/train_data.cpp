#include "worker/jobs/train_data.hpp"

#include "base/units.hpp"
#include "plan/buckets/hash.hpp"
#include "plan/buckets/original_schedule.hpp"
#include "plan/clip_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace osora::worker {
namespace {

std::vector<plan::ClipShape> shapes_of(Manifest const& manifest) {
    std::vector<plan::ClipShape> shapes;
    shapes.reserve(manifest.clips.size());
    for (Clip const& clip : manifest.clips) {
        shapes.push_back({clip.num_frames, clip.height, clip.width});
    }
    return shapes;
}

/// As debug.bucket_schedule asks.
Result<std::unique_ptr<plan::Schedule>> make_schedule(plan::WorkerJob const& job,
                                                      plan::BucketTable const& table,
                                                      Manifest const& manifest) {
    std::vector<std::int64_t> batches;
    for (auto const& plan : job.plan.chosen.buckets) batches.push_back(plan.global_batch_size);
    auto const seed = static_cast<std::uint64_t>(job.config.train.seed);
    if (table.options().rule == plan::AssignRule::original) {
        OSORA_TRY(auto schedule,
                  plan::OriginalSchedule::make(table, shapes_of(manifest), batches,
                                               {.seed = seed, .dp_size = job.plan.chosen.dp_size}));
        return std::make_unique<plan::OriginalSchedule>(std::move(schedule));
    }
    OSORA_TRY(auto schedule,
              plan::StepSchedule::make(plan::fill_buckets(table, shapes_of(manifest)), batches,
                                       {.seed = seed}));
    return std::make_unique<plan::StepSchedule>(std::move(schedule));
}

std::uint64_t hash_of(TrainData const& data, plan::WorkerJob const& job) {
    std::uint64_t hash = plan::hash64(
        {static_cast<std::uint64_t>(job.config.train.seed), data.manifest.fingerprint});
    if (job.config.debug.bucket_schedule == "original") {
        // Its steps depend on the number of ranks, too.
        hash = plan::hash64({hash, static_cast<std::uint64_t>(job.plan.chosen.dp_size)});
    }
    for (std::size_t b = 0; b < data.schedule->buckets().size(); ++b) {
        auto const& key = data.schedule->buckets()[b].key;
        hash = plan::hash64({hash, static_cast<std::uint64_t>(key.height),
                             static_cast<std::uint64_t>(key.width),
                             static_cast<std::uint64_t>(key.num_frames),
                             static_cast<std::uint64_t>(data.schedule->global_batch_size(b))});
    }
    return hash;
}

}  // namespace

std::string resolve(plan::WorkerJob const& job, std::string const& path) {
    return (std::filesystem::path(job.base_dir) / path).lexically_normal().string();
}

std::string bucket_name(plan::BucketKey const& key) {
    return fmt::format("{}x{}x{}", key.height, key.width, key.num_frames);
}

Result<std::unique_ptr<TrainData>> open_train_data(plan::WorkerJob const& job) {
    auto const& plans = job.plan.chosen.buckets;
    if (plans.size() != job.config.bucket.size()) {
        return Error{Errc::invalid_input, fmt::format("the plan has {} buckets, the run file {}",
                                                      plans.size(), job.config.bucket.size())};
    }
    std::string const path = resolve(job, job.config.data.manifest);
    auto manifest = read_manifest(path);
    if (manifest.has_error()) return std::move(manifest).error().in("data.manifest");
    OSORA_TRY(auto const shape, plan::model_shape(job.config.model.arch));
    OSORA_TRY(auto const table, plan::bucket_table(job.config, shape));
    auto schedule = make_schedule(job, table, *manifest);
    if (schedule.has_error()) return std::move(schedule).error().in(path);
    auto data =
        std::make_unique<TrainData>(TrainData{std::move(*manifest), std::move(*schedule), {}, 0});
    for (auto const& bucket : data->schedule->buckets()) {
        data->bucket_plans.push_back(plans[bucket.entry]);
    }
    data->hash = hash_of(*data, job);
    return data;
}

Result<std::unique_ptr<Loader>> start_loader(TrainData const& data, plan::WorkerJob const& job,
                                             int rank, plan::StepSpan steps) {
    auto const& layout = job.plan.chosen;
    int const per_node = std::max(1, job.config.resources.gpus_per_node);
    LoaderOptions options;
    options.num_workers = layout.num_workers;
    options.prefetch_factor = layout.prefetch_factor;
    options.host_memory_bytes = static_cast<std::int64_t>(job.config.data.host_memory_gib /
                                                          per_node * static_cast<double>(kGiB));
    options.dp_rank = rank;
    options.dp_size = layout.dp_size;
    options.start_step = static_cast<std::uint64_t>(steps.first);
    options.stop_step = static_cast<std::uint64_t>(steps.last);
    return Loader::start(*data.schedule, data.manifest, options);
}

std::vector<std::string> describe_unused(TrainData const& data, plan::WorkerJob const& job) {
    std::vector<std::string> lines;
    std::vector<bool> used(job.config.bucket.size(), false);
    std::vector<bool> clip_used(data.manifest.clips.size(), false);
    for (auto const& bucket : data.schedule->buckets()) {
        used[bucket.entry] = true;
        for (auto const clip : bucket.clips) clip_used[clip] = true;
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
        if (used[i]) continue;
        auto const& bucket = job.config.bucket[i];
        lines.push_back(fmt::format("bucket {} x {}: no clip is large and long enough",
                                    bucket.resolution, bucket.num_frames));
    }
    auto const unused = std::ranges::count(clip_used, false);
    if (unused > 0) {
        lines.push_back(fmt::format("{} of {} clips fit no bucket and are not trained on", unused,
                                    clip_used.size()));
    }
    return lines;
}

}  // namespace osora::worker
