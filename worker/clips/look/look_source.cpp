#include "worker/clips/look/look_source.hpp"

#include "plan/buckets/clip_plan.hpp"
#include "worker/data/clip_pixels.hpp"
#include "worker/data/frames/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::worker {
namespace {

/// Of a bucket's stream, in which the first sample of a clip is searched. A clip with a small share
/// of its bucket may come up late.
constexpr std::uint64_t kEpochsSearched = 256, kPositionsSearched = 50'000'000;

plan::ListRow row_of(Clip const& clip) {
    return {.name = clip.path,
            .path = clip.path,
            .text = {},
            .num_frames = clip.num_frames,
            .height = clip.height,
            .width = clip.width,
            .fps = clip.fps,
            .line = clip.line,
            .fault = {}};
}

}  // namespace

Result<LookSource> LookSource::open(protocol::ClipLookRequest const& request) {
    LookSource made;
    std::vector<plan::BucketEntry> entries;
    for (auto const& bucket : request.buckets) {
        entries.push_back({.resolution = bucket.resolution,
                           .num_frames = bucket.num_frames,
                           .keep_prob = bucket.keep_prob});
    }
    OSORA_TRY(auto table,
              plan::BucketTable::make(std::move(entries),
                                      {.multiple = request.multiple,
                                       .images_from_videos = request.images_from_videos}));
    made.table_ = std::move(table);
    OSORA_TRY(made.listed_, list_clips(request.manifest, request.columns));
    OSORA_TRY(made.manifest_,
              read_manifest(request.manifest,
                            {.columns = request.columns, .keep_gone = true, .check_sizes = true}));
    std::vector<plan::ClipShape> shapes;
    for (std::uint32_t i = 0; i < made.manifest_.clips.size(); ++i) {
        Clip const& clip = made.manifest_.clips[i];
        shapes.push_back({clip.num_frames, clip.height, clip.width});
        made.by_line_.emplace(clip.line, i);
    }
    auto set = plan::fill_buckets(*made.table_, shapes);
    if (set.buckets.empty()) return made;
    // Batches decide when a sample comes, not what is in it.
    std::vector<std::int64_t> const batches(request.buckets.size(), 1);
    OSORA_TRY(auto schedule,
              plan::StepSchedule::make(std::move(set), batches,
                                       {.seed = static_cast<std::uint64_t>(request.seed)}));
    made.schedule_ = std::move(schedule);
    return made;
}

std::int64_t LookSource::pixels_max() const {
    return schedule_ ? decode_pixels_max(*schedule_, manifest_) : DecodeLimits().pixels_max;
}

bool LookSource::is_in(ListedClip const& listed, int entry) const {
    auto const found = by_line_.find(listed.clip.line);
    return found != by_line_.end() && bucket_of(found->second, entry).has_value();
}

LookPlace LookSource::place(ListedClip const& listed, int entry, double deadline_s) const {
    LookPlace place{.listed = &listed, .clip = {}, .ref = {}, .fault = {}, .key = {}};
    auto const found = by_line_.find(listed.clip.line);
    if (found == by_line_.end()) {
        place.fault = unreadable(listed, deadline_s);
        place.damaged = true;
        return place;
    }
    place.clip = found->second;
    auto const bucket = bucket_of(found->second, entry);
    if (!bucket) {
        auto const planned = plan::plan_clip(*table_, row_of(manifest_.clips[found->second]));
        place.fault = ClipFault{.kind = std::string(planned.kind), .reason = planned.reason};
        if (!planned.places.empty())
            *place.fault = {.kind = "other", .reason = "it trains in other buckets only"};
        return place;
    }
    auto const& in = schedule_->buckets()[bucket->first];
    place.key = in.key;
    place.entry = in.entry;
    place.share = bucket->second;
    place.ref = first_sample(bucket->first, found->second);
    if (!place.ref) {
        place.fault = ClipFault{.kind = "rare",
                                .reason = fmt::format("its share of the bucket is {:.2g}: it "
                                                      "does not come up for very long",
                                                      place.share)};
    }
    return place;
}

/// The bucket with the largest share of the clip, and the share.
std::optional<std::pair<std::size_t, double>> LookSource::bucket_of(std::uint32_t clip,
                                                                    int entry) const {
    std::optional<std::pair<std::size_t, double>> found;
    if (!schedule_) return found;
    for (std::size_t b = 0; b < schedule_->buckets().size(); ++b) {
        plan::Bucket const& bucket = schedule_->buckets()[b];
        if (entry >= 0 && bucket.entry != static_cast<std::size_t>(entry)) continue;
        auto const at = std::ranges::lower_bound(bucket.clips, clip);
        if (at == bucket.clips.end() || *at != clip) continue;
        double const share = bucket.shares[static_cast<std::size_t>(at - bucket.clips.begin())];
        if (!found || share > found->second) found = {b, share};
    }
    return found;
}

std::optional<plan::SampleRef> LookSource::first_sample(std::size_t bucket,
                                                        std::uint32_t clip) const {
    std::uint64_t const epoch = schedule_->buckets()[bucket].clips.size();
    std::uint64_t const end = std::min(kPositionsSearched, kEpochsSearched * epoch);
    for (std::uint64_t position = 0; position < end; ++position) {
        auto const ref = schedule_->sample(bucket, position);
        if (ref.clip == clip) return ref;
    }
    return std::nullopt;
}

/// Of a row that training skips.
ClipFault LookSource::unreadable(ListedClip const& listed, double deadline_s) const {
    if (!listed.fault.empty()) return {.kind = "row", .reason = listed.fault};
    auto const facts = ClipDecoder({.deadline_s = deadline_s}).probe(listed.clip.path);
    if (facts.has_error()) return fault_of(facts.error(), listed.clip.path, deadline_s);
    auto const skipped = std::ranges::find(manifest_.skipped, listed.clip.line, &SkippedRow::line);
    return {.kind = "row",
            .reason = skipped == manifest_.skipped.end() ? "it is left out" : skipped->reason};
}

}  // namespace osora::worker
