// The jobs "rehearse" and "probe" as processes: the messages of training without its data, and a
// file with the times of collectives.
#include "tests/e2e_worker/worker_fixture.hpp"

#include "base/files/files.hpp"
#include "protocol/json.hpp"

#include <gmock/gmock.h>

#include <map>

namespace osora::tests {
namespace {

using testing::Each;
using testing::Ge;
using testing::SizeIs;

class Rehearse : public WorkerTest {
protected:
    /// Without clips: buckets alternate.
    [[nodiscard]] plan::WorkerJob rehearsal(int ranks, int steps) const {
        auto job = WorkerTest::job(ranks, steps);
        job.config.run.job = "rehearse";
        job.config.data.manifest = "";
        for (std::size_t i = 0; i < job.plan.chosen.buckets.size(); ++i) {
            auto& bucket = job.plan.chosen.buckets[i];
            bucket.height = bucket.width = 32;
            job.rehearsal.push_back(
                {.forward_s = 0.01, .backward_s = 0.02, .optimizer_s = 0.005, .source = "test"});
        }
        return job;
    }
};

TEST_F(Rehearse, ReportsStepsAsTrainingDoes) {
    auto made = rehearsal(2, 7);
    made.config.model.hidden = 96;  // more than one bucket of gradients
    auto const ranks = run(made, 2);
    for (auto const& rank : ranks) {
        ASSERT_EQ(rank.exit_code, 0);
        ASSERT_THAT(rank.of("step"), SizeIs(7));
        EXPECT_THAT(rank.of("arrived"), SizeIs(7));
        EXPECT_THAT(rank.steps("forward_s"), Each(Ge(0.01)));
        EXPECT_THAT(rank.steps("optimizer_s"), Each(Ge(0.005)));
        EXPECT_THAT(rank.steps("arrival_s"), Each(Ge(0.03)));
        EXPECT_THAT(rank.steps("samples"), testing::ElementsAre(2, 2, 8, 2, 2, 8, 2));
        for (auto const& step : rank.of("step")) {
            EXPECT_TRUE(step.at("loss").is_null());
            double const parts = step.at("data_wait_s").to_number<double>() +
                                 step.at("forward_s").to_number<double>() +
                                 step.at("backward_s").to_number<double>() +
                                 step.at("exposed_comm_s").to_number<double>() +
                                 step.at("optimizer_s").to_number<double>() +
                                 step.at("other_s").to_number<double>();
            EXPECT_NEAR(parts, step.at("step_time_s").to_number<double>(), 1e-6);
            auto const& collectives = step.at("collectives").as_array();
            ASSERT_THAT(collectives, SizeIs(2));
            EXPECT_EQ(collectives[0].at("name"), "gradients all_reduce");
            // The same sum, rounded on different ways.
            EXPECT_DOUBLE_EQ(collectives[0].at("exposed_s").to_number<double>(),
                             step.at("exposed_comm_s").to_number<double>());
            EXPECT_GT(collectives[0].at("calls").to_number<int>(), 1);
            EXPECT_EQ(collectives[1].at("name"), "stop vote");
            EXPECT_EQ(collectives[1].at("ranks"), 2);
        }
        EXPECT_EQ(rank.of("finished").at(0).at("steps"), 7);
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run dir" / "checkpoints"));
}

TEST_F(Rehearse, DividedRanksExchangeWeightsToo) {
    for (int const stage : {2, 3}) {
        auto job = rehearsal(2, 4);
        job.plan.chosen.zero_stage = stage;
        auto const ranks = run(job, 2);
        for (auto const& rank : ranks) {
            ASSERT_EQ(rank.exit_code, 0);
            ASSERT_THAT(rank.of("step"), SizeIs(4));
            EXPECT_THAT(rank.steps("forward_s"), Each(Ge(0.0099)));
            std::vector<std::string> names;
            auto const last = rank.of("step").back();
            for (auto const& each : last.at("collectives").as_array())
                names.emplace_back(each.at("name").as_string());
            EXPECT_THAT(names, testing::Contains("gradients reduce_scatter"));
            EXPECT_THAT(names, testing::Contains("parameters all_gather"));
        }
    }
}

TEST_F(Rehearse, RanksThatShareLayersAndBlocksExchangeThem) {
    auto job = rehearsal(1, 4);
    auto& layout = job.plan.chosen;
    layout.tp_size = layout.pp_size = 2;
    for (auto& bucket : layout.buckets) {
        bucket.micro_batch_size /= 2;
        bucket.grad_accum_steps = 2;
    }
    auto const ranks = run(job, 4);
    auto const names_of = [](WorkerRun const& rank) {
        std::vector<std::string> names;
        auto const last = rank.of("step").back();
        for (auto const& each : last.at("collectives").as_array())
            names.emplace_back(each.at("name").as_string());
        return names;
    };
    for (auto const& rank : ranks) {
        ASSERT_EQ(rank.exit_code, 0);
        ASSERT_THAT(rank.of("step"), SizeIs(4));
        EXPECT_THAT(rank.steps("arrival_s"), Each(Ge(0.0299)));
        for (char const* name : {"layers all_to_all", "layers all_gather", "stages receive"})
            EXPECT_THAT(names_of(rank), testing::Contains(name));
    }
    EXPECT_THAT(ranks[0].steps("samples"), Each(0.0));
    EXPECT_THAT(ranks[2].steps("samples"), testing::ElementsAre(4, 4, 16, 4));
}

TEST_F(Rehearse, ADelayedReaderHoldsTheOthersUp) {
    auto job = rehearsal(2, 5);
    job.config.rehearse.data_wait_s = 0.2;
    job.config.rehearse.data_wait_rank = 1;
    auto const ranks = run(job, 2);
    ASSERT_EQ(ranks[0].exit_code, 0);
    EXPECT_THAT(ranks[0].steps("data_wait_s"), Each(0.0));
    EXPECT_THAT(ranks[1].steps("data_wait_s"), Each(Ge(0.2)));
    EXPECT_THAT(ranks[1].steps("arrival_s"), Each(Ge(0.23)));
    EXPECT_THAT(ranks[0].steps("step_time_s"), Each(Ge(0.2)));
}

TEST_F(Rehearse, FollowsTheTrainingsOwnBuckets) {
    make_clip("a.mp4", "64x64", 1);
    make_clip("b.mp4", "96x64", 2);
    write_manifest({"a.mp4", "b.mp4"});
    auto job = rehearsal(1, 12);
    job.config.data.manifest = "clips.csv";
    auto trained = WorkerTest::job(1, 12);
    auto const names = [](WorkerRun const& run) {
        std::vector<std::string> list;
        for (auto const& step : run.of("step")) list.emplace_back(step.at("bucket").as_string());
        return list;
    };
    EXPECT_EQ(names(run(job, 1)[0]), names(run(trained, 1)[0]));
}

TEST_F(Rehearse, SaysWhatIsMissing) {
    auto job = rehearsal(1, 2);
    job.rehearsal.pop_back();
    auto const refused = run(job, 1)[0];
    EXPECT_EQ(refused.exit_code, 14);
    EXPECT_EQ(refused.of("failed").at(0).at("message"),
              "the plan has 3 buckets, the rehearsal times of 2");
}

TEST_F(Rehearse, ProbeWritesTheTimesOfCollectives) {
    auto job = WorkerTest::job(4, 1);
    job.config.run.job = "probe";
    job.collectives.collectives = {"all_reduce", "broadcast", "send_recv"};
    job.collectives.sizes_bytes = {4096};
    job.collectives.group_sets = {{"pairs", {{0, 2}, {3, 1}}}, {"three", {{1, 2, 3}}}};
    job.collectives.iterations_max = 5;
    for (auto const& rank : run(job, 4)) EXPECT_EQ(rank.exit_code, 0);
    auto const text = read_file(folder_ / "run dir" / "probe.json");
    ASSERT_TRUE(text.has_value()) << text.error().message;
    auto const answer = protocol::parse_json(*text);
    ASSERT_TRUE(answer.has_value());
    EXPECT_THAT(answer->at("warnings").as_array(), SizeIs(0));
    std::map<std::string, int> ranks;
    for (auto const& each : answer->at("collectives").as_array()) {
        ranks[std::string(each.at("group").as_string())] =
            static_cast<int>(each.at("ranks").as_int64());
        EXPECT_GT(each.at("time_us").to_number<double>(), 0);
    }
    EXPECT_EQ(ranks, (std::map<std::string, int>{
                         {"", 4}, {"pairs: 0-2", 2}, {"pairs: 3-1", 2}, {"three: 1-2-3", 3}}));
    EXPECT_THAT(answer->at("collectives").as_array(), SizeIs(3 * 4));

    job.collectives.collectives = {"all_reduce"};
    job.collectives.group_sets = {{"too far", {{1, 4}}}};
    auto const refused = run(job, 4);
    EXPECT_EQ(refused[0].exit_code, 14);
    EXPECT_EQ(refused[0].of("failed").at(0).at("message"), "probe: too far: rank 4: valid: 0 to 3");
}

}  // namespace
}  // namespace osora::tests
