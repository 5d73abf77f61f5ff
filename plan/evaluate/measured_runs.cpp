#include "plan/evaluate/measured_runs.hpp"

#include "plan/evaluate/evaluate.hpp"
#include "plan/likely_factor.hpp"

#include <algorithm>
#include <cmath>

namespace osora::plan {
namespace {

// Chosen by leave-one-out on published tables (bench/planner_fit/score.py --measured).
constexpr double kNoise = 0.02;     // for runs that differ only in their number of ranks
constexpr double kDistance = 0.04;  // for each doubling of a size of the layout or the model
constexpr double kSame = 1e-3;      // for the same run

double doublings(std::int64_t a, std::int64_t b) {
    return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

double model_distance(EvaluateRow const& a, EvaluateRow const& b) {
    constexpr double kOther = 4;  // another kind of model
    if (a.gpt.has_value() != b.gpt.has_value()) return kOther;
    if (a.gpt) {
        return doublings(a.gpt->hidden, b.gpt->hidden) +
               0.5 * doublings(a.gpt->seq_len, b.gpt->seq_len);
    }
    if (a.arch->shape.family != b.arch->shape.family) return kOther;
    BucketKey const &x = a.arch->bucket, &y = b.arch->bucket;
    std::int64_t const frames_x = x.num_frames, frames_y = y.num_frames;
    return doublings(a.arch->shape.hidden, b.arch->shape.hidden) +
           0.5 * doublings(std::int64_t{x.height} * x.width, std::int64_t{y.height} * y.width) +
           0.5 * doublings(frames_x, frames_y);
}

double layout_distance(RowLayout const& a, RowLayout const& b) {
    return doublings(a.tp_size, b.tp_size) + doublings(a.pp_size, b.pp_size) +
           doublings(a.sp_size, b.sp_size) + doublings(a.micro_batch_size, b.micro_batch_size) +
           (a.recompute != b.recompute ? 1 : 0) + (a.precision != b.precision ? 1 : 0) +
           (a.zero_stage != b.zero_stage ? 1 : 0);
}

double variance_of(EvaluateRow const& row, EvaluateRow const& run) {
    double const distance = model_distance(row, run) + layout_distance(row.layout, run.layout);
    bool const same = distance == 0 && row.world_size() == run.world_size() &&
                      row.layout.grad_accum_steps == run.layout.grad_accum_steps &&
                      row.layout.dp_size == run.layout.dp_size;
    if (same) return kSame * kSame;
    return kNoise * kNoise + kDistance * kDistance * distance;
}

/// Measured over predicted of the non-communication part; of the whole step if communication
/// dominates.
double compute_ratio(MeasuredRun const& run) {
    StepParts const parts = predict(run.row).parts;
    double const predicted = parts.total_s(), comm = parts.exposed_comm_s;
    constexpr double kMostComm = 0.5;
    bool const most = comm > kMostComm * predicted || comm > kMostComm * run.step_time_s;
    return most ? run.step_time_s / predicted : (run.step_time_s - comm) / (predicted - comm);
}

}  // namespace

MeasuredCorrection correction_of(EvaluateRow const& row) {
    LikelyFactor compute, memory;
    for (MeasuredRun const& run : row.measured) {
        double const variance = variance_of(row, run.row);
        compute.add(compute_ratio(run), variance);
        if (run.peak_memory_gib) {
            memory.add(*run.peak_memory_gib / peak_memory_gib(run.row), variance);
        }
    }
    return {compute.factor(), memory.factor()};
}

}  // namespace osora::plan
