#include "plan/collective_request.hpp"

#include "plan/rehearsal.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace osora::plan {
namespace {

TEST(CollectiveRequest, EachFaultIsNamed) {
    struct Row {
        std::function<void(CollectiveRequest&)> change;
        char const* says;
    };
    double const nan = std::numeric_limits<double>::quiet_NaN();
    for (Row const& row : {
             Row{[](CollectiveRequest& r) { r.collectives = {"allreduce"}; },
                 "probe: collective 'allreduce' is not one of: all_reduce, all_gather, "
                 "reduce_scatter, all_to_all, broadcast, send_recv"},
             Row{[](CollectiveRequest& r) { r.collectives.clear(); }, "needs a collective"},
             Row{[](CollectiveRequest& r) { r.sizes_bytes = {0}; }, "size 0: valid: 1 to"},
             Row{[](CollectiveRequest& r) { r.sizes_bytes = {kProbeBytesMax + 1}; }, "valid: 1 to"},
             Row{[](CollectiveRequest& r) {
                     r.group_sets = {{"a", {{0, 4}}}};
                 },
                 "a: rank 4: valid: 0 to 3"},
             Row{[](CollectiveRequest& r) {
                     r.group_sets = {{"a", {{0, -1}}}};
                 },
                 "rank -1"},
             Row{[](CollectiveRequest& r) {
                     r.group_sets = {{"a", {{0, 1}, {1, 2}}}};
                 },
                 "rank 1 is given twice"},
             Row{[](CollectiveRequest& r) {
                     r.group_sets = {{"a", {{0}}}};
                 },
                 "two ranks or more"},
             Row{[](CollectiveRequest& r) {
                     r.group_sets = {{"a", {}}};
                 },
                 "has no group"},
             Row{[](CollectiveRequest& r) {
                     r.group_sets = {{"a/b", {{0, 1}}}};
                 },
                 "needs a name"},
             Row{[](CollectiveRequest& r) { r.world = false; }, "no group"},
             Row{[](CollectiveRequest& r) { r.iterations_min = 0; }, "iterations_min"},
             Row{[](CollectiveRequest& r) { r.iterations_max = 2; }, "iterations_min"},
             Row{[nan](CollectiveRequest& r) { r.spread = nan; }, "spread"},
             Row{[nan](CollectiveRequest& r) { r.time_limit_s = nan; }, "time_limit_s"},
             Row{[](CollectiveRequest& r) { r.time_limit_s = INFINITY; }, "time_limit_s"},
         }) {
        CollectiveRequest request;
        request.collectives = {"all_reduce"};
        row.change(request);
        auto const checked = check_collective_request(request, 4);
        ASSERT_TRUE(checked.has_error()) << row.says;
        EXPECT_NE(checked.error().message.find(row.says), std::string::npos)
            << checked.error().message;
    }
    CollectiveRequest whole;
    whole.collectives = {"all_reduce"};
    EXPECT_TRUE(check_collective_request(whole, 2).has_value());
    EXPECT_TRUE(check_collective_request(whole, 1).has_error());
}

TEST(CollectiveRequest, TimesAreEnoughWhenTheyAgreeOrThereAreMany) {
    CollectiveRequest request;
    request.iterations_min = 3;
    request.iterations_max = 6;
    EXPECT_FALSE(summarise_times({1, 1}, request).enough);
    auto const agree = summarise_times({1.01, 5, 1, 0.99}, request);
    EXPECT_TRUE(agree.enough);
    EXPECT_DOUBLE_EQ(agree.median_s, 1.005);
    EXPECT_FALSE(summarise_times({1, 2, 3}, request).enough);
    EXPECT_TRUE(summarise_times({1, 2, 3, 1, 2, 3}, request).enough);
}

PlanDecision one_bucket_plan() {
    PlanDecision plan;
    plan.chosen.buckets.resize(2);
    plan.chosen.buckets[0].compute_s = 0.9;
    plan.chosen.buckets[0].optimizer_s = 0.1;
    plan.chosen.buckets[1].compute_s = 1.8;
    return plan;
}

TEST(RehearsalCompute, TheRunFileWinsThenHistoryThenThePlan) {
    RunConfig config;
    config.bucket.resize(2);
    auto const plan = one_bucket_plan();
    auto computes = rehearsal_compute(config, plan, {});
    ASSERT_EQ(computes.size(), 2u);
    EXPECT_NEAR(computes[0].forward_s, 0.3, 1e-12);
    EXPECT_NEAR(computes[0].backward_s, 0.6, 1e-12);
    EXPECT_NEAR(computes[0].optimizer_s, 0.1, 1e-12);
    EXPECT_EQ(computes[0].source, "plan");
    EXPECT_NEAR(computes[1].total_s(), 1.8, 1e-12);

    BucketCompute const measured{
        .forward_s = 2, .backward_s = 3, .optimizer_s = 1, .source = "run 7"};
    EXPECT_EQ(rehearsal_compute(config, plan, {std::nullopt, measured})[1], measured);
    EXPECT_EQ(rehearsal_compute(config, plan, {std::nullopt, measured})[0].source, "plan");

    config.rehearse.compute_s = 5.0;
    config.bucket[1].compute_s = 0.0;
    computes = rehearsal_compute(config, plan, {measured, measured});
    EXPECT_NEAR(computes[0].total_s(), 5, 1e-12);
    EXPECT_NEAR(computes[0].optimizer_s, 0.5, 1e-12);  // a tenth, as planned
    EXPECT_EQ(computes[1].total_s(), 0);
    EXPECT_EQ(computes[1].source, "run file");
}

TEST(JobShapedRequest, HasGroupsOfNeighboursWithEveryRankInOne) {
    for (int nodes = 1; nodes <= 17; ++nodes) {
        for (int ranks : {1, 2, 8}) {
            if (nodes * ranks < 2) continue;
            auto const request = job_shaped_request(nodes, ranks);
            EXPECT_TRUE(check_collective_request(request, nodes * ranks).has_value());
            for (auto const& set : request.group_sets) {
                std::size_t members = 0;
                for (auto const& group : set.groups) members += group.size();
                EXPECT_EQ(members, static_cast<std::size_t>(nodes * ranks)) << set.name;
            }
        }
    }
    auto const request = job_shaped_request(5, 2);
    ASSERT_EQ(request.group_sets.size(), 3u);
    EXPECT_EQ(request.group_sets[0].name, "1 node");
    EXPECT_EQ(request.group_sets[1].groups,
              (std::vector<std::vector<int>>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));
    EXPECT_EQ(job_shaped_request(5, 1).group_sets[0].groups,
              (std::vector<std::vector<int>>{{0, 1}, {2, 3, 4}}));
    EXPECT_TRUE(job_shaped_request(1, 8).group_sets.empty());
    EXPECT_TRUE(job_shaped_request(3, 1).group_sets.empty()) << "one group of three is all of them";
}

}  // namespace
}  // namespace osora::plan
