// Evaluates the change points of a series: is it slower than before, and does that last? Pure.
#pragma once

#include "db/analysis/changepoint/segmentation.hpp"

#include <boost/describe/enum.hpp>

#include <optional>
#include <span>
#include <string>

namespace osora::db::analysis::changepoint {

enum class SeriesState {
    undecided,  // too few values
    steady,
    regressed,  // the newest level is worse than the one before it
    fixed,      // it was, and the earlier level is back
    improved    // the newest level is better than the one before it
};
BOOST_DESCRIBE_ENUM(SeriesState, undecided, steady, regressed, fixed, improved)

struct SeriesVerdict {
    SeriesState value = SeriesState::undecided;
    std::string reason;
    std::optional<std::size_t> point;  // index into Segmentation::points: where the regression
                                       // came, or the one that was fixed
};

/// This many values in a row within one noise of the earlier level mean that a regression is gone.
constexpr int kBackAgain = 3;

/// `robust` is the answer for `values`.
[[nodiscard]] SeriesVerdict series_verdict(std::span<double const> values,
                                           Segmentation const& robust,
                                           Direction direction = Direction::higher_is_worse,
                                           SegmentationOptions const& options = {});

[[nodiscard]] bool is_worse(ChangePoint const& point, Direction direction);

}  // namespace osora::db::analysis::changepoint
