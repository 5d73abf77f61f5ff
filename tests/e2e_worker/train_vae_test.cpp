// Jobs that train an autoencoder, as processes: ranks, resuming, codes and errors.
#include "base/files/files.hpp"
#include "protocol/json.hpp"
#include "tests/e2e_worker/worker_fixture.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace osora::tests {
namespace {

namespace fs = std::filesystem;

class TrainVae : public WorkerTest {
protected:
    void SetUp() override {
        WorkerTest::SetUp();
        make_clips(4, [](int) { return "48x48"; });
    }

    /// 4 clips a step, `micro` of them at a time on each rank.
    plan::WorkerJob vae_job(std::string const& kind, int ranks, int steps, int micro) const {
        auto made = job(ranks, steps);
        auto& config = made.config;
        config.run.job = kind;
        config.vae.arch = "tiny";
        config.vqvae = {.n_codes = 32,
                        .embedding_dim = 8,
                        .n_hiddens = 16,
                        .n_res_layers = 1,
                        .downsample_frames = 2};
        int const frames = kind == "train_vae" ? 5 : 10;
        config.bucket = {{.resolution = "32", .num_frames = frames, .micro_batch_size = {}}};
        auto& buckets = made.plan.chosen.buckets;
        buckets.resize(1);
        buckets[0].resolution = "32";
        buckets[0].num_frames = frames;
        buckets[0].global_batch_size = 4;
        buckets[0].micro_batch_size = micro;
        made.plan.chosen.vae_micro_batch_size = 4;
        return made;
    }

    void forget() { fs::remove_all(folder_ / "run dir" / "checkpoints"); }

    static void expect_close(std::vector<WorkerRun> const& several, WorkerRun const& one) {
        ASSERT_EQ(one.exit_code, 0);
        for (auto const& rank : several) ASSERT_EQ(rank.exit_code, 0);
        auto const losses = one.steps("loss"), norms = one.steps("grad_norm");
        ASSERT_GT(losses.size(), 2u);
        for (std::size_t step = 0; step < losses.size(); ++step) {
            double loss = 0;
            for (auto const& rank : several)
                loss += rank.steps("loss")[step] / static_cast<double>(several.size());
            double const tolerance = step == 0 ? 1e-5 : 5e-3;
            EXPECT_NEAR(loss / losses[step], 1, tolerance) << step;
            EXPECT_NEAR(several[0].steps("grad_norm")[step] / norms[step], 1, 10 * tolerance)
                << step;
        }
    }

    void expect_resumes(plan::WorkerJob whole, int cut_at) {
        auto const uninterrupted = run(whole, 1)[0];
        ASSERT_EQ(uninterrupted.exit_code, 0);
        forget();
        int const steps = std::exchange(whole.config.train.steps, cut_at);
        ASSERT_EQ(run(whole, 1)[0].exit_code, 0);
        whole.config.train.steps = steps;
        auto const resumed = run(whole, 1)[0];
        ASSERT_EQ(resumed.exit_code, 0);
        for (char const* key : {"loss", "grad_norm"}) {
            auto const expected = uninterrupted.steps(key);
            EXPECT_EQ(resumed.steps(key), std::vector(expected.begin() + cut_at, expected.end()))
                << key;
        }
    }

    double figure(std::string const& name, int step) const {
        auto const text = read_file(
            folder_ / "run dir" / "checkpoints" / fmt::format("step-{:08d}", step) / "state.json",
            1 << 20);
        auto const state = protocol::parse_json(text.value());
        return state->at("figures").at(name).to_number<double>();
    }
};

TEST_F(TrainVae, RanksTrainWhatOneRankTrains) {
    auto adversarial = [&](int ranks) {
        auto made = vae_job("train_vae", ranks, 3, 2);
        made.config.vae_loss.adversarial_weight = 0.5;
        made.config.vae_loss.adversarial_start = 1;
        return made;
    };
    auto const one = run(adversarial(1), 1)[0];
    forget();
    expect_close(run(adversarial(2), 2), one);
}

TEST_F(TrainVae, ResumesBitExactlyWithItsDiscriminator) {
    auto made = vae_job("train_vae", 1, 5, 2);
    made.config.vae_loss.adversarial_weight = 0.5;
    made.config.vae_loss.mixed = "random";
    expect_resumes(made, 3);
    EXPECT_TRUE(fs::exists(folder_ / "run dir" / "checkpoints" / "step-00000005" /
                           "objective.safetensors"));
}

TEST_F(TrainVae, WeightsOfAnotherModelAreNamed) {
    auto made = vae_job("train_vqvae", 1, 1, 2);
    ASSERT_EQ(run(made, 1)[0].exit_code, 0);
    auto const weights =
        folder_ / "run dir" / "checkpoints" / "step-00000001" / "model.safetensors";
    fs::rename(weights, folder_ / "vqvae.safetensors");
    forget();
    auto vae = vae_job("train_vae", 1, 1, 2);
    vae.config.vae.weights = "vqvae.safetensors";
    auto const refused = run(vae, 1)[0];
    EXPECT_EQ(refused.exit_code, 14);
    auto const message = refused.of("failed")[0].at("message").as_string();
    EXPECT_THAT(
        std::string(message),
        testing::AllOf(testing::HasSubstr("vae.weights"), testing::HasSubstr("vqvae.safetensors"),
                       testing::HasSubstr("the network's with spatial_vae. (180)")));
    // It starts from its own weights.
    made.config.vae.weights = "vqvae.safetensors";
    EXPECT_EQ(run(made, 1)[0].exit_code, 0);
}

TEST_F(TrainVae, RanksTrainOneCodebook) {
    auto const one = run(vae_job("train_vqvae", 1, 6, 2), 1)[0];
    double const perplexity = figure("perplexity", 6);
    forget();
    auto const two = run(vae_job("train_vqvae", 2, 6, 2), 2);
    expect_close(two, one);
    EXPECT_NEAR(figure("perplexity", 6) / perplexity, 1, 0.05);
    auto const notices = one.of("notice");
    EXPECT_TRUE(std::ranges::any_of(notices, [](auto const& each) {
        return each.at("kind") == "figures" &&
               std::string(each.at("detail").as_string()).find("codes_used") != std::string::npos;
    }));
}

TEST_F(TrainVae, ACodebookResumesBitExactly) {
    auto made = vae_job("train_vqvae", 1, 6, 2);
    made.plan.chosen.vae_micro_frame_size = 6;  // 6 + 4 frames
    expect_resumes(made, 4);
}

}  // namespace
}  // namespace osora::tests
