// The clips of a list as training reads them, without their files. Pure.
#pragma once

#include "base/result.hpp"
#include "plan/buckets/clip_columns.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace osora::plan {

/// Of a list; larger ones are refused.
inline constexpr std::int64_t kListBytesMax = std::int64_t{1} << 30;

/// One row; a number is 0 if the row does not say it.
struct ListRow {
    std::string name;  // the path as written
    std::string path;  // absolute
    std::string text;  // caption, may be empty
    int num_frames = 0;
    int height = 0;
    int width = 0;
    double fps = 0;
    int line = 0;       // 1-based; where the row starts
    std::string fault;  // why the row is unusable; empty: it is usable
};

/// Passes each row on as it is read: a list may have millions. `folder`, an absolute path, is the
/// base of relative ones. A broken quote costs only its line. Errors: invalid_input (no path
/// column, no rows, or another format, with the command that converts it).
[[nodiscard]] Result<void> read_list_rows(std::string_view text,
                                          std::filesystem::path const& folder,
                                          ColumnNames const& columns,
                                          std::function<void(ListRow)> const& take);

}  // namespace osora::plan
