#include "worker/jobs/train_data.hpp"

#include "base/text/units.hpp"
#include "plan/buckets/hash.hpp"
#include "plan/buckets/original_schedule.hpp"
#include "plan/clip_statistics.hpp"
#include "plan/model/cached_keep_probs.hpp"
#include "plan/model/model_sizes.hpp"
#include "plan/model/trained_model.hpp"
#include "worker/cache/latent_cache.hpp"
#include "worker/data/listed_size.hpp"
#include "worker/jobs/objectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

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

std::vector<std::int64_t> global_batches(plan::WorkerJob const& job) {
    std::vector<std::int64_t> batches;
    for (auto const& plan : job.plan.chosen.buckets) batches.push_back(plan.global_batch_size);
    return batches;
}

Result<std::unique_ptr<plan::Schedule>> balanced_schedule(plan::WorkerJob const& job,
                                                          plan::BucketSet set) {
    auto const seed = static_cast<std::uint64_t>(job.config.train.seed);
    OSORA_TRY(auto schedule,
              plan::StepSchedule::make(std::move(set), global_batches(job), {.seed = seed}));
    return std::make_unique<plan::StepSchedule>(std::move(schedule));
}

/// As debug.bucket_schedule asks.
Result<std::unique_ptr<plan::Schedule>> make_schedule(plan::WorkerJob const& job,
                                                      plan::ModelShape const& shape,
                                                      TrainData const& data) {
    if (data.latents) {
        return balanced_schedule(job, cached_buckets(data.latents->index, job.config.bucket));
    }
    OSORA_TRY(auto const table, plan::bucket_table(job.config, shape));
    auto const shapes = shapes_of(data.manifest);
    if (table.options().rule == plan::AssignRule::osora)
        return balanced_schedule(job, plan::fill_buckets(table, shapes));
    auto const seed = static_cast<std::uint64_t>(job.config.train.seed);
    OSORA_TRY(auto schedule,
              plan::OriginalSchedule::make(table, shapes, global_batches(job),
                                           {.seed = seed, .dp_size = job.plan.chosen.dp_size}));
    return std::make_unique<plan::OriginalSchedule>(std::move(schedule));
}

/// Hash of the text of an index's settings.
std::uint64_t number_of(std::string const& settings) {
    return static_cast<std::uint64_t>(protocol::caption_hash(settings));
}

std::uint64_t hash_of(TrainData const& data, plan::WorkerJob const& job) {
    std::uint64_t hash = plan::hash64(
        {static_cast<std::uint64_t>(job.config.train.seed), data.manifest.fingerprint});
    if (data.latents) {
        hash = plan::hash64({hash, number_of(data.latents->index.settings),
                             static_cast<std::uint64_t>(job.config.data.sample_latents)});
    }
    if (data.text) hash = plan::hash64({hash, number_of(data.text->index.settings)});
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

std::filesystem::path clips_read_path(plan::WorkerJob const& job) {
    return job.run_dir.empty() ? std::filesystem::path()
                               : std::filesystem::path(job.run_dir) / "clips-read.csv";
}

std::string bucket_name(plan::BucketKey const& key) {
    return fmt::format("{}x{}x{}", key.height, key.width, key.num_frames);
}

namespace {

/// The manifest, or the cache in its place.
Result<void> open_clips(plan::WorkerJob const& job, plan::ModelShape const& shape,
                        ManifestOptions const& options, TrainData& data) {
    if (!job.config.data.latents.empty()) {
        OSORA_TRY(data.latents,
                  open_cache_folder(resolve(job, job.config.data.latents), "data.latents"));
        OSORA_TRY_VOID(check_latents_fit(*data.latents, shape));
        auto const checked = plan::check_keep_probs(job.config, data.latents->index);
        if (checked.has_error()) return Error(checked.error()).in("data.latents");
        return {};
    }
    auto manifest = read_manifest(resolve(job, job.config.data.manifest), options);
    if (manifest.has_error()) return std::move(manifest).error().in("data.manifest");
    data.manifest = std::move(*manifest);
    return {};
}

}  // namespace

Result<std::unique_ptr<TrainData>> open_train_data(plan::WorkerJob const& job,
                                                   CrashedClips const& crashed,
                                                   std::function<void()> const& sign) {
    auto const& plans = job.plan.chosen.buckets;
    if (plans.size() != job.config.bucket.size()) {
        return Error{Errc::invalid_input, fmt::format("the plan has {} buckets, the run file {}",
                                                      plans.size(), job.config.bucket.size())};
    }
    OSORA_TRY(auto const shape, plan::sample_shape(job.config));
    auto data = std::make_unique<TrainData>();
    data->text_tokens = shape.text_tokens;
    ManifestOptions const options{.columns = job.config.data.columns,
                                  .keep_gone = true,
                                  .check_sizes = true,
                                  .remembered = clips_read_path(job),
                                  .crashed = crashed,
                                  .workers = job.plan.chosen.num_workers,
                                  .sign = sign};
    OSORA_TRY_VOID(open_clips(job, shape, options, *data));
    if (!job.config.text.embeddings.empty()) {
        OSORA_TRY(data->text,
                  open_cache_folder(resolve(job, job.config.text.embeddings), "text.embeddings"));
        OSORA_TRY_VOID(check_text_fits(*data->text, shape));
        data->fills_text = fills_text(*data->text, shape);
    }
    auto schedule = make_schedule(job, shape, *data);
    if (schedule.has_error()) {
        auto const& source = data->latents ? job.config.data.latents : job.config.data.manifest;
        return std::move(schedule).error().in(resolve(job, source));
    }
    data->schedule = std::move(*schedule);
    for (auto const& bucket : data->schedule->buckets()) {
        data->bucket_plans.push_back(plans[bucket.entry]);
    }
    data->hash = hash_of(*data, job);
    for (auto const& bucket : job.config.bucket)
        if (!data->latents) data->keep_probs.push_back(bucket.keep_prob);
    return data;
}

LoaderOptions loader_options(plan::WorkerJob const& job) {
    auto const& layout = job.plan.chosen;
    int const per_node = std::max(1, job.config.resources.gpus_per_node);
    LoaderOptions options;
    options.num_workers = layout.num_workers;
    options.prefetch_factor = layout.prefetch_factor;
    options.bad_share_max = job.config.data.bad_samples_max;
    // Meanwhile peers wait in a collective.
    options.wait_for_files_s = std::min(120.0, job.config.faults.collective_timeout / 2);
    options.host_memory_bytes = static_cast<std::int64_t>(job.config.data.host_memory_gib /
                                                          per_node * static_cast<double>(kGiB));
    return options;
}

namespace {

/// Of the first clip; 0: unknown.
double first_fps(TrainData const& data) {
    if (!data.manifest.clips.empty()) return data.manifest.clips.front().fps;
    if (!data.latents || data.schedule->buckets().empty()) return 0;
    LatentCache cache(data.latents->path, data.latents->index);
    auto const clip = cache.read(data.schedule->buckets().front().clips.front());
    return clip.has_value() ? clip->fps : 0;
}

}  // namespace

TrainedOn trained_on(plan::WorkerJob const& job, TrainData const& data) {
    TrainedOn found;
    if (!data.schedule->buckets().empty()) {
        auto const& key = data.schedule->buckets().front().key;
        found.height = key.height;
        found.width = key.width;
        found.num_frames = key.num_frames;
    }
    found.fps = first_fps(data);
    auto const shape = plan::model_shape(job.config.model);
    found.timestep_shift = shape.has_value() && shifts_timesteps(job, *shape);
    return found;
}

std::vector<std::string> describe_sizes(Manifest const& manifest, plan::WorkerJob const& job) {
    constexpr std::size_t kNamed = 10;
    std::vector<std::string> lines;
    auto const& rows = manifest.resized;
    if (rows.empty()) return lines;
    auto const& list = job.config.data.manifest;
    for (SkippedRow const& row : std::span(rows).first(std::min(rows.size(), kNamed)))
        lines.push_back(fmt::format("{}:{}: {}: {}", list, row.line, row.path, row.reason));
    lines.push_back(
        fmt::format("{} of {} rows of {} say another size than players show, and buckets go by "
                    "what players show; osora data check --manifest {} names them all; {}",
                    rows.size(), manifest.clips.size(), list, list, kSizesAdvice));
    return lines;
}

std::vector<std::string> describe_unused(TrainData const& data, plan::WorkerJob const& job) {
    std::vector<std::string> lines;
    std::vector<bool> used(job.config.bucket.size(), false);
    auto const clips = data.latents ? static_cast<std::size_t>(data.latents->index.clips())
                                    : data.manifest.clips.size();
    std::vector<bool> clip_used(clips, false);
    for (auto const& bucket : data.schedule->buckets()) {
        used[bucket.entry] = true;
        for (auto const clip : bucket.clips) clip_used[clip] = true;
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
        if (used[i]) continue;
        auto const& bucket = job.config.bucket[i];
        lines.push_back(fmt::format(
            "bucket {} x {}: {}", bucket.resolution, bucket.num_frames,
            data.latents ? "no clip of the cache is in it" : "no clip is large and long enough"));
    }
    auto const gone = std::ranges::count(data.manifest.clips, true, &Clip::gone);
    if (gone > 0) {
        lines.push_back(
            fmt::format("{} of {} clips are gone; other clips replace them, the same "
                        "ones each time",
                        gone, clip_used.size()));
    }
    auto const unused = std::ranges::count(clip_used, false);
    if (unused > 0) {
        lines.push_back(fmt::format("{} of {} clips fit no bucket and are not trained on", unused,
                                    clip_used.size()));
    }
    if (data.text && data.text->index.text.max_tokens > data.text_tokens) {
        lines.push_back(fmt::format("captions of up to {} tokens are cut to the model's {}",
                                    data.text->index.text.max_tokens, data.text_tokens));
    }
    return lines;
}

}  // namespace osora::worker
