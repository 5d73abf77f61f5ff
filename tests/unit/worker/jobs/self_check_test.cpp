// The check of a layout before a run: it agrees where the layout is right, and names what is not.
#include "worker/jobs/self_check.hpp"
#include "tests/unit/worker/parallel/ranks.hpp"
#include "worker/jobs/objectives.hpp"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <torch/types.h>

#include <limits>
#include <mutex>
#include <ostream>

namespace osora::worker {
namespace {

using testing::HasSubstr;

struct Case {
    char const* arch = "stdit3-tiny";
    int tp = 1, sp = 1, pp = 1, dp = 1, zero = 0;
    int virtual_stages = 1;
    int lora_rank = 0;
    char const* recompute = "none";
    [[nodiscard]] int ranks() const { return tp * sp * pp * dp; }
};

void PrintTo(Case const& each, std::ostream* out) {
    *out << each.arch << " tp" << each.tp << " sp" << each.sp << " pp" << each.pp << " dp"
         << each.dp << " zero" << each.zero << " lora" << each.lora_rank << ' ' << each.recompute;
}

plan::WorkerJob job_of(Case const& each) {
    plan::WorkerJob job;
    job.config.model.arch = each.arch;
    job.config.optim.lora_rank = each.lora_rank;
    auto& chosen = job.plan.chosen;
    chosen.tp_size = each.tp;
    chosen.sp_size = each.sp;
    chosen.pp_size = each.pp;
    chosen.dp_size = each.dp;
    chosen.zero_stage = each.zero;
    chosen.virtual_stages = each.virtual_stages;
    chosen.recompute = each.recompute;
    chosen.precision = "bf16";
    chosen.grad_bucket_mib = 1;
    return job;
}

Result<std::unique_ptr<Objective>> made(plan::WorkerJob const& job, RankGroups const& groups) {
    Notices notices;
    return make_objective(job, Device(), groups, notices);
}

/// What all ranks found; they are threads.
SelfCheck checked(Case const& each, MakeObjective const& make = made) {
    std::mutex mutex;
    std::vector<SelfCheck> found;
    auto const body = [&](std::optional<Group> const& group) {
        at::set_num_threads(1);
        int const rank = group ? group->rank() : 0, together = each.tp * each.sp;
        TrainRanks ranks;
        static_cast<RankGroups&>(ranks) = split_ranks(group, {.tp_size = each.tp,
                                                              .sp_size = each.sp,
                                                              .pp_size = each.pp,
                                                              .virtual_stages = each.virtual_stages,
                                                              .shard_size = 0})
                                              .value();
        ranks.dp_size = each.dp;
        ranks.dp_rank = rank % (each.ranks() / each.pp) / together;
        auto check = self_check(job_of(each), ranks, Device(), make);
        std::lock_guard const lock(mutex);
        found.push_back(std::move(check).value());
    };
    if (each.ranks() == 1)
        body(std::nullopt);
    else
        run_ranks(each.ranks(), body);
    for (SelfCheck const& other : found) EXPECT_EQ(other.text(), found.front().text());
    return found.front();
}

class RightLayout : public testing::TestWithParam<Case> {};

TEST_P(RightLayout, AgreesWithOneRank) {
    SelfCheck const check = checked(GetParam());
    EXPECT_TRUE(check.passed()) << check.text();
    EXPECT_LE(check.loss, 1e-5) << check.text();
    EXPECT_LE(check.gradient, 1e-5) << check.text();
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, RightLayout,
    testing::Values(Case{.recompute = "full"}, Case{.dp = 2, .zero = 1}, Case{.dp = 3, .zero = 3},
                    Case{.tp = 2, .dp = 2, .zero = 2}, Case{.sp = 2, .dp = 2, .zero = 3},
                    Case{.pp = 2}, Case{.pp = 2, .zero = 1, .virtual_stages = 2},
                    Case{.dp = 2, .zero = 3, .lora_rank = 4}, Case{.sp = 2, .recompute = "1"},
                    Case{.arch = "stdit2-tiny", .sp = 2, .zero = 1},
                    Case{.arch = "mmdit-tiny", .tp = 2, .pp = 2},
                    Case{.arch = "mmdit-tiny", .sp = 2, .dp = 2, .zero = 3},
                    Case{.arch = "mmdit-tiny", .tp = 2, .sp = 2, .recompute = "selective"}));

/// A rank that counts its part of a gradient twice, as a reduction would that runs twice.
MakeObjective doubling(std::string const& name, int bad_rank) {
    return [=](plan::WorkerJob const& job, RankGroups const& groups) {
        auto objective = made(job, groups);
        if (groups.all && groups.all->rank() == bad_rank) {
            auto const* const found = (*objective)->parameters().find(name);
            found->tensor.register_hook([](at::Tensor const& gradient) { return gradient * 2; });
        }
        return objective;
    };
}

TEST(WrongLayout, TensorAndRankAreNamed) {
    std::string const name = "temporal_blocks.1.mlp.fc2.weight";
    SelfCheck const check = checked({.tp = 2}, doubling(name, 1));
    EXPECT_FALSE(check.passed());
    EXPECT_EQ(check.tensor, name);
    EXPECT_EQ(check.rank, 1);
    EXPECT_LE(check.loss, 1e-5);
    EXPECT_THAT(check.text(), HasSubstr("the gradient of " + name + " on rank 1 differs by 0."));
    EXPECT_THAT(check.text(), HasSubstr("tp 2, ZeRO 0"));
    EXPECT_EQ(checked({.dp = 2, .zero = 2}, doubling(name, 0)).tensor, name);
}

TEST(WrongLayout, OtherWeightsOnARankAreFound) {
    auto const make = [](plan::WorkerJob const& job, RankGroups const& groups) {
        auto objective = made(job, groups);
        if (groups.all && groups.all->rank() == 1) {
            at::NoGradGuard const no_grad;
            (*objective)->parameters().find("t_block.1.weight")->tensor.add_(0.1);
        }
        return objective;
    };
    SelfCheck const check = checked({.dp = 2}, make);
    EXPECT_FALSE(check.passed());
    EXPECT_THAT(check.text(), HasSubstr("the loss differs by"));
}

TEST(GradientDifference, IsOverThePartsOfThisRank) {
    auto const parts = [](std::string name, std::int64_t first, std::vector<float> const& values,
                          std::vector<std::int64_t> const& shape) {
        TensorParts made(std::move(name), at::kFloat, shape);
        if (!values.empty()) made.parts.push_back({first, torch::tensor(values), {}});
        return made;
    };
    std::vector<TensorParts> expected{parts("a", 0, {3, 4, 0, 0}, {2, 2}),
                                      parts("noise", 0, {1e-6F, 0}, {2})};
    EXPECT_EQ(gradient_difference(expected, expected).relative, 0);
    auto const own = [&](std::vector<float> const& values) {
        return gradient_difference({parts("a", 2, values, {2, 2}), parts("noise", 0, {}, {2})},
                                   expected);
    };
    EXPECT_EQ(own({0, 0}).relative, 0);
    EXPECT_NEAR(own({0, 1}).relative, 0.2, 1e-6);
    EXPECT_EQ(own({0, 1}).tensor, 0);
    EXPECT_EQ(own({0, std::numeric_limits<float>::quiet_NaN()}).relative,
              std::numeric_limits<double>::infinity());
    // Rounding of a tensor that is zero but for it: measured against 1e-3 of all, which is 5e-3.
    auto const rounded = gradient_difference(
        {parts("a", 0, {}, {2, 2}), parts("noise", 0, {2e-6F, 0}, {2})}, expected);
    EXPECT_NEAR(rounded.relative, 2e-4, 1e-6);
    EXPECT_EQ(rounded.tensor, 1);
}

}  // namespace
}  // namespace osora::worker
