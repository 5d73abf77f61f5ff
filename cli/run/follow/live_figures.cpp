#include "cli/run/follow/live_figures.hpp"

#include <cmath>

namespace osora::cli {

LiveFigures live_figures(protocol::RunView const& view) {
    // Steps of a damaged journal may have no times.
    bool const has_steps = !view.recent_steps.empty() && view.step_time_s > 0;
    bool const counts_samples = view.samples_per_s > 0;
    bool const counts_clips = view.status.scoring && view.clips > 0 && counts_samples;
    bool const stopped = view.status.verdict != protocol::Verdict::none && view.eta_s > 0;
    bool const has_end = !stopped && (view.steps > 0 || counts_clips);
    auto const known = [](bool is_known, double value) {
        return protocol::to_json(is_known ? value : NAN);
    };
    return {.loss = known(view.has_loss, view.last_loss),
            .smooth_loss = known(view.has_loss, view.smooth_loss),
            .step_time_s = known(has_steps, view.step_time_s),
            .samples_per_s = known(has_steps && counts_samples, view.samples_per_s),
            .eta_s = known(has_steps && has_end, view.eta_s)};
}

protocol::json::value null_if_zero(std::int64_t value) {
    return value == 0 ? protocol::json::value() : protocol::json::value(value);
}

}  // namespace osora::cli
