// What a run does not continue from.
#include "worker/jobs/resume.hpp"

#include "tests/kit/temp_folder.hpp"
#include "worker/jobs/train_data.hpp"

#include <ATen/ops/ones.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace osora::worker {
namespace {

class OneWeight final : public Objective {
public:
    OneWeight() : parameters_(at::TensorOptions(at::kFloat)) {
        at::NoGradGuard const no_grad;
        parameters_.add("w", {1}).fill_(1);
    }
    Parameters& parameters() override { return parameters_; }
    at::Tensor loss(MicroBatch const& batch) override { return batch.x.mean(); }

private:
    Parameters parameters_;
};

/// Their file has no numbers of the network, and another training has other ones.
TEST(Resume, AdaptersStayWithTheWeightsThatTheyWereTrainedOn) {
    tests::TempFolder const folder;
    auto const weights = [&](char const* name, char content) {
        std::ofstream(folder.path() / name, std::ios::binary) << std::string(1000, content);
    };
    weights("base.safetensors", 'a');
    weights("copy.safetensors", 'a');
    weights("tuned.safetensors", 'b');
    plan::WorkerJob job;
    job.base_dir = folder.path().string();
    job.run_dir = (folder.path() / "run").string();
    job.config.optim.lora_rank = 4;
    CheckpointState state;
    state.step = 2;
    state.arch = job.config.model.arch;
    state.model = job.config.model;
    state.model.init = "base.safetensors";
    state.lora_rank = 4;
    state.seed = job.config.train.seed + 1;  // refused as well, later
    CheckpointParts tensors;
    tensors.adapter.emplace_back("w", at::ones({1}));
    auto const saved = save_checkpoint(folder.path() / "run" / "checkpoints", state, tensors, 1);
    ASSERT_TRUE(saved.has_value()) << saved.error().message;

    RankEnvironment self;
    std::optional<Group> const alone;
    AgentLink agent(-1);
    auto const refused = [&](std::string const& init) {
        job.config.model.init = init;
        Trainer trainer(plan::WorkerJob(), std::make_unique<OneWeight>(), {});
        auto const step = restore_latest({job, self, alone, agent, {}}, trainer);
        return step.has_error() ? step.error().message : std::string();
    };
    for (char const* other : {"tuned.safetensors", ""})
        EXPECT_NE(refused(other).find("; set model.init = \"base.safetensors\", or submit"),
                  std::string::npos)
            << refused(other);
    for (char const* same : {"base.safetensors", "copy.safetensors", "gone.safetensors"})
        EXPECT_NE(refused(same).find(": seed is "), std::string::npos) << refused(same);
}

}  // namespace
}  // namespace osora::worker
