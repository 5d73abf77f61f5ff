// [train] and [debug] of the run file: length and objective of training, and known-bad variants.
#pragma once

#include "base/auto_or.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace osora::plan {

struct TrainSection {
    int steps = 1000;
    std::int64_t seed = 1024;
    int log_every = 10;
    bool deterministic = false;
    bool self_check = false;        // before the first step: one of the layout against one rank
    AutoOr<std::string> timesteps;  // auto: uniform for STDiT3, logit_normal for MMDiT
    AutoOr<bool> timestep_shift;    // auto: false for STDiT3, true for MMDiT
    std::map<std::string, double> frame_masks;  // strategy (frame_masks.hpp) -> share of samples
};
struct DebugSection {
    std::string collectives = "bucketed", bucket_schedule = "balanced";
    std::string frame_mask_rule = "osora";
    std::string attention = "fused";
    std::string kernels = "fused";
    bool memory_guard = true;
};

BOOST_DESCRIBE_STRUCT(TrainSection, (),
                      (steps, seed, log_every, deterministic, self_check, timesteps, timestep_shift,
                       frame_masks))
BOOST_DESCRIBE_STRUCT(DebugSection, (),
                      (collectives, bucket_schedule, frame_mask_rule, attention, kernels,
                       memory_guard))

}  // namespace osora::plan
