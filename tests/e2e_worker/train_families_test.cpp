// How a run file shapes the network and its training, through the real trainer.
#include "tests/e2e_worker/worker_fixture.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

namespace osora::tests {
namespace {

namespace fs = std::filesystem;

class Families : public WorkerTest {
protected:
    void SetUp() override {
        WorkerTest::SetUp();
        make_clips(4, [](int) { return "64x64"; });
    }

    /// Two ranks' losses average to one rank's, and their gradients are the same.
    void expect_same_on_two_ranks(std::function<void(plan::WorkerJob&)> const& change) {
        auto const made = [&](int ranks) {
            auto one = job(ranks, 4);
            change(one);
            fs::remove_all(folder_ / "run dir" / "checkpoints");
            return run(one, ranks);
        };
        auto const one = made(1);
        auto const two = made(2);
        ASSERT_EQ(one[0].exit_code, 0);
        ASSERT_EQ(two[0].exit_code, 0);
        ASSERT_EQ(two[1].exit_code, 0);
        for (std::size_t step = 0; step < 4; ++step) {
            double const expected = one[0].steps("loss")[step];
            double const loss = (two[0].steps("loss")[step] + two[1].steps("loss")[step]) / 2;
            double const norm = one[0].steps("grad_norm")[step];
            double const tolerance = step == 0 ? 1e-5 : 2e-3;
            EXPECT_NEAR(loss, expected, tolerance * expected) << step;
            EXPECT_NEAR(two[0].steps("grad_norm")[step], norm, tolerance * norm) << step;
        }
    }
    /// The loss falls below this share of itself over 24 steps.
    void expect_learns(char const* arch, double share) {
        auto made = job(1, 24);
        made.config.model.arch = arch;
        made.config.model.hidden = 48;
        made.config.bucket.resize(1);
        made.plan.chosen.buckets.resize(1);
        auto const ended = run(made, 1)[0];
        ASSERT_EQ(ended.exit_code, 0);
        auto const losses = ended.steps("loss");
        double first = 0, last = 0;
        for (std::size_t i = 0; i < 6; ++i) {
            first += losses[i] / 6;
            last += losses[losses.size() - 1 - i] / 6;
        }
        EXPECT_LT(last, share * first);
    }
};

TEST_F(Families, MmditIsTheSameOnTwoRanks) {
    expect_same_on_two_ranks([](plan::WorkerJob& job) { job.config.model.arch = "mmdit-tiny"; });
}

TEST_F(Families, Stdit2IsTheSameOnTwoRanks) {
    expect_same_on_two_ranks([](plan::WorkerJob& job) {
        job.config.model.arch = "stdit2-tiny";
        job.config.train.frame_masks = {{"random", 0.5}};
    });
}

TEST_F(Families, FrameMasksAreTheSameOnTwoRanks) {
    expect_same_on_two_ranks([](plan::WorkerJob& job) {
        job.config.train.frame_masks = {{"random", 0.5}, {"image_head", 0.4}};
        job.config.train.timesteps = std::string("logit_normal");
        job.config.train.timestep_shift = true;
    });
}

TEST_F(Families, MmditLearns) {
    expect_learns("mmdit-tiny", 0.7);
}

TEST_F(Families, Stdit2Learns) {
    expect_learns("stdit2-tiny", 0.85);  // its output starts at 0, which is less wrong
}

TEST_F(Families, MasksAndTimesChangeWhatIsTrained) {
    auto const losses_with = [&](std::function<void(plan::WorkerJob&)> const& change) {
        auto made = job(1, 2);
        change(made);
        fs::remove_all(folder_ / "run dir" / "checkpoints");
        auto const ended = run(made, 1)[0];
        EXPECT_EQ(ended.exit_code, 0);
        return ended.steps("loss");
    };
    auto const plain = losses_with([](plan::WorkerJob&) {});
    EXPECT_NE(losses_with([](auto& job) { job.config.train.timestep_shift = true; }), plain);
    EXPECT_NE(
        losses_with([](auto& job) { job.config.train.timesteps = std::string("logit_normal"); }),
        plain);
    EXPECT_NE(losses_with([](auto& job) {
                  job.config.train.frame_masks = {{"random", 1.0}};
              }),
              plain);
    // Null captions are not dropped.
    EXPECT_EQ(losses_with([](auto& job) { job.config.text.drop_prob = 0.9; }), plain);
}

TEST_F(Families, BadSizesAndMasksEndTheWorkerWithAReason) {
    auto const message_of = [&](std::function<void(plan::WorkerJob&)> const& change) {
        auto made = job(1, 2);
        change(made);
        auto const ended = run(made, 1)[0];
        EXPECT_EQ(ended.exit_code, 14);
        auto const failed = ended.of("failed");
        return failed.empty() ? std::string() : std::string(failed[0].at("message").as_string());
    };
    EXPECT_THAT(message_of([](auto& job) { job.config.model.hidden = 90; }),
                testing::HasSubstr("model.hidden: 4 heads take multiples of 8"));
    EXPECT_THAT(message_of([](auto& job) {
                    job.config.train.frame_masks = {{"x", 0.5}};
                }),
                testing::HasSubstr("train.frame_masks: mask strategy \"x\": unknown"));
}

}  // namespace
}  // namespace osora::tests
