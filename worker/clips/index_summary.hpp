// Sums up the rows of an index, and fills the cells of a manifest. Pure.
#pragma once

#include "protocol/clip_index.hpp"
#include "worker/data/manifest.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

inline constexpr std::string_view kFilledHeader =
    "path,text,num_frames,height,width,aspect_ratio,resolution,fps\n";

/// A distance between keyframes that makes windows expensive.
constexpr double kLongGopS = 10;

class IndexSummary {
public:
    explicit IndexSummary(protocol::ClipIndex& answer) : answer_(answer) {}
    void add(protocol::ClipIndexRow const& row);
    /// Medians, after all rows.
    void finish();

private:
    protocol::ClipIndex& answer_;
    std::vector<std::int64_t> gops_;
    std::vector<double> decode_ms_;
};

/// One line of kFilledHeader: numbers that the row has stay, others are `row`'s (nullptr: empty
/// cells), counted in `filled` by column. aspect_ratio is height / width, resolution height x
/// width, as Open-Sora writes them.
[[nodiscard]] std::string filled_line(Clip clip, std::string_view path,
                                      protocol::ClipIndexRow const* row,
                                      std::map<std::string, std::int64_t>& filled);

}  // namespace osora::worker
