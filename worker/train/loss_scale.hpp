// The loss scale of fp16 training: gradients too small for fp16 are lifted into its range, and the
// scale falls when they leave it above. Pure; the trainer keeps it, checkpoints carry it.
#pragma once

#include <boost/describe.hpp>

namespace osora::worker {

/// torch.amp.GradScaler with its defaults.
struct LossScale {
    double scale = 65536;
    int good_steps = 0;  // since the scale changed
    friend bool operator==(LossScale const&, LossScale const&) = default;
};
BOOST_DESCRIBE_STRUCT(LossScale, (), (scale, good_steps))

/// After a step: halved when gradients were not finite, doubled after 2,000 finite ones in a row
/// (not beyond what fp32 holds).
[[nodiscard]] LossScale with_step(LossScale const& before, bool finite);

}  // namespace osora::worker
