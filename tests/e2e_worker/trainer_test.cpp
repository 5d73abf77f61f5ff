// What a run file requires of the trainer besides data: precision, frozen weights, adapters. The
// worker as a process, its checkpoints read back.
#include "tests/e2e_worker/worker_fixture.hpp"

#include "base/files/files.hpp"
#include "protocol/json.hpp"
#include "tests/kit/program.hpp"
#include "tests/parity/compare.hpp"
#include "worker/model/stdit/stdit3.hpp"
#include "worker/model/weights/safetensors.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/matmul.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

namespace osora::tests {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using worker::NamedTensor;
using worker::SafetensorsContent;

class TrainerRun : public WorkerTest {
protected:
    void SetUp() override {
        WorkerTest::SetUp();
        make_clips(4, [](int) { return "64x64"; });
    }

    /// A short job with little in each step.
    [[nodiscard]] plan::WorkerJob small(int steps) const {
        auto made = job(1, steps);
        for (auto& bucket : made.plan.chosen.buckets) {
            bucket.global_batch_size = 2;
            bucket.micro_batch_size = 1;
        }
        return made;
    }
    [[nodiscard]] WorkerRun done(plan::WorkerJob const& job) {
        auto ended = run(job, 1)[0];
        EXPECT_EQ(ended.exit_code, 0);
        return ended;
    }
    [[nodiscard]] std::string refused(plan::WorkerJob const& job) {
        auto const ended = run(job, 1)[0];
        EXPECT_EQ(ended.exit_code, 14);
        auto const failed = ended.of("failed");
        return failed.empty() ? "" : std::string(failed[0].at("message").as_string());
    }
    [[nodiscard]] fs::path checkpoint(int step) const {
        return folder_ / "run dir" / "checkpoints" / ("step-0000000" + std::to_string(step));
    }
    void forget() { fs::remove_all(folder_ / "run dir" / "checkpoints"); }
    [[nodiscard]] static SafetensorsContent tensors(fs::path const& path) {
        auto content = worker::load_safetensors(path);
        EXPECT_TRUE(content.has_value()) << path;
        return std::move(content).value();
    }
};

std::vector<double> from(std::vector<double> const& values, std::size_t first) {
    return {values.begin() + static_cast<std::ptrdiff_t>(std::min(first, values.size())),
            values.end()};
}

// Training continues from the fp32 masters, in bf16.
TEST_F(TrainerRun, ResumesBitExactlyInBf16) {
    auto const in_bf16 = [&](int steps) {
        auto made = small(steps);
        made.plan.chosen.precision = "bf16";
        made.config.train.deterministic = true;
        return made;
    };
    auto const whole = done(in_bf16(6)).steps("loss");
    auto const exact = tensors(checkpoint(6) / "master.safetensors");
    forget();
    (void)done(in_bf16(3));
    auto const resumed = done(in_bf16(6)).steps("loss");
    EXPECT_EQ(resumed.size(), 3u);
    EXPECT_EQ(resumed, from(whole, 3));
    auto const model = tensors(checkpoint(6) / "model.safetensors");
    auto const master = tensors(checkpoint(6) / "master.safetensors");
    for (NamedTensor const& each : master.tensors) {
        EXPECT_EQ(each.tensor.scalar_type(), at::kFloat);
        EXPECT_TRUE(at::equal(each.tensor, *exact.find(each.name))) << each.name;
        EXPECT_TRUE(at::equal(each.tensor.to(at::kBFloat16), *model.find(each.name))) << each.name;
    }
}

TEST_F(TrainerRun, FrozenWeightsStayAsTheyWere) {
    auto some = small(2);
    some.config.model.hidden = 0;  // as the architecture
    worker::Stdit3 first(worker::stdit3_config("stdit3-tiny").value());
    first.initialise(static_cast<std::uint64_t>(some.config.train.seed));
    some.config.optim.freeze = {"spatial_blocks.", "y_embedder."};
    (void)done(some);
    auto const trained = tensors(checkpoint(2) / "model.safetensors");
    auto const moments = tensors(checkpoint(2) / "optimizer_exp_avg.safetensors");
    for (NamedTensor const& each : first.parameters().all()) {
        if (!each.name.starts_with("spatial_blocks.") && !each.name.starts_with("y_embedder."))
            continue;
        EXPECT_TRUE(at::equal(each.tensor, *trained.find(each.name))) << each.name;
        EXPECT_EQ(moments.find(each.name), nullptr) << each.name;
    }
    EXPECT_FALSE(at::equal(first.parameters().find("t_block.1.weight")->tensor,
                           *trained.find("t_block.1.weight")));
    forget();
    some.config.optim.freeze = {"spatial_block."};
    EXPECT_THAT(refused(some), HasSubstr("did you mean \"spatial_blocks.\"?"));
}

TEST_F(TrainerRun, AdaptersTrainResumeAndMerge) {
    (void)done(small(2));
    fs::path const base = folder_ / "base.safetensors";
    fs::rename(checkpoint(2) / "model.safetensors", base);
    forget();
    auto const lora = [&](int steps) {
        auto made = small(steps);
        made.config.model.init = "base.safetensors";  // as a run file in this folder has it
        made.config.optim.lora_rank = 4;
        made.config.optim.lora_alpha.value = 8;
        made.config.optim.lr = 1e-2;
        return made;
    };
    auto const whole = done(lora(4)).steps("loss");
    forget();
    (void)done(lora(2));
    EXPECT_EQ(done(lora(4)).steps("loss"), from(whole, 2));

    fs::path const kept = checkpoint(4), merged = folder_ / "merged.safetensors";
    EXPECT_FALSE(fs::exists(kept / "model.safetensors"));
    // A run file in another folder may name another file so.
    auto const text = read_file(kept / "state.json", 1 << 20);
    ASSERT_TRUE(text.has_value()) << text.error().message;
    auto const state = protocol::parse_json(*text);
    ASSERT_TRUE(state.has_value());
    EXPECT_EQ(std::string(state->at("model").at("init").as_string()), base.string());
    EXPECT_LT(fs::file_size(kept / "adapter_model.safetensors"), fs::file_size(base) / 4);
    SpawnOptions options;
    options.program = OSORA_BIN_DIR "/osora";
    options.arguments = {"model",     "merge",       "--weights", base.string(),
                         "--adapter", kept.string(), "--out",     merged.string()};
    auto running = start_program(std::move(options), folder_ / "program");
    ASSERT_TRUE(running.has_value());
    EXPECT_EQ(running->wait().code, 0);
    auto const before = tensors(base), after = tensors(merged);
    auto const adapter = tensors(kept / "adapter_model.safetensors");
    std::string const layer = "spatial_blocks.1.mlp.fc1";
    auto const part = [&](char const* name) {
        return *adapter.find("base_model.model." + layer + "." + name + ".weight");
    };
    at::Tensor const change = at::matmul(part("lora_B"), part("lora_A")).mul(2);
    EXPECT_GT(change.abs().max().item<double>(), 1e-4);
    EXPECT_LE(worker::relative_error(*after.find(layer + ".weight"),
                                     before.find(layer + ".weight")->add(change)),
              worker::kFp32Steps);
    EXPECT_TRUE(at::equal(*after.find("t_block.1.weight"), *before.find("t_block.1.weight")));
    auto other = lora(5);
    other.config.optim.lora_rank = 2;
    EXPECT_THAT(refused(other), HasSubstr("optim.lora_rank is 4, this run has 2"));
}

TEST_F(TrainerRun, AdaptersContinueWithAndWithoutOffloadedBlocks) {
    auto const lora = [&](int steps, bool offload) {
        auto made = small(steps);
        made.config.optim.lora_rank = 4;
        made.config.optim.lr = 1e-2;
        made.plan.chosen.offload_frozen = offload;
        return made;
    };
    auto const plain = done(lora(4, false));
    for (bool const first : {false, true}) {
        forget();
        auto const begun = done(lora(2, first)), finished = done(lora(4, !first));
        EXPECT_EQ(finished.steps("loss"), from(plain.steps("loss"), 2));
        auto const& offloaded = first ? begun : finished;
        auto const peaks = offloaded.steps("peak_allocated_bytes");
        ASSERT_FALSE(peaks.empty());
        EXPECT_LT(std::ranges::max(peaks), std::ranges::max(plain.steps("peak_allocated_bytes")));
    }
}

// Other buckets, batches and rates from step 3 on, and a checkpoint at the border and after it.
TEST_F(TrainerRun, AStageTakesOverWithoutARestart) {
    auto const staged = [&](int steps) {
        auto made = small(steps);
        auto const plan = made.plan.chosen;
        plan::JobStage stage{3, true, made.config};
        stage.config.train.steps = steps;
        stage.config.optim.lr = 5e-4;
        stage.config.optim.warmup_steps = 0;
        stage.config.bucket = {made.config.bucket[2]};
        plan::StagePlan next;
        next.at_step = 3;
        next.chosen = plan;
        next.chosen.buckets = {plan.buckets[2]};
        next.chosen.buckets[0].global_batch_size = 3;
        made.stages = {stage};
        made.plan.stages = {next};
        return made;
    };
    auto const whole = done(staged(6));
    auto const losses = whole.steps("loss");
    ASSERT_EQ(losses.size(), 6u);
    EXPECT_EQ(whole.steps("lr")[3], 5e-4);
    auto const messages = whole.of("step");
    for (std::size_t i = 3; i < 6; ++i) {
        EXPECT_EQ(messages[i].at("bucket").as_string(), "32x32x1") << i;
        EXPECT_EQ(messages[i].at("samples").as_int64(), 3) << i;
    }
    for (int const stop : {3, 4}) {
        forget();
        (void)done(staged(stop));
        auto const resumed = done(staged(6));
        EXPECT_EQ(resumed.of("hello")[0].at("start_step").as_int64(), stop);
        EXPECT_EQ(resumed.steps("loss"), from(losses, static_cast<std::size_t>(stop)));
    }
}

TEST_F(TrainerRun, RefusesFirstWeightsThatAreNotFinite) {
    (void)done(small(1));
    auto weights = tensors(checkpoint(1) / "model.safetensors");
    forget();
    at::Tensor broken = weights.find("t_block.1.weight")->clone();
    broken[1][2] = NAN;
    for (NamedTensor& each : weights.tensors) {
        if (each.name == "t_block.1.weight") each.tensor = broken;
    }
    fs::path const file = folder_ / "nan.safetensors";
    ASSERT_TRUE(worker::save_safetensors(file, weights.tensors).has_value());
    auto bad = small(1);
    bad.config.model.init = file.string();
    EXPECT_THAT(refused(bad), HasSubstr("t_block.1.weight[1,2] is NaN"));
}

}  // namespace
}  // namespace osora::tests
