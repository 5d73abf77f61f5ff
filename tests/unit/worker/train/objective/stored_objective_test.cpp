// The objective around a store: the figures that it reports, and that training sees no difference.
#include "worker/train/objective/stored_objective.hpp"
#include "tests/unit/worker/memory/small_models.hpp"
#include "worker/train/objective/stdit3_objective.hpp"

#include <gtest/gtest.h>

namespace osora::worker {
namespace {

struct Made {
    std::unique_ptr<StoredObjective> objective;
    std::shared_ptr<plan::RecomputeChoice> recompute = std::make_shared<plan::RecomputeChoice>();
};

Made stored(StoreForm form, bool lossy, int check_every = 3) {
    Made made;
    SmallStdit3 small;
    small.model->set_recompute(made.recompute);
    auto inner = std::make_unique<Stdit3Objective>(std::move(*small.model), Stdit3Training{});
    StoredObjective::Settings settings{.store = {}, .lossy = lossy, .check_every = check_every};
    settings.store.form = form;
    settings.store.least_bytes = 0;
    made.objective = std::make_unique<StoredObjective>(std::move(inner), settings, made.recompute);
    return made;
}

MicroBatch batch() {
    MicroBatch made;
    made.x = at::randn({2, 4, 3, 8, 8}, at::make_generator<at::CPUGeneratorImpl>(2));
    made.size = {64, 64, 3};
    made.samples = {{1, 0, 24}, {2, 0, 24}};
    return made;
}

TEST(StoredObjective, EffectIsMeasuredAtTheFirstStepAndEachN) {
    Made made = stored(StoreForm::int8, true);
    std::vector<std::int64_t> packed;  // by a check and the passes of each step
    for (int step = 7; step < 14; ++step) {
        made.objective->begin_step(step);
        auto const before = made.objective->store().total().packed;
        for (int micro = 0; micro < 2; ++micro) made.objective->loss(batch()).backward();
        packed.push_back(made.objective->store().total().packed - before);
    }
    std::int64_t const of_pass = packed[1] / 2;
    EXPECT_GT(of_pass, 10);
    for (std::size_t i = 0; i < packed.size(); ++i)
        EXPECT_EQ(packed[i], (i % 3 == 0 ? 3 : 2) * of_pass) << i;
    auto const& effect = made.objective->effect();
    ASSERT_TRUE(effect.has_value());
    EXPECT_GT(effect->cosine, 0.999);
    EXPECT_LT(effect->cosine, 1);
    EXPECT_NEAR(effect->norm_ratio, 1, 0.02);
    auto const figures = made.objective->figures();
    EXPECT_EQ(figures.at("store_gradient_cosine"), effect->cosine);
    EXPECT_GT(figures.at("store_error_mlp"), 1e-3);
    EXPECT_LT(figures.at("store_bytes_ratio"), 0.3);
}

TEST(StoredObjective, AnExactStoreIsNotChecked) {
    Made made = stored(StoreForm::offload, false);
    made.objective->begin_step(0);
    made.objective->loss(batch()).backward();
    EXPECT_FALSE(made.objective->effect().has_value());
    EXPECT_FALSE(made.objective->figures().contains("store_gradient_cosine"));
    EXPECT_GT(made.objective->store().total().host_bytes, 0);
}

TEST(StoredObjective, AnEvaluationSavesNothing) {
    Made made = stored(StoreForm::int8, true);
    at::NoGradGuard const no_graph;
    static_cast<void>(made.objective->held_out_loss(batch()));
    EXPECT_EQ(made.objective->store().total().packed, 0);
}

TEST(StoredObjective, ACheckLeavesGradientsAndRecomputeAlone) {
    Made made = stored(StoreForm::int8, true);
    made.recompute->attention = true;
    made.objective->begin_step(0);
    at::Tensor const loss = made.objective->loss(batch());
    EXPECT_TRUE(made.objective->effect().has_value());
    for (auto const& each : made.objective->parameters().trainable())
        EXPECT_FALSE(each.grad().defined());
    EXPECT_EQ(*made.recompute, (plan::RecomputeChoice{.first_blocks = 0, .attention = true}));
}

}  // namespace
}  // namespace osora::worker
