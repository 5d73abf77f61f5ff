// split_by_plan divides a total in the plan's proportions: backward costs two forwards.
#include "plan/rehearsal.hpp"

namespace osora::plan {
namespace {

constexpr double kForwardShare = 1.0 / 3.0;  // of forward and backward

BucketCompute split_by_plan(double total_s, BucketPlan const& plan, std::string source) {
    double const planned_s = plan.compute_s + plan.optimizer_s;
    double const optimizer_share = planned_s > 0 ? plan.optimizer_s / planned_s : 0;
    double const passes_s = total_s * (1 - optimizer_share);
    return {.forward_s = kForwardShare * passes_s,
            .backward_s = (1 - kForwardShare) * passes_s,
            .optimizer_s = total_s * optimizer_share,
            .source = std::move(source)};
}

}  // namespace

std::vector<BucketCompute> rehearsal_compute(
    RunConfig const& config, PlanDecision const& plan,
    std::vector<std::optional<BucketCompute>> const& measured) {
    std::vector<BucketCompute> computes;
    for (std::size_t i = 0; i < plan.chosen.buckets.size(); ++i) {
        BucketPlan const& bucket = plan.chosen.buckets[i];
        AutoOr<double> asked = config.rehearse.compute_s;
        if (i < config.bucket.size() && !config.bucket[i].compute_s.is_auto()) {
            asked = config.bucket[i].compute_s;
        }
        if (!asked.is_auto()) {
            computes.push_back(split_by_plan(*asked.value, bucket, "run file"));
        } else if (i < measured.size() && measured[i]) {
            computes.push_back(*measured[i]);
        } else {
            computes.push_back(
                split_by_plan(bucket.compute_s + bucket.optimizer_s, bucket, "plan"));
        }
    }
    return computes;
}

}  // namespace osora::plan
