// Walks a clip down the table of bucket entries, with draws or with probabilities.
#include "plan/buckets/assign.hpp"

#include "base/check.hpp"
#include "plan/buckets/numpy_rng.hpp"
#include "plan/buckets/original_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

namespace osora::plan {
namespace {

bool is_probability(double value) {
    return value > 0.0 && value <= 1.0;
}

/// All errors of one entry, each followed by "; ".
std::string faults(BucketEntry const& entry) {
    std::string text;
    std::string const name = fmt::format("{} x {} frames", entry.resolution, entry.num_frames);
    if (auto const area = resolution_area(entry.resolution); area.has_error()) {
        text += area.error().message + "; ";
    }
    if (entry.num_frames < 1) {
        text += fmt::format("{}: num_frames must be >= 1; ", name);
    }
    if (!is_probability(entry.keep_prob)) {
        text += fmt::format("{}: keep_prob {} is outside (0, 1]; ", name, entry.keep_prob);
    }
    if (!is_probability(entry.frame_keep_prob)) {
        text +=
            fmt::format("{}: frame_keep_prob {} is outside (0, 1]; ", name, entry.frame_keep_prob);
    }
    return text;
}

bool comes_before(BucketTable::Row const& a, BucketTable::Row const& b) {
    if (a.area != b.area) return a.area > b.area;
    return a.entry.num_frames > b.entry.num_frames;
}

/// The row's shapes; the original's, with their names, if the rule asks for them and they exist.
void set_shapes(BucketTable::Row& row, AssignOptions const& options) {
    if (options.rule == AssignRule::original) {
        for (OriginalShape const& original : original_shapes(row.entry.resolution)) {
            row.shapes.push_back(original.shape);
            row.ratios.push_back(original.ratio);
        }
    }
    if (row.shapes.empty()) row.shapes = aspect_shapes(row.area, options.multiple);
}

}  // namespace

Draw original_draws(std::uint64_t seed) {
    struct State {
        std::size_t entry = 0;
        NumpyRng rng{0};
    };
    return [seed, state = std::make_shared<State>()](std::size_t entry, int k) {
        if (k == 0) *state = {entry, NumpyRng(seed + entry)};
        OSORA_CHECK_EQ(entry, state->entry);
        return state->rng.random();
    };
}

Result<BucketTable> BucketTable::make(std::vector<BucketEntry> entries, AssignOptions options) {
    if (entries.empty()) return Error{Errc::invalid_input, "buckets: none given; one is needed"};
    if (options.frame_stride < 1 || options.multiple < 1) {
        return Error{Errc::invalid_input,
                     fmt::format("buckets: frame_stride {} and multiple {} must be >= 1",
                                 options.frame_stride, options.multiple)};
    }
    std::string text;
    for (BucketEntry const& entry : entries) text += faults(entry);
    if (!text.empty()) {
        text.resize(text.size() - 2);
        return Error{Errc::invalid_input, "buckets: " + text};
    }
    BucketTable table;
    table.options_ = options;
    for (std::size_t source = 0; source < entries.size(); ++source) {
        std::int64_t const area = *resolution_area(entries[source].resolution);
        table.rows_.push_back({.entry = std::move(entries[source]),
                               .source = source,
                               .area = area,
                               .shapes = {},
                               .ratios = {}});
        set_shapes(table.rows_.back(), options);
    }
    std::ranges::stable_sort(table.rows_, comes_before);
    for (std::size_t i = 1; i < table.rows_.size(); ++i) {
        Row const& row = table.rows_[i];
        if (comes_before(table.rows_[i - 1], row)) continue;
        return Error{Errc::invalid_input, fmt::format("buckets: {} x {} frames is given twice",
                                                      row.entry.resolution, row.entry.num_frames)};
    }
    return table;
}

bool BucketTable::fits(ClipShape const& clip, std::size_t row) const {
    OSORA_CHECK_LT(row, rows_.size());
    Row const& r = rows_[row];
    double const pixels = static_cast<double>(clip.height) * clip.width;
    if (pixels < kAreaShareMin * static_cast<double>(r.area)) return false;
    std::int64_t const frames = r.entry.num_frames;
    bool const image_entry = frames == 1;
    if (clip.num_frames == 1 || image_entry) {
        return image_entry &&
               (clip.num_frames == 1 || (options_.images_from_videos && clip.num_frames > 1));
    }
    if (options_.rule == AssignRule::original) {
        return clip.num_frames > frames * options_.frame_stride;
    }
    return clip.num_frames >= (frames - 1) * options_.frame_stride + 1;
}

std::size_t BucketTable::shape_count() const {
    std::size_t count = 0;
    for (Row const& row : rows_) count += row.shapes.size();
    return count;
}

std::size_t BucketTable::nearest(ClipShape const& clip, std::size_t row) const {
    OSORA_CHECK_LT(row, rows_.size());
    Row const& r = rows_[row];
    if (r.ratios.empty()) return nearest_shape(r.shapes, clip.height, clip.width);
    return nearest_ratio(r.ratios, clip.height, clip.width);
}

std::optional<std::size_t> BucketTable::draw_row(ClipShape const& clip, Draw const& draw) const {
    std::int64_t rejected_area = -1;  // the rest of this area is not tried (original rule)
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (rows_[i].area == rejected_area || !fits(clip, i)) continue;
        BucketEntry const& entry = rows_[i].entry;
        int drawn = 0;
        if (entry.frame_keep_prob < 1.0 && draw(i, drawn++) > entry.frame_keep_prob) continue;
        bool const sure = entry.keep_prob >= 1.0 && entry.num_frames > 1;
        if (sure || draw(i, drawn) < entry.keep_prob) return i;
        if (options_.rule == AssignRule::original) rejected_area = rows_[i].area;
    }
    return std::nullopt;
}

std::vector<double> BucketTable::row_shares(ClipShape const& clip) const {
    std::vector<double> shares(rows_.size(), 0.0);
    double reaching = 1.0;  // probability that the clip tries this row
    double later = 0.0;     // probability that it waits for the next area (original rule)
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (i > 0 && rows_[i].area != rows_[i - 1].area) {
            reaching += later;
            later = 0.0;
        }
        if (!fits(clip, i)) continue;
        BucketEntry const& entry = rows_[i].entry;
        double const tried = reaching * entry.frame_keep_prob;
        shares[i] = tried * entry.keep_prob;
        reaching -= tried;
        double& rejected = options_.rule == AssignRule::original ? later : reaching;
        rejected += tried - shares[i];
    }
    return shares;
}

BucketSet fill_buckets(BucketTable const& table, std::span<ClipShape const> clips) {
    std::map<std::pair<std::size_t, std::size_t>, Bucket> filled;  // by (run file entry, shape)
    BucketSet set;
    auto const rows = table.rows();
    for (std::size_t c = 0; c < clips.size(); ++c) {
        auto const clip = static_cast<std::uint32_t>(c);
        std::vector<double> const shares = table.row_shares(clips[c]);
        bool used = false;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (shares[i] <= 0.0) continue;
            used = true;
            std::size_t const shape = table.nearest(clips[c], i);
            Bucket& bucket = filled[{rows[i].source, shape}];
            bucket.entry = rows[i].source;
            bucket.key = {.height = rows[i].shapes[shape].height,
                          .width = rows[i].shapes[shape].width,
                          .num_frames = rows[i].entry.num_frames};
            bucket.clips.push_back(clip);
            bucket.shares.push_back(static_cast<float>(shares[i]));
            bucket.weight += shares[i];
        }
        if (!used) set.unused_clips.push_back(clip);
    }
    for (auto& [place, bucket] : filled) set.buckets.push_back(std::move(bucket));
    std::ranges::stable_sort(set.buckets, [](Bucket const& a, Bucket const& b) {
        if (a.entry != b.entry) return a.entry < b.entry;
        return a.clips.size() > b.clips.size();
    });
    for (std::size_t entry = 0; entry < rows.size(); ++entry) {
        bool const found =
            std::ranges::find(set.buckets, entry, &Bucket::entry) != set.buckets.end();
        if (!found) set.empty_entries.push_back(entry);
    }
    return set;
}

}  // namespace osora::plan
