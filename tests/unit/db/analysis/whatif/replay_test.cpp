// The replay of made-up pipelines against a brute force that knows who feeds whom.
#include "db/analysis/whatif/whatif.hpp"
#include "tests/unit/db/analysis/whatif/trace_maker.hpp"

#include "base/robust.hpp"

#include <gtest/gtest.h>

#include <random>

namespace osora::db::whatif::test {
namespace {

using Durations = std::function<double(MadeOp const&)>;

double typical_s(OpKind kind) {
    if (kind == OpKind::forward_compute) return 0.1;
    if (kind == OpKind::backward_compute) return 0.2;
    return is_communication(kind) ? 0.004 : 0.01;
}

std::vector<MadeStep> made_steps(PipelineShape const& shape, int count,
                                 Durations const& durations) {
    std::vector<MadeStep> steps;
    for (int i = 0; i < count; ++i) {
        steps.emplace_back(shape);
        steps.back().set_durations(durations);
        steps.back().play();
    }
    return steps;
}

WhatIf answer_of(PipelineShape const& shape, std::vector<MadeStep> const& steps) {
    auto const found = what_if(csv_of(steps), job_shape_of(shape));
    EXPECT_TRUE(found.has_value()) << found.error().message;
    return found.value();
}

/// Mean step when the ops that `keeps` names keep their durations and the others take `ideal`.
double brute_force_s(std::vector<MadeStep> const& steps, std::map<OpKind, double> const& ideal,
                     std::function<bool(MadeOp const&)> const& keeps) {
    double sum_s = 0;
    for (auto step : steps) {
        step.set_durations(
            [&](MadeOp const& op) { return keeps(op) ? op.duration_s : ideal.at(op.kind); });
        sum_s += step.play();
    }
    return sum_s / static_cast<double>(steps.size());
}

std::map<OpKind, double> ideals_of(std::vector<MadeStep> const& steps) {
    std::map<OpKind, std::vector<double>> times;
    for (auto const& step : steps) {
        for (auto const& op : step.ops) times[op.kind].push_back(op.duration_s);
    }
    std::map<OpKind, double> ideal;
    for (auto const& [kind, each] : times) {
        ideal[kind] = is_communication(kind) ? median(each) : mean(each);
    }
    return ideal;
}

/// `network`: how much longer than usual transfers take.
void expect_like_brute_force(PipelineShape const& shape, std::uint64_t seed, double network) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> factor(0.5, 2.0);
    auto const steps = made_steps(shape, 3, [&](MadeOp const& op) {
        return typical_s(op.kind) * factor(random) * (is_communication(op.kind) ? network : 1);
    });
    auto const found = answer_of(shape, steps);
    auto const ideal = ideals_of(steps);
    auto const brute = [&](auto keeps) { return brute_force_s(steps, ideal, keeps); };
    double const ideal_s = brute([](MadeOp const&) { return false; });
    constexpr double kClose = 1e-9;
    ASSERT_EQ(found.steps_left_out.size(), 0u);
    EXPECT_NEAR(found.actual_s, found.no_delay_s, kClose) << "nothing was launched late";
    EXPECT_NEAR(found.no_delay_s, brute([](MadeOp const&) { return true; }), kClose);
    EXPECT_NEAR(found.ideal_s, ideal_s, kClose);
    for (auto const& [type, slowdown] : found.slowdown_of_type) {
        auto const of_type = [&](MadeOp const& op) { return type_of(op.kind) == type; };
        EXPECT_NEAR(slowdown, brute(of_type) / ideal_s, kClose) << type;
    }
    for (int i = 0; i < shape.pp_size; ++i) {
        auto const of_stage = [&](MadeOp const& op) { return op.stage == i; };
        EXPECT_NEAR(found.slowdown_of_stage[static_cast<std::size_t>(i)], brute(of_stage) / ideal_s,
                    kClose);
    }
    for (int i = 0; i < shape.dp_size; ++i) {
        auto const of_rank = [&](MadeOp const& op) { return op.dp_rank == i; };
        EXPECT_NEAR(found.slowdown_of_dp_rank[static_cast<std::size_t>(i)],
                    brute(of_rank) / ideal_s, kClose);
    }
    auto const others = [&](MadeOp const& op) { return op.stage != shape.pp_size - 1; };
    EXPECT_NEAR(found.of_last_stage.removed * (found.no_delay_s - ideal_s),
                found.no_delay_s - brute(others), kClose);
}

TEST(Replay, IsTheLongestPathOfMadeUpPipelines) {
    std::uint64_t seed = 1;
    for (int const pp_size : {1, 2, 4}) {
        for (int const dp_size : {1, 3}) {
            for (int const vpp_size : {1, 2}) {
                if (pp_size == 1 && vpp_size > 1) continue;
                for (bool const overlap : {false, true}) {
                    PipelineShape const shape{pp_size, dp_size, vpp_size, 2 * pp_size, overlap};
                    SCOPED_TRACE(testing::Message()
                                 << "pp " << pp_size << " dp " << dp_size << " vpp " << vpp_size
                                 << " overlap " << overlap << " seed " << seed);
                    expect_like_brute_force(shape, seed++, 1);
                    // Transfers as long as compute, so that their lanes hold up the step.
                    expect_like_brute_force(shape, seed++, 60);
                    if (HasFailure()) return;
                }
            }
        }
    }
}

// With model chunks profilers lose the first receive of the first stage, which moves nothing.
TEST(Replay, TheFirstReceiveOfTheFirstStageMayBeMissing) {
    PipelineShape const shape{2, 2, 2, 4, false};
    auto const is_lost = [](MadeOp const& op) {
        return op.kind == OpKind::forward_recv && op.stage == 0 && op.seq_id == 0;
    };
    auto steps = made_steps(shape, 2, [&](MadeOp const& op) {
        return is_lost(op) ? 0 : typical_s(op.kind) * (1 + 0.1 * op.seq_id);
    });
    auto const whole = answer_of(shape, steps);
    for (auto& step : steps) std::erase_if(step.ops, is_lost);
    auto const found = answer_of(shape, steps);
    EXPECT_NEAR(found.no_delay_s, whole.no_delay_s, 1e-9);
    EXPECT_NEAR(found.no_delay_s, found.actual_s, 1e-9);
}

// Two stages, two micro-batches, transfers that take nothing: F 1 s, B 2 s. The last stage begins
// at 1 s and is then busy for 2 F + 2 B = 6 s; the first stage ends its second backward at 9 s;
// clipping and optimizer take 0.25 s each.
TEST(Replay, CriticalPathOfAPipelineByHand) {
    PipelineShape const shape{2, 1, 1, 2, false};
    auto const steps = made_steps(shape, 1, [](MadeOp const& op) {
        switch (op.kind) {
            case OpKind::forward_compute:
                return 1.0;
            case OpKind::backward_compute:
                return 2.0;
            case OpKind::optimizer_clip_main_grad:
            case OpKind::optimizer:
                return 0.25;
            default:
                return 0.0;
        }
    });
    auto const found = answer_of(shape, steps);
    EXPECT_DOUBLE_EQ(found.no_delay_s, 9.5);
    EXPECT_DOUBLE_EQ(found.slowdown, 1.0);
    EXPECT_EQ(found.holder, Holder::none);
    EXPECT_TRUE(std::isnan(found.of_last_stage.removed)) << "nothing straggles";
}

TEST(Replay, NothingIsNamedWhenWorkersDifferALittle) {
    PipelineShape const shape{2, 4, 1, 4, false};
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> factor(0.98, 1.02);
    auto const found = answer_of(shape, made_steps(shape, 5, [&](MadeOp const& op) {
                                     return typical_s(op.kind) * factor(random);
                                 }));
    EXPECT_LT(found.slowdown, kStraggling);
    EXPECT_EQ(found.holder, Holder::none);
    EXPECT_EQ(found.held_by, "");
}

TEST(Replay, NamesTheSlowWorker) {
    PipelineShape const shape{4, 4, 1, 8, false};
    auto const found =
        answer_of(shape, made_steps(shape, 3, [&](MadeOp const& op) {
                      bool const slow = op.dp_rank == 2 && op.stage == 1;
                      return typical_s(op.kind) * (slow && is_compute(op.kind) ? 3 : 1);
                  }));
    EXPECT_GT(found.slowdown, 1.5);
    EXPECT_EQ(found.holder, Holder::worker);
    EXPECT_EQ(found.held_by, "dp rank 2 of stage 1");
    EXPECT_GT(found.of_worst_workers.removed, 0.9);
    EXPECT_LT(found.of_last_stage.removed, 0.1);
}

TEST(Replay, NamesTheOpTypeWhenItIsSlowOnChangingWorkers) {
    PipelineShape const shape{1, 8, 1, 4, false};
    int step = 0;
    std::vector<MadeStep> steps;
    for (; step < 8; ++step) {
        steps.push_back(std::move(made_steps(shape, 1, [&](MadeOp const& op) {
                                      bool const slow =
                                          op.dp_rank == step && op.kind == OpKind::backward_compute;
                                      return typical_s(op.kind) * (slow ? 2 : 1);
                                  }).front()));
    }
    auto const found = answer_of(shape, steps);
    EXPECT_GT(found.slowdown, kStraggling);
    EXPECT_EQ(found.held_by, "backward-compute");
}

// A host that starts ops late is no straggler: the replay takes the delay out.
TEST(Replay, LaunchDelayIsApart) {
    PipelineShape const shape{2, 2, 1, 4, false};
    auto steps = made_steps(shape, 3, [](MadeOp const& op) { return typical_s(op.kind); });
    for (auto& step : steps) {
        for (auto& op : step.ops) {
            bool const end = op.kind == OpKind::optimizer;
            op.start_s += end ? 0.5 : 0;
            op.end_s += end ? 0.5 : 0;
        }
    }
    auto const found = answer_of(shape, steps);
    EXPECT_NEAR(found.actual_s - found.no_delay_s, 0.5, 1e-9);
    EXPECT_NEAR(found.slowdown, 1, 1e-9);
}

}  // namespace
}  // namespace osora::db::whatif::test
