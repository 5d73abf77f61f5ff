#include "plan/clip_statistics.hpp"

#include "base/csv.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

namespace osora::plan {
namespace {

constexpr double kKeyframeDistance = 250;

double decoded_frames(ClipShape const& clip, int num_frames) {
    double const in_front = std::max(0, clip.num_frames - num_frames);
    return std::min(in_front, kKeyframeDistance) / 2 + std::min(num_frames, clip.num_frames);
}

/// "51" or, as pandas writes it, "51.0"; 0: not a count.
int count_of(std::string const& field) {
    double value = 0;
    auto const [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    bool const whole = error == std::errc() && end == field.data() + field.size();
    return whole && value >= 1 && value <= 1e9 && value == std::floor(value)
               ? static_cast<int>(value)
               : 0;
}

class Columns {
public:
    explicit Columns(CsvRow const& header) {
        for (std::size_t i = 0; i < kNames.size(); ++i) {
            auto const found = std::ranges::find(header.fields, kNames[i]);
            complete_ = complete_ && found != header.fields.end();
            places_[i] = static_cast<std::size_t>(found - header.fields.begin());
        }
    }
    [[nodiscard]] bool complete() const { return complete_; }

    [[nodiscard]] std::optional<ClipShape> shape(CsvRow const& row) const {
        std::array<int, 3> counts{};
        for (std::size_t i = 0; i < counts.size(); ++i) {
            if (places_[i] >= row.fields.size()) return {};
            counts[i] = count_of(row.fields[places_[i]]);
            if (counts[i] == 0) return {};
        }
        return ClipShape{.num_frames = counts[0], .height = counts[1], .width = counts[2]};
    }

private:
    static constexpr std::array<std::string_view, 3> kNames{"num_frames", "height", "width"};
    std::array<std::size_t, 3> places_{};
    bool complete_ = true;
};

}  // namespace

Result<BucketTable> bucket_table(RunConfig const& config, ModelShape const& shape) {
    std::vector<BucketEntry> entries;
    for (BucketSection const& bucket : config.bucket) {
        entries.push_back({.resolution = bucket.resolution,
                           .num_frames = bucket.num_frames,
                           .keep_prob = bucket.keep_prob});
    }
    bool const original = config.debug.bucket_schedule == "original";
    return BucketTable::make(std::move(entries),
                             {.multiple = shape.pixel_multiple(),
                              .images_from_videos = !original,
                              .rule = original ? AssignRule::original : AssignRule::osora});
}

Result<ClipStatistics> clip_statistics(RunConfig const& config, ModelShape const& shape,
                                       std::span<ClipShape const> clips) {
    OSORA_TRY(auto const table, bucket_table(config, shape));
    ClipStatistics found;
    found.buckets.resize(config.bucket.size());
    for (ClipShape const& clip : clips) {
        found.clip_pixels_max =
            std::max(found.clip_pixels_max, std::int64_t{clip.height} * clip.width);
    }
    auto const set = fill_buckets(table, clips);
    for (Bucket const& bucket : set.buckets) {  // the fullest shape of an entry first
        BucketClips& row = found.buckets[bucket.entry];
        if (row.clips == 0) {
            row.height = bucket.key.height;
            row.width = bucket.key.width;
        }
        row.clips += bucket.weight;
        for (std::size_t i = 0; i < bucket.clips.size(); ++i) {
            ClipShape const& clip = clips[bucket.clips[i]];
            row.decoded_pixels += bucket.shares[i] * decoded_frames(clip, bucket.key.num_frames) *
                                  clip.height * clip.width;
        }
    }
    for (BucketClips& row : found.buckets) {
        if (row.clips > 0) row.decoded_pixels /= row.clips;
    }
    return found;
}

std::vector<ClipShape> clip_shapes(std::string_view manifest, std::size_t rows_max) {
    CsvReader reader(manifest);
    auto const header = reader.next();
    if (!header || !header->fault.empty() || !Columns(*header).complete()) return {};
    Columns const columns(*header);
    std::vector<ClipShape> shapes;
    std::size_t stride = 1;
    for (std::size_t row_number = 0; auto const row = reader.next(); ++row_number) {
        if (row_number % stride != 0) continue;
        if (auto const shape = columns.shape(*row)) shapes.push_back(*shape);
        if (shapes.size() <= rows_max) continue;
        // Every other one goes, and from here on half as many come.
        for (std::size_t i = 0; 2 * i < shapes.size(); ++i) shapes[i] = shapes[2 * i];
        shapes.resize((shapes.size() + 1) / 2);
        stride *= 2;
    }
    return shapes;
}

}  // namespace osora::plan
