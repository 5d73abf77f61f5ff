#include "plan/clip_statistics.hpp"

#include "plan/buckets/list_reader.hpp"
#include "plan/buckets/loader_memory.hpp"

#include <algorithm>
#include <optional>

namespace osora::plan {
namespace {

constexpr double kKeyframeDistance = 250;

double decoded_frames(ClipShape const& clip, int num_frames) {
    double const in_front = std::max(0, clip.num_frames - num_frames);
    return std::min(in_front, kKeyframeDistance) / 2 + std::min(num_frames, clip.num_frames);
}

/// 0: unknown.
int count_at(CsvRow const& row, std::optional<std::size_t> place, bool decimal_comma) {
    if (!place || *place >= row.fields.size()) return 0;
    auto const count = listed_count("", row.fields[*place], decimal_comma);
    return count ? *count : 0;
}

std::optional<ClipShape> shape_of(CsvRow const& row, ColumnPlaces const& places,
                                  bool decimal_comma) {
    auto const at = [&](ClipColumn::Place column) {
        return count_at(row, places[column], decimal_comma);
    };
    ClipShape const shape{.num_frames = at(ClipColumn::num_frames),
                          .height = at(ClipColumn::height),
                          .width = at(ClipColumn::width)};
    if (shape.num_frames == 0 || shape.height == 0 || shape.width == 0) return {};
    return shape;
}

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
            std::max(found.clip_pixels_max, coded_pixels(clip.height, clip.width));
    }
    auto const set = fill_buckets(table, clips);
    for (Bucket const& bucket : set.buckets) {  // the fullest shape of an entry first
        BucketClips& row = found.buckets[bucket.entry];
        if (row.clips == 0) {
            row.height = bucket.key.height;
            row.width = bucket.key.width;
        }
        if (bucket.key.height * bucket.key.width > row.height_max * row.width_max) {
            row.height_max = bucket.key.height;
            row.width_max = bucket.key.width;
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

std::vector<ClipShape> clip_shapes(std::string_view manifest, std::size_t rows_max,
                                   ColumnNames const& columns) {
    auto reader = ListReader::open(manifest, columns);
    if (reader.has_error()) return {};
    bool const commas = reader->separator() != ',';
    auto const pixels = [](ClipShape const& shape) {
        return coded_pixels(shape.height, shape.width);
    };
    std::vector<ClipShape> shapes;
    ClipShape largest;
    std::size_t stride = 1;
    for (std::size_t row_number = 0; auto const row = reader->next(); ++row_number) {
        auto const shape = shape_of(*row, reader->places(), commas);
        if (shape && pixels(*shape) > pixels(largest)) largest = *shape;
        if (row_number % stride != 0) continue;
        if (shape) shapes.push_back(*shape);
        if (shapes.size() <= rows_max) continue;
        // Drops every other one; from here on half as many are taken.
        for (std::size_t i = 0; 2 * i < shapes.size(); ++i) shapes[i] = shapes[2 * i];
        shapes.resize((shapes.size() + 1) / 2);
        stride *= 2;
    }
    auto const is_largest = [&](ClipShape const& shape) {
        return pixels(shape) == pixels(largest);
    };
    if (!shapes.empty() && std::ranges::none_of(shapes, is_largest)) shapes.back() = largest;
    return shapes;
}

}  // namespace osora::plan
