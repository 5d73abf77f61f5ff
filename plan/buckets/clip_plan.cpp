#include "plan/buckets/clip_plan.hpp"

#include "base/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace osora::plan {
namespace {

std::string entry_name(BucketEntry const& entry) {
    return fmt::format("{} x {}", entry.resolution, counted(entry.num_frames, "frame"));
}

/// "num_frames, height"; empty: the row says all that a bucket needs.
std::string unsaid_numbers(ListRow const& row) {
    std::string names;
    auto const add = [&names](int number, std::string_view name) {
        if (number == 0) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    };
    add(row.num_frames, "num_frames");
    add(row.height, "height");
    add(row.width, "width");
    return names;
}

/// Rows of the table that would take a clip if it were larger, longer, or both.
struct NearRows {
    BucketTable::Row const* fewest_frames = nullptr;  // of those that it is large enough for
    BucketTable::Row const* smallest = nullptr;       // of those of its kind, image or video
};

NearRows near_rows(BucketTable const& table, ClipShape const& clip) {
    constexpr int kPlenty = 1 << 20;
    ClipShape longer = clip;
    if (clip.num_frames > 1) longer.num_frames = kPlenty;
    ClipShape larger = longer;
    larger.height = larger.width = kPlenty;
    NearRows near;
    for (std::size_t i = 0; i < table.rows().size(); ++i) {
        auto const& row = table.rows()[i];
        if (table.fits(larger, i)) near.smallest = &row;  // areas descend
        if (!table.fits(longer, i)) continue;
        bool const fewer = near.fewest_frames == nullptr ||
                           row.entry.num_frames < near.fewest_frames->entry.num_frames;
        if (fewer) near.fewest_frames = &row;
    }
    return near;
}

std::string why_short(BucketTable const& table, ClipShape const& clip, BucketEntry const& entry) {
    auto const& options = table.options();
    bool const original = options.rule == AssignRule::original;
    std::int64_t const frames = entry.num_frames;
    std::int64_t const needed =
        original ? frames * options.frame_stride : (frames - 1) * options.frame_stride + 1;
    return fmt::format("it has {}; {} needs {}{}", counted(clip.num_frames, "frame"),
                       entry_name(entry), original ? "more than " : "", needed);
}

/// For a clip with known numbers that fits no row.
void explain(BucketTable const& table, ClipShape const& clip, ClipPlan& plan) {
    NearRows const near = near_rows(table, clip);
    if (near.fewest_frames != nullptr) {
        plan.kind = kLeftOutShort;
        plan.reason = why_short(table, clip, near.fewest_frames->entry);
    } else if (near.smallest != nullptr) {
        auto const& row = *near.smallest;
        plan.kind = kLeftOutSmall;
        plan.reason =
            fmt::format("it has {} x {} = {} pixels; {} needs {:.0f}", clip.width, clip.height,
                        std::int64_t{clip.width} * clip.height, entry_name(row.entry),
                        std::ceil(kAreaShareMin * static_cast<double>(row.area)));
    } else if (clip.num_frames == 1) {
        plan.kind = kLeftOutImage;
        plan.reason = "it is an image, and no bucket has num_frames = 1";
    } else {
        plan.kind = kLeftOutVideo;
        plan.reason = "it is a video, and every bucket has num_frames = 1";
    }
}

}  // namespace

ClipPlan plan_clip(BucketTable const& table, ListRow const& row) {
    ClipPlan plan;
    if (!row.fault.empty()) {
        plan.kind = kLeftOutRow;
        plan.reason = row.fault;
        return plan;
    }
    if (auto const unsaid = unsaid_numbers(row); !unsaid.empty()) {
        plan.kind = kLeftOutUnknown;
        plan.reason = "the row does not say " + unsaid + ": run osora data index";
        return plan;
    }
    ClipShape const clip{.num_frames = row.num_frames, .height = row.height, .width = row.width};
    auto const shares = table.row_shares(clip);
    for (std::size_t i = 0; i < shares.size(); ++i) {
        if (shares[i] <= 0.0) continue;
        auto const& target = table.rows()[i];
        AspectShape const shape = target.shapes[table.nearest(clip, i)];
        plan.places.push_back({.entry = target.source,
                               .key = {.height = shape.height,
                                       .width = shape.width,
                                       .num_frames = target.entry.num_frames},
                               .crop = centre_crop(clip.width, clip.height, shape),
                               .share = shares[i]});
    }
    std::ranges::stable_sort(plan.places, std::greater<>(), &ClipPlace::share);
    if (plan.places.empty()) explain(table, clip, plan);
    return plan;
}

void ClipPlanTotals::add(ListRow const& row, ClipPlan const& plan) {
    ++counts_.rows;
    if (plan.places.empty()) {
        ++counts_.left_out[std::string(plan.kind)];
        return;
    }
    ++counts_.used;
    bool const video = std::ranges::any_of(
        plan.places, [](ClipPlace const& place) { return place.key.num_frames > 1; });
    if (video && row.fps <= 0) ++counts_.without_rate;
    double const seconds = row.fps > 0 ? row.num_frames / row.fps : 0;
    for (ClipPlace const& place : plan.places) {
        PlannedBucket& bucket = buckets_[{place.entry, place.key}];
        bucket.entry = place.entry;
        bucket.key = place.key;
        ++bucket.clips;
        bucket.weight += place.share;
        if (place.key.num_frames > 1) bucket.seconds += place.share * seconds;
    }
}

ClipPlanSummary ClipPlanTotals::summary(std::size_t entries) const {
    ClipPlanSummary summary = counts_;
    std::vector<bool> filled(entries, false);
    for (auto const& [place, bucket] : buckets_) {
        summary.buckets.push_back(bucket);
        summary.weight += bucket.weight;
        summary.seconds += bucket.seconds;
        if (bucket.entry < entries) filled[bucket.entry] = true;
    }
    std::ranges::stable_sort(summary.buckets, [](auto const& a, auto const& b) {
        return a.entry != b.entry ? a.entry < b.entry : a.clips > b.clips;
    });
    for (std::size_t i = 0; i < entries; ++i) {
        if (!filled[i]) summary.empty_entries.push_back(i);
    }
    return summary;
}

}  // namespace osora::plan
