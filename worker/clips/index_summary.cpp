#include "worker/clips/index_summary.hpp"

#include "base/text/csv.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::worker {
namespace {

template <class Value>
Value median_of(std::vector<Value>& values) {
    if (values.empty()) return {};
    auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

}  // namespace

void IndexSummary::add(protocol::ClipIndexRow const& row) {
    answer_.frames += row.num_frames;
    answer_.duration_s += row.duration_s;
    ++answer_.codecs[row.codec];
    ++answer_.containers[row.container];
    ++answer_.resolutions[fmt::format("{}x{}", row.width, row.height)];
    if (!row.constant_rate) ++answer_.variable_rate;
    if (row.rotation != 0) ++answer_.rotated;
    answer_.gop_frames_max = std::max(answer_.gop_frames_max, row.gop_frames_max);
    answer_.gop_s_max = std::max(answer_.gop_s_max, row.gop_s_max);
    if (row.gop_s_max > kLongGopS) ++answer_.long_gops;
    if (row.gop_frames_median > 0) gops_.push_back(row.gop_frames_median);
    if (row.decode_ms_per_frame > 0) decode_ms_.push_back(row.decode_ms_per_frame);
}

void IndexSummary::finish() {
    answer_.gop_frames_median = median_of(gops_);
    answer_.decode_ms_per_frame = median_of(decode_ms_);
}

std::string filled_line(Clip clip, std::string_view path, protocol::ClipIndexRow const* row,
                        std::map<std::string, std::int64_t>& filled) {
    auto const fill = [&](auto& cell, auto const& value, char const* column) {
        if (cell > 0 || value <= 0) return;
        cell = value;
        ++filled[column];
    };
    if (row != nullptr) {
        fill(clip.num_frames, row->num_frames, "num_frames");
        fill(clip.height, row->height, "height");
        fill(clip.width, row->width, "width");
        fill(clip.fps, row->fps, "fps");
    }
    auto const cell = [](auto value) { return value > 0 ? fmt::format("{}", value) : ""; };
    bool const sized = clip.height > 0 && clip.width > 0;
    double const ratio = sized ? static_cast<double>(clip.height) / clip.width : 0;
    std::int64_t const area = std::int64_t{clip.height} * clip.width;
    return fmt::format("{},{},{},{},{},{},{},{}\n", csv_field(path), csv_field(clip.text),
                       cell(clip.num_frames), cell(clip.height), cell(clip.width), cell(ratio),
                       cell(area), cell(clip.fps));
}

}  // namespace osora::worker
