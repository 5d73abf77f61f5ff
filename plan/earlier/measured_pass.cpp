#include "plan/earlier/measured_pass.hpp"

#include "plan/likely_factor.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace osora::plan {
namespace {

// Standard deviations of the logarithm: of a run's time against the same run another day, and for
// each doubling of a size.
constexpr double kRunNoise = 0.03, kSizeNoise = 0.05;

double doublings_between(double a, double b) {
    return std::abs(std::log2(a / b));
}

double pixels(BucketKey const& bucket) {
    return static_cast<double>(std::int64_t{bucket.height} * bucket.width) * bucket.num_frames;
}

double distance(StepQuery const& a, StepQuery const& b) {
    int const other_recompute = a.activations.recompute != b.activations.recompute ? 1 : 0;
    int const other_store = a.activations.store != b.activations.store ? 1 : 0;
    return doublings_between(pixels(a.bucket), pixels(b.bucket)) +
           doublings_between(a.micro_batch_size, b.micro_batch_size) +
           doublings_between(a.threads, b.threads) + other_recompute + other_store;
}

double variance(StepQuery const& a, StepQuery const& b) {
    return std::pow(kRunNoise, 2) + std::pow(kSizeNoise * distance(a, b), 2);
}

bool is_time(double seconds) {
    return std::isfinite(seconds) && seconds > 0;
}

}  // namespace

PassCorrection::PassCorrection(std::vector<MeasuredPass> const& passes, StepQuery const& query,
                               Calibration const& calibration) {
    for (MeasuredPass const& each : passes) {
        bool const sound = each.height > 0 && each.width > 0 && each.num_frames > 0 &&
                           each.micro_batch_size > 0 && each.ranks > 0 && each.threads > 0;
        if (!sound || !is_time(each.pass_s)) continue;
        StepQuery then{.shape = query.shape,
                       .bucket = {each.height, each.width, each.num_frames},
                       .micro_batch_size = each.micro_batch_size,
                       .dp_size = each.ranks,
                       .precision = query.precision,
                       .reduce_dtype = query.reduce_dtype,
                       .lora_rank = query.lora_rank,
                       .zero_stage = each.zero_stage,
                       .shard_size = each.shard_size,
                       .freeze = query.freeze,
                       .activations = {.recompute = each.recompute, .store = each.activation_store},
                       .threads = each.threads,
                       .cores = std::max(1, each.cores),
                       .gpu = query.gpu,
                       .fused_kernels = query.fused_kernels};
        StepTime const predicted = step_time(then, calibration);
        Factors ratio{.pass = each.pass_s / predicted.compute_s};
        if (is_time(each.optimizer_s)) ratio.optimizer = each.optimizer_s / predicted.optimizer_s;
        passes_.push_back({each.run, std::move(then), ratio});
    }
}

PassCorrection::Factors PassCorrection::factors(StepQuery const& query) const {
    LikelyFactor pass, optimizer;
    for (Compared const& each : passes_) {
        double const uncertain = variance(query, each.query);
        pass.add(each.measured.pass, uncertain);
        optimizer.add(each.measured.optimizer, uncertain);
    }
    return {pass.factor(), optimizer.factor()};
}

int PassCorrection::nearest_run(StepQuery const& query) const {
    auto const nearest = std::ranges::min_element(
        passes_, {}, [&](Compared const& each) { return distance(query, each.query); });
    return nearest == passes_.end() ? 0 : nearest->run;
}

}  // namespace osora::plan
