// What training makes of a clip of a list: its buckets, or why it is left out. Pure.
#pragma once

#include "plan/buckets/assign.hpp"
#include "plan/buckets/crop.hpp"
#include "plan/buckets/list_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace osora::plan {

/// A bucket that a clip trains in.
struct ClipPlace {
    std::size_t entry = 0;  // index in the run file
    BucketKey key;          // the size of a sample
    CropBox crop;           // this part of the picture is resized to it
    double share = 0;       // of the passes over the data, (0, 1]
};

/// Kinds of what is left out, in the order in which they are checked. `row`: it cannot be read;
/// `missing`: its file, of which the caller knows; `unknown`: it does not say frames, height or
/// width.
inline constexpr std::string_view kLeftOutRow = "row", kLeftOutMissing = "missing",
                                  kLeftOutUnknown = "unknown", kLeftOutSmall = "small",
                                  kLeftOutShort = "short", kLeftOutImage = "image",
                                  kLeftOutVideo = "video";

struct ClipPlan {
    std::vector<ClipPlace> places;  // the largest share first; empty: the clip is left out
    std::string_view kind;          // empty: it is used
    std::string reason;
};

/// `row`: without a fault or with one; its numbers may be 0 (unknown).
[[nodiscard]] ClipPlan plan_clip(BucketTable const& table, ListRow const& row);

/// Clips of one bucket; a clip of several buckets counts in each by its share.
struct PlannedBucket {
    std::size_t entry = 0;
    BucketKey key;
    std::int64_t clips = 0;  // that train in it at all
    double weight = 0;       // per pass over the data
    double seconds = 0;      // by share, of clips whose row says the rate; 0 for images
};

struct ClipPlanSummary {
    std::int64_t rows = 0, used = 0;
    double weight = 0, seconds = 0;      // sums over `buckets`
    std::int64_t without_rate = 0;       // clips in buckets of videos that `seconds` lacks
    std::vector<PlannedBucket> buckets;  // in the order of the run file, the fullest shape first
    std::vector<std::size_t> empty_entries;             // of the run file
    std::map<std::string, std::int64_t> left_out = {};  // clips by kind
};

class ClipPlanTotals {
public:
    void add(ListRow const& row, ClipPlan const& plan);
    /// `entries`: how many the run file has.
    [[nodiscard]] ClipPlanSummary summary(std::size_t entries) const;

private:
    std::map<std::pair<std::size_t, BucketKey>, PlannedBucket> buckets_;
    ClipPlanSummary counts_;  // without its lists
};

}  // namespace osora::plan
