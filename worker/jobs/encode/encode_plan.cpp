#include "worker/jobs/encode/encode_plan.hpp"

#include "base/sha256.hpp"
#include "plan/buckets/hash.hpp"
#include "plan/clip_statistics.hpp"
#include "plan/model/model_sizes.hpp"
#include "protocol/json.hpp"
#include "worker/jobs/train_data.hpp"
#include "worker/model/weights/fingerprint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <system_error>

namespace osora::worker {
namespace {

std::string file_name(std::string_view folder, std::size_t shard) {
    return fmt::format("{}/{:06}.safetensors", folder, shard);
}

std::string dtype_name(plan::WorkerJob const& job) {
    return job.config.encode.dtype == "bf16" ? "BF16" : "F32";
}

LatentFormat format_of(plan::WorkerJob const& job, VaePipeline const& vae) {
    auto const& config = vae.config();
    LatentFormat format;
    format.vae = fingerprint_of(
        vae.parameters(), fmt::format("{} {} {}", job.config.vae.arch, config.micro_frame_size,
                                      config.tile_sample_min_size));
    format.channels = static_cast<int>(config.temporal.embed_dim);
    format.temporal = static_cast<int>(config.temporal.factor());
    format.spatial = static_cast<int>(config.spatial.factor());
    format.chunk_frames = static_cast<int>(config.micro_frame_size);
    format.dtype = dtype_name(job);
    format.std = job.config.encode.std;
    return format;
}

TextFormat format_of(plan::WorkerJob const& job, CaptionEncoder const& text,
                     std::optional<PooledEncoder> const& pooled) {
    return {.encoder = text.fingerprint() + (pooled ? " " + pooled->fingerprint() : ""),
            .channels = static_cast<int>(text.channels()),
            .max_tokens = static_cast<int>(text.limits().max_tokens),
            .padded = text.limits().padded,
            .dtype = dtype_name(job),
            .pooled = pooled ? static_cast<int>(pooled->width()) : 0};
}

LatentShard shard_of(plan::WorkerJob const& job, EncodePlan const& plan, std::size_t number) {
    auto const& work = plan.latents[number];
    auto const& bucket = plan.set.buckets[work.bucket];
    return {.file = file_name("latents", number),
            .resolution = job.config.bucket[bucket.entry].resolution,
            .height = bucket.key.height,
            .width = bucket.key.width,
            .num_frames = bucket.key.num_frames,
            .share = work.share,
            .clips = static_cast<std::int64_t>(work.clips.size()),
            .bytes = 0};
}

std::int64_t bytes_of(std::string_view dtype, std::int64_t numbers) {
    return numbers * (dtype == "BF16" ? 2 : 4);
}

std::int64_t clip_bytes(EncodePlan const& plan, plan::Bucket const& bucket) {
    LatentShard shard;
    shard.height = bucket.key.height;
    shard.width = bucket.key.width;
    shard.num_frames = bucket.key.num_frames;
    std::int64_t numbers = plan.latent_format.std ? 2 : 1;
    for (auto const size : latent_shape(plan.latent_format, shard)) numbers *= size;
    return bytes_of(plan.latent_format.dtype, numbers);
}

/// `with_null`: the empty caption is encoded, too.
void divide(EncodePlan& plan, std::int64_t shard_bytes, bool with_null) {
    if (plan.latent_format.channels > 0) {
        std::vector<std::int64_t> bytes;
        for (auto const& bucket : plan.set.buckets) bytes.push_back(clip_bytes(plan, bucket));
        plan.latents = latent_work(plan.set, bytes, shard_bytes);
    }
    auto const& text = plan.text_format;
    if (text.channels == 0) return;
    std::vector<std::string_view> texts;
    for (Clip const& clip : plan.manifest.clips) texts.emplace_back(clip.text);
    std::vector<std::uint32_t> used = used_clips(plan.set);
    if (with_null) {
        used.push_back(static_cast<std::uint32_t>(texts.size()));
        texts.emplace_back();
    }
    std::int64_t const caption =
        bytes_of(text.dtype, std::int64_t{text.channels} * text.max_tokens + text.pooled);
    plan.captions = caption_work(texts, used, {.bytes = shard_bytes, .entry_bytes = caption});
}

/// Hash of everything that a file of the cache depends on.
std::string settings_of(plan::WorkerJob const& job, EncodePlan const& plan) {
    std::uint64_t texts = 0;
    for (Clip const& clip : plan.manifest.clips) {
        auto const hash = static_cast<std::uint64_t>(protocol::caption_hash(clip.text));
        texts = plan::hash64({texts, hash});
    }
    std::string text =
        fmt::format("{} {:x} {:x} {} {} {}", protocol::kCacheVersion, plan.manifest.fingerprint,
                    texts, job.config.train.seed, protocol::encode(plan.latent_format),
                    protocol::encode(plan.text_format));
    for (std::size_t i = 0; i < plan.latents.size(); ++i)
        text += protocol::encode(shard_of(job, plan, i));
    for (auto const& shard : plan.captions)
        text += fmt::format(" {} {}", shard.front().hash, shard.size());
    return sha256_hex(text);
}

/// The file's own bytes; not_found when it is not there.
Result<std::int64_t> file_bytes(std::filesystem::path const& path) {
    std::error_code error;
    auto const bytes = std::filesystem::file_size(path, error);
    if (error) return Error{Errc::not_found, path.string() + ": " + error.message()};
    return static_cast<std::int64_t>(bytes);
}

/// encode_latents() leaves out shards with clips that cannot be read for now.
Result<void> check_all_written(EncodePlan const& plan) {
    std::size_t missing = 0;
    for (std::size_t i = 0; i < plan.latents.size(); ++i) {
        std::error_code error;
        auto const path = plan.latent_path(i);
        missing += std::filesystem::exists(path, error) ? 0 : 1;
        if (error)
            return Error{Errc::io,
                         fmt::format("encode.out: {}: {}", path.string(), error.message())};
    }
    if (missing == 0) return {};
    return Error{Errc::io,
                 fmt::format("encode: {} of {} shards of latents are not written, because clips "
                             "of them cannot be read (notices clip_unreadable); resume the run "
                             "when they can, or without their files to leave them out",
                             missing, plan.latents.size())};
}

}  // namespace

std::filesystem::path EncodePlan::latent_path(std::size_t shard) const {
    return out / file_name("latents", shard);
}
std::filesystem::path EncodePlan::text_path(std::size_t shard) const {
    return out / file_name("text", shard);
}

Result<EncodePlan> make_encode_plan(plan::WorkerJob const& job, Encoders const& encoders,
                                    CrashedClips const& crashed,
                                    std::function<void()> const& sign) {
    EncodePlan plan;
    plan.out = resolve(job, job.config.encode.out);
    std::string const path = resolve(job, job.config.data.manifest);
    auto manifest = read_manifest(path, {.columns = job.config.data.columns,
                                         .keep_gone = true,
                                         .check_sizes = true,
                                         .remembered = clips_read_path(job),
                                         .crashed = crashed,
                                         .workers = job.plan.chosen.num_workers,
                                         .sign = sign});
    if (manifest.has_error()) return std::move(manifest).error().in("data.manifest");
    plan.manifest = std::move(*manifest);
    OSORA_TRY(auto shape, plan::model_shape(job.config.model));
    if (encoders.vae) {
        plan.latent_format = format_of(job, *encoders.vae);
        shape.vae = {.temporal = plan.latent_format.temporal,
                     .spatial = plan.latent_format.spatial,
                     .chunk_frames = plan.latent_format.chunk_frames};
    }
    if (encoders.text) plan.text_format = format_of(job, *encoders.text, encoders.pooled);
    OSORA_TRY(auto const table, plan::bucket_table(job.config, shape));
    std::vector<plan::ClipShape> shapes;
    for (Clip const& clip : plan.manifest.clips)
        shapes.push_back({clip.num_frames, clip.height, clip.width});
    plan.set = plan::fill_buckets(table, shapes);
    if (plan.set.buckets.empty()) {
        return Error{Errc::invalid_input,
                     path + ": no clip fits any bucket; use smaller resolutions or fewer frames"};
    }
    auto const& planned = job.plan.chosen.buckets;
    for (auto const& bucket : plan.set.buckets) {
        plan.batch.push_back(bucket.entry < planned.size()
                                 ? std::max(1, planned[bucket.entry].micro_batch_size)
                                 : 1);
    }
    divide(plan, std::int64_t{job.config.encode.shard_mib} << 20,
           shape.family == plan::ModelFamily::mmdit);
    plan.settings = settings_of(job, plan);
    return plan;
}

Result<protocol::CacheIndex> index_of(plan::WorkerJob const& job, EncodePlan const& plan) {
    OSORA_TRY_VOID(check_all_written(plan));
    protocol::CacheIndex index;
    index.version = protocol::kCacheVersion;
    index.settings = plan.settings;
    index.latents = plan.latent_format;
    index.text = plan.text_format;
    for (std::size_t i = 0; i < plan.latents.size(); ++i) {
        auto shard = shard_of(job, plan, i);
        ShardMark const mark{plan.settings, static_cast<std::int64_t>(i)};
        OSORA_TRY(shard.clips, finished_shard(plan.latent_path(i), mark));
        OSORA_TRY(shard.bytes, file_bytes(plan.latent_path(i)));
        index.latent_shards.push_back(std::move(shard));
    }
    for (std::size_t i = 0; i < plan.captions.size(); ++i) {
        TextShard shard{.file = file_name("text", i), .first = plan.captions[i].front().hash};
        ShardMark const mark{plan.settings, static_cast<std::int64_t>(i)};
        OSORA_TRY(shard.captions, finished_shard(plan.text_path(i), mark));
        OSORA_TRY(shard.bytes, file_bytes(plan.text_path(i)));
        index.text_shards.push_back(std::move(shard));
    }
    return index;
}

}  // namespace osora::worker
