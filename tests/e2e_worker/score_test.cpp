// The score job as processes: one file whatever the number of ranks and kills.
#include "base/files/files.hpp"
#include "tests/e2e_worker/worker_fixture.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <numeric>

namespace osora::tests {
namespace {

using testing::HasSubstr;

class ScoreJob : public WorkerTest {
protected:
    void SetUp() override {
        WorkerTest::SetUp();
        make_clips(6, [](int i) { return i % 2 == 0 ? "64x64" : "96x64"; });
        std::ofstream(folder_ / "clips.csv", std::ios::app) << "damaged.mp4,\ngone.mp4,\n";
        std::ofstream(folder_ / "damaged.mp4") << std::string(1000, 'x');
    }
    [[nodiscard]] plan::WorkerJob score_job(int ranks, std::string const& output) const {
        auto made = job(ranks, 1);
        made.config.run.job = "score";
        made.config.score.output = output;
        made.config.score.frames = {4};
        made.plan.chosen.num_workers = 2;
        made.run_dir = (folder_ / "run dir" / output).string();
        return made;
    }
    [[nodiscard]] std::string file(std::string const& name) const {
        auto const text = read_file(folder_ / name);
        EXPECT_TRUE(text.has_value()) << text.error().message;
        return text.has_value() ? *text : "";
    }
    static double clips_of(std::vector<WorkerRun> const& runs) {
        double clips = 0;
        for (auto const& each : runs) {
            auto const samples = each.steps("samples");
            clips = std::accumulate(samples.begin(), samples.end(), clips);
        }
        return clips;
    }
};

TEST_F(ScoreJob, WritesTheSameFileWithAnyNumberOfRanks) {
    auto const alone = run(score_job(1, "one.csv"), 1);
    ASSERT_EQ(alone[0].exit_code, 0);
    EXPECT_EQ(clips_of(alone), 8);
    EXPECT_EQ(alone[0].of("notice").size(), 2u);
    std::string const wanted = file("one.csv");
    EXPECT_THAT(wanted, HasSubstr("gone.mp4,,,,,,,4,0,0,missing: "));
    auto const three = run(score_job(3, "three.csv"), 3);
    for (auto const& each : three) EXPECT_EQ(each.exit_code, 0);
    EXPECT_EQ(clips_of(three), 8);
    EXPECT_EQ(file("three.csv"), wanted);
    // Again in the same run: nothing is left to score, and its own file may be replaced.
    auto const again = run(score_job(2, "one.csv"), 2);
    for (auto const& each : again) EXPECT_EQ(each.exit_code, 0);
    EXPECT_EQ(clips_of(again), 0);
    EXPECT_EQ(file("one.csv"), wanted);
    // Another run does not replace it.
    auto other = score_job(1, "one.csv");
    other.run_dir = (folder_ / "run dir" / "other").string();
    auto const refused = run(other, 1);
    EXPECT_EQ(refused[0].exit_code, 14);
    EXPECT_THAT(std::string(refused[0].of("failed").at(0).at("message").as_string()),
                HasSubstr("is there already"));
}

TEST_F(ScoreJob, GoesOnAfterAKill) {
    ASSERT_EQ(run(score_job(1, "whole.csv"), 1)[0].exit_code, 0);
    auto const killed = run(score_job(2, "killed.csv"), 2,
                            [](auto const& message) { return message.at("type") == "hello"; });
    EXPECT_EQ(killed[0].exit_code, -9);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "killed.csv"));
    auto const rest = run(score_job(2, "killed.csv"), 2);
    for (auto const& each : rest) EXPECT_EQ(each.exit_code, 0);
    EXPECT_EQ(file("killed.csv"), file("whole.csv"));
}

TEST_F(ScoreJob, RefusesAListWithoutClips) {
    std::ofstream(folder_ / "clips.csv") << "text\nx\n";
    auto const ended = run(score_job(1, "none.csv"), 1);
    EXPECT_EQ(ended[0].exit_code, 14);
    EXPECT_THAT(std::string(ended[0].of("failed").at(0).at("message").as_string()),
                HasSubstr("data.manifest"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "none.csv"));
}

}  // namespace
}  // namespace osora::tests
