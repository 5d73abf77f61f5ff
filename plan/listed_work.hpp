// What a list says about the cost of decoding its clips, for the plan of a score run. Pure.
#pragma once

#include "base/result.hpp"
#include "plan/buckets/clip_columns.hpp"

#include <cstdint>
#include <string_view>

namespace osora::plan {

struct ListedWork {
    std::int64_t rows = 0;        // of the list, unusable ones included
    std::int64_t unusable = 0;    // of them, that cannot be read
    std::int64_t sized = 0;       // of them, that give frames, height and width
    double frames = 0;            // sum over those
    double megapixel_frames = 0;  // frames x megapixels of a picture, sum over those
    double megapixels = 0;        // of a picture, sum over those
};

/// Errors: those of read_list_rows().
[[nodiscard]] Result<ListedWork> listed_work(std::string_view list, ColumnNames const& columns);

}  // namespace osora::plan
