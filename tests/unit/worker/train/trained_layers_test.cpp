// A checkpoint continues with the layers that were trained, and with their adapters.
#include "tests/kit/temp_folder.hpp"
#include "worker/train/trainable.hpp"
#include "worker/train/trainer.hpp"

#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace osora::worker {
namespace {

/// Two linear layers that take adapters.
class TwoLinears final : public Objective {
public:
    TwoLinears() : parameters_(at::TensorOptions(at::kFloat)) {
        at::NoGradGuard const no_grad;
        for (std::string const name : {"blocks.0.fc", "blocks.0.out"}) {
            parameters_.add(name + ".weight", {3, 3}).fill_(1);
            static_cast<void>(parameters_.add_linear(name, 3, 3));
        }
    }
    Parameters& parameters() override { return parameters_; }
    at::Tensor loss(MicroBatch const& batch) override { return batch.x.mean(); }

private:
    Parameters parameters_;
};

plan::OptimSection adapters_of(std::vector<std::string> const& targets) {
    plan::OptimSection optim;
    optim.lora_rank = 2;
    optim.lora_targets = targets;
    return optim;
}

plan::OptimSection without(std::vector<std::string> const& frozen) {
    plan::OptimSection optim;
    optim.freeze = frozen;
    return optim;
}

Trainer trainer_of(plan::OptimSection const& optim) {
    plan::WorkerJob job;
    job.config.optim = optim;
    auto objective = std::make_unique<TwoLinears>();
    choose_trainable(objective->parameters(), job.config.optim, 7).value();
    return Trainer(job, std::move(objective), {});
}

/// What a run with `after` says of a checkpoint of one with `before`.
std::string refusal(plan::OptimSection const& before, plan::OptimSection const& after) {
    tests::TempFolder const folder;
    auto const saved = trainer_of(before);
    CheckpointState state;
    state.step = 1;
    saved.describe(state);
    auto const written = save_checkpoint(folder.path(), state, snapshot(saved.tensors()), 1);
    if (written.has_error()) return "not written: " + written.error().message;
    auto const loaded = load_checkpoint(written->path);
    if (loaded.has_error()) return "not read: " + loaded.error().message;
    auto continued = trainer_of(after);
    auto const restored = continued.restore(*loaded);
    if (restored.has_value()) return "";
    EXPECT_EQ(restored.error().code, Errc::invalid_input);
    return restored.error().message;
}

TEST(AdapterTargets, AreThoseOfTheCheckpoint) {
    EXPECT_EQ(refusal(adapters_of({}), adapters_of({"fc", "out"})), "");
    EXPECT_EQ(refusal(adapters_of({"out"}), adapters_of({"blocks.0.out"})), "");
    EXPECT_EQ(refusal(adapters_of({}), adapters_of({"fc"}))
                  .rfind("optim.lora_targets: the adapter of blocks.0.out would be "
                         "lost, as this run has none there; ",
                         0),
              0u)
        << refusal(adapters_of({}), adapters_of({"fc"}));
    EXPECT_EQ(refusal(adapters_of({"out"}), adapters_of({}))
                  .rfind("optim.lora_targets: the checkpoint has no adapter of "
                         "blocks.0.fc; ",
                         0),
              0u)
        << refusal(adapters_of({"out"}), adapters_of({}));
}

TEST(FrozenWeights, AreNotTrainedWithoutTheirMoments) {
    EXPECT_EQ(refusal(without({"blocks.0.fc"}), without({"blocks.0.fc"})), "");
    EXPECT_EQ(
        refusal(without({"blocks.0.fc"}), without({}))
            .rfind("optim.freeze: blocks.0.fc.weight was not trained before the checkpoint", 0),
        0u);
}

}  // namespace
}  // namespace osora::worker
