// Figures of a run in progress for JSON: null, not 0, where one is not known (yet). Pure.
#pragma once

#include "protocol/json.hpp"
#include "protocol/run_view.hpp"

#include <cstdint>

namespace osora::cli {

struct LiveFigures {
    protocol::json::value loss, smooth_loss;           // a user program may report none
    protocol::json::value step_time_s, samples_per_s;  // before the first step of an attempt: null
    protocol::json::value eta_s;  // also null: nobody knows where it ends, or it stopped before
};
[[nodiscard]] LiveFigures live_figures(protocol::RunView const& view);

/// null for 0, which means "not known" for bytes and times of a view.
[[nodiscard]] protocol::json::value null_if_zero(std::int64_t value);

}  // namespace osora::cli
