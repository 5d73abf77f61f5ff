// Which source answers, and how a measurement is carried to another shape.
#include "topology/nccl/collective_predict.hpp"

#include "base/text/units.hpp"
#include "tests/unit/topology/nccl/nccl_data.hpp"
#include "topology/nccl/nccl_graphs.hpp"

#include <gmock/gmock.h>

namespace osora::topology {
namespace {

using testing::HasSubstr;

/// A group that follows a + bS, 1 MiB, 32 MiB and 1 GiB.
SampleGroup line(GroupShape shape, double a_us, double us_per_mib) {
    SampleGroup group{Collective::all_reduce, shape, {}};
    for (std::int64_t const mib : {1, 32, 1024}) {
        group.samples.push_back({mib * kMiB, a_us + us_per_mib * static_cast<double>(mib)});
    }
    return group;
}

std::vector<NcclGroup> h100() {
    auto groups = parse_nccl_graphs(nccl_data("model_graphs.csv")).value();
    std::erase_if(groups, [](auto const& each) { return each.topology != "h100_8x400"; });
    return groups;
}

TEST(CollectivePredict, SameShapeIsAnsweredByItsFit) {
    std::vector<SampleGroup> const samples{line({8, 1}, 50, 8), line({16, 2}, 100, 10)};
    auto const answer =
        predict_collective({Collective::all_reduce, {16, 2}, 256 * kMiB}, {.samples = samples});
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->method, "fit");
    EXPECT_NEAR(answer->time_us, 100 + 2560, 30);
}

TEST(CollectivePredict, BetweenTwoShapesLiesBetweenThem) {
    std::vector<SampleGroup> const samples{line({16, 2}, 100, 10), line({64, 8}, 400, 12)};
    auto const answer =
        predict_collective({Collective::all_reduce, {32, 4}, 1024 * kMiB}, {.samples = samples});
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->method, "between fits");
    EXPECT_GT(answer->time_us, 100 + 10240);
    EXPECT_LT(answer->time_us, 400 + 12288);
}

TEST(CollectivePredict, OtherShapesTakeTheModelsRatio) {
    auto const graphs = h100();
    std::vector<SampleGroup> const samples{line({16, 2}, 100, 10)};
    auto const answer = predict_collective({Collective::all_reduce, {128, 16}, 1024 * kMiB},
                                           {.samples = samples, .graphs = graphs});
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->method, "fit x model");
    auto const model = [&](GroupShape shape) {
        return nccl_ranking(*graphs_for(graphs, shape), nccl_constants(), Collective::all_reduce,
                            1024 * kMiB)
            .front()
            .time_us;
    };
    EXPECT_NEAR(answer->time_us, (100 + 10240) * model({128, 16}) / model({16, 2}), 1);
    EXPECT_THAT(answer->choice, HasSubstr("; next "));
    // A shape that the file lacks takes the graphs of its like: 64 nodes those of 32.
    EXPECT_EQ(graphs_for(graphs, {512, 64})->shape, (GroupShape{512, 64}));
    EXPECT_FALSE(graphs_for(graphs, {4, 1}).has_value());
}

TEST(CollectivePredict, WithoutGraphsARingsStepsScaleTheTerms) {
    std::vector<SampleGroup> const samples{line({16, 2}, 100, 10)};
    PredictionSources const sources{.samples = samples};
    auto const of = [&](GroupShape shape, std::int64_t size) {
        CollectiveQuestion const question{Collective::all_reduce, shape, size};
        return predict_collective(question, sources);
    };
    auto const large = of({128, 16}, 1024 * kMiB);
    EXPECT_EQ(large->method, "fit x ring steps");
    double const latency = 100.0 * 127 / 15, bytes = 10240.0 * (127.0 / 128) / (15.0 / 16);
    EXPECT_NEAR(large->time_us, latency + bytes, 0.01 * (latency + bytes));
    auto const crossing = of({8, 1}, kMiB);
    ASSERT_TRUE(crossing.has_error());
    EXPECT_EQ(crossing.error().code, Errc::not_found);
    EXPECT_THAT(crossing.error().message, HasSubstr("needs --graphs"));
}

/// all_reduce of 8 GiB by rings on one node, busbw as stas00/ml-engineering published it.
TEST(CollectivePredict, RingStepsHoldForRingsThatWereMeasured) {
    struct Ring {
        int ranks;
        double h200_gbps, b200_gbps;
    };
    constexpr std::int64_t kSize = 8192 * kMiB;
    auto const time_us = [](int ranks, double busbw_gbps) {
        return static_cast<double>(kSize) * 2 * (ranks - 1) / ranks / busbw_gbps / 1e3;
    };
    for (auto const& [ranks, h200, b200] : std::vector<Ring>{
             {4, 363.3, 673.8}, {5, 364.4, 677.8}, {6, 365.1, 677.8}, {7, 365.7, 680.5}}) {
        for (auto const& [eight, fewer] : {std::pair(365.6, h200), std::pair(682.2, b200)}) {
            SampleGroup group{Collective::all_reduce, {8, 1}, {}};
            double const us_per_mib = time_us(8, eight) / 8192;
            for (std::int64_t const mib : {1, 32, 1024, 8192}) {
                group.samples.push_back({mib * kMiB, 30 + us_per_mib * static_cast<double>(mib)});
            }
            std::vector<SampleGroup> const samples{group};
            auto const answer = predict_collective({Collective::all_reduce, {ranks, 1}, kSize},
                                                   {.samples = samples});
            ASSERT_TRUE(answer.has_value());
            EXPECT_NEAR(answer->time_us / time_us(ranks, fewer), 1, 0.02) << ranks;
        }
    }
}

TEST(CollectivePredict, WithoutSamplesTheModelAnswersAndSaysSo) {
    auto const graphs = h100();
    auto const answer =
        predict_collective({Collective::all_gather, {64, 8}, 64 * kMiB}, {.graphs = graphs});
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->method, "model");
    EXPECT_GE(answer->error, 0.5);
    EXPECT_TRUE(predict_collective({Collective::all_to_all, {64, 8}, kMiB}, {.graphs = graphs})
                    .has_error());
    EXPECT_TRUE(
        predict_collective({Collective::all_gather, {0, 0}, kMiB}, {.graphs = graphs}).has_error());
}

}  // namespace
}  // namespace osora::topology
