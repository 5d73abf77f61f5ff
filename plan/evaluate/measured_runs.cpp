#include "plan/evaluate/measured_runs.hpp"

#include "plan/evaluate/evaluate.hpp"
#include "plan/likely_factor.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

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

/// How much of a difference communication explains, [0, 1], by its share of the step. Below 0.3 all
/// of it is taken for computing, as the published runs were when kNoise and kDistance were chosen.
double weight_at(double share) {
    constexpr double kLeast = 0.3, kMost = 0.7;
    double const t = std::clamp((share - kLeast) / (kMost - kLeast), 0.0, 1.0);
    return t * t * (3 - 2 * t);
}

/// The same for the largest share that a part can have had in a step of `measured_s`, half and half
/// if it alone is predicted to take longer.
double weight_of_most(double part_s, double measured_s) {
    double const most = std::min(part_s, measured_s);
    return weight_at(most / (most + measured_s));
}

/// `weight`, where both parts fit in `measured_s` with it.
double possible_weight(double weight, double compute_s, double comm_s, double measured_s) {
    return std::clamp(weight, weight_of_most(comm_s, measured_s),
                      1 - weight_of_most(compute_s, measured_s));
}

/// A measured run beside its prediction, seconds.
struct Compared {
    double compute_s = 0, comm_s = 0;  // predicted: exposed communication, and the rest
    double measured_s = 0;
    double weight = 0;    // of communication
    double variance = 0;  // of the logarithm of a factor that this run gives
    bool same_links = true;
    bool same_run = false;
};

Compared compared(EvaluateRow const& row, MeasuredRun const& run) {
    StepParts const parts = predict(run.row).parts;
    auto const crosses = [](EvaluateRow const& each) {
        return each.world_size() > each.linked_gpus();
    };
    double const comm_s = parts.exposed_comm_s, compute_s = parts.total_s() - comm_s;
    double const weight = weight_at(comm_s / (comm_s + compute_s));
    double const variance = variance_of(row, run.row);
    return {.compute_s = compute_s,
            .comm_s = comm_s,
            .measured_s = run.step_time_s,
            .weight = possible_weight(weight, compute_s, comm_s, run.step_time_s),
            .variance = variance,
            .same_links = crosses(row) == crosses(run.row),
            .same_run = variance == kSame * kSame};
}

/// Solves compute_s e^((1 - weight) x) + comm_s e^(weight x) = measured_s for x by Newton's method;
/// the logarithm of the left side is convex and increasing.
double missing_factor(double compute_s, double comm_s, double measured_s, double weight) {
    if (weight == 0) return std::log((measured_s - comm_s) / compute_s);
    if (weight == 1) return std::log((measured_s - compute_s) / comm_s);
    constexpr int kRounds = 100;
    constexpr double kLongest = 3, kClose = 1e-10;
    double x = 0;
    for (int round = 0; round < kRounds; ++round) {
        double const compute = compute_s * std::exp((1 - weight) * x);
        double const comm = comm_s * std::exp(weight * x);
        double const slope = ((1 - weight) * compute + weight * comm) / (compute + comm);
        double const step = std::log((compute + comm) / measured_s) / slope;
        x -= std::clamp(step, -kLongest, kLongest);
        if (std::abs(step) < kClose) break;
    }
    return x;
}

struct PartFactors {
    double compute = 1, comm = 1;
};

/// Factors improved once: what each run misses with the present ones is divided between both.
PartFactors improved(std::vector<Compared> const& runs, PartFactors const& present) {
    LikelyFactor compute, comm;
    for (Compared const& run : runs) {
        double const here = run.same_links ? present.comm : 1;
        double const compute_s = present.compute * run.compute_s, comm_s = here * run.comm_s;
        double const weight = possible_weight(run.weight, compute_s, comm_s, run.measured_s);
        double const x = missing_factor(compute_s, comm_s, run.measured_s, weight);
        double const rest = 1 - weight;
        // A run in which a part hardly counts says little about it.
        if (rest > 0) compute.add(present.compute * std::exp(rest * x), run.variance / rest / rest);
        if (weight > 0 && run.same_links) {
            comm.add(here * std::exp(weight * x), run.variance / weight / weight);
        }
    }
    return {compute.factor(), comm.factor()};
}

/// Both factors by a few such rounds: with more, runs of nearly the same share would be taken for
/// more exact than they are. The run that is asked for takes as long as it was measured.
PartFactors part_factors(std::vector<Compared> const& runs) {
    constexpr int kRounds = 4;
    PartFactors found;
    for (int round = 0; round < kRounds; ++round) found = improved(runs, found);
    LikelyFactor rest;
    for (Compared const& run : runs) {
        double const predicted = found.compute * run.compute_s + found.comm * run.comm_s;
        if (run.same_run) rest.add(run.measured_s / predicted, run.variance);
    }
    return {found.compute * rest.factor(), found.comm * rest.factor()};
}

}  // namespace

MeasuredCorrection correction_of(EvaluateRow const& row) {
    std::vector<Compared> runs;
    LikelyFactor memory;
    for (MeasuredRun const& run : row.measured) {
        runs.push_back(compared(row, run));
        if (run.peak_memory_gib) {
            memory.add(*run.peak_memory_gib / peak_memory_gib(run.row), runs.back().variance);
        }
    }
    PartFactors const factors = part_factors(runs);
    return {.compute = factors.compute, .comm = factors.comm, .memory = memory.factor()};
}

}  // namespace osora::plan
