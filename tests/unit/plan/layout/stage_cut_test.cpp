// Cuts of blocks into runs against all cuts there are, and the work of a model's parts.
#include "plan/layout/stage_cut.hpp"

#include "plan/memory.hpp"
#include "plan/model/model_cost.hpp"
#include "plan/step_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

namespace osora::plan {
namespace {

using Ends = std::vector<std::int64_t>;

double largest_run(ModelWork const& work, Ends const& ends) {
    double largest = 0;
    std::int64_t begin = 0;
    for (std::size_t run = 0; run < ends.size(); ++run) {
        double sum = (run == 0 ? work.first : 0) + (run + 1 == ends.size() ? work.last : 0);
        for (; begin < ends[run]; ++begin) sum += work.blocks[static_cast<std::size_t>(begin)];
        largest = std::max(largest, sum);
    }
    return largest;
}

/// The largest run of the best of all cuts with at least one block in each run.
double best_of_all(ModelWork const& work, std::size_t runs, Ends& ends) {
    auto const blocks = static_cast<std::int64_t>(work.blocks.size());
    if (ends.size() + 1 == runs) {
        ends.push_back(blocks);
        double const largest = largest_run(work, ends);
        ends.pop_back();
        return largest;
    }
    double best = INFINITY;
    std::int64_t const first = ends.empty() ? 1 : ends.back() + 1;
    auto const after = static_cast<std::int64_t>(runs - 1 - ends.size());
    for (std::int64_t end = first; end <= blocks - after; ++end) {
        ends.push_back(end);
        best = std::min(best, best_of_all(work, runs, ends));
        ends.pop_back();
    }
    return best;
}

TEST(StageCut, HasTheSmallestLargestRunOfAllCuts) {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> work(0.01, 1);
    std::uniform_int_distribution<int> whole(1, 3);
    for (int round = 0; round < 600; ++round) {
        bool const equal_sums = round % 2 == 0;  // many cuts are equally good
        auto const draw = [&] { return equal_sums ? whole(random) : work(random); };
        ModelWork model{round % 3 == 0 ? 0.0 : 2 * draw(), {}, round % 5 == 0 ? 0.0 : draw()};
        for (int i = 0; i < 1 + round % 9; ++i) model.blocks.push_back(draw());
        for (int runs = 1; runs <= static_cast<int>(model.blocks.size()); ++runs) {
            Ends const ends = run_ends(model, runs);
            Ends cut;
            ASSERT_EQ(ends.size(), static_cast<std::size_t>(runs));
            EXPECT_EQ(ends.back(), static_cast<std::int64_t>(model.blocks.size()));
            std::int64_t begin = 0;
            for (std::int64_t const end : ends) EXPECT_LT(std::exchange(begin, end), end);
            double const best = best_of_all(model, static_cast<std::size_t>(runs), cut);
            EXPECT_NEAR(largest_run(model, ends), best, 1e-12 * best) << "round " << round;
            EXPECT_EQ(run_ends(model, runs), ends);
        }
    }
}

TEST(StageCut, EqualBlocksAreCutByTheirNumber) {
    ModelWork const equal{0, std::vector<double>(5, 1.0), 0};
    EXPECT_EQ(run_ends(equal, 2), (Ends{3, 5}));
    EXPECT_EQ(run_ends(equal, 3), (Ends{2, 4, 5}));
    EXPECT_EQ(run_ends(equal, 5), (Ends{1, 2, 3, 4, 5}));
    EXPECT_EQ(run_ends(equal, 7), (Ends{1, 2, 3, 4, 5, 5, 5}));
}

/// With 8 equal blocks the embedders, worth two, take the place of blocks.
TEST(StageCut, EmbeddersTakeThePlaceOfBlocks) {
    ModelWork const heavy{2, std::vector<double>(8, 1.0), 0.5};
    EXPECT_EQ(run_ends(heavy, 2), (Ends{3, 8}));
    EXPECT_EQ(run_ends(heavy, 4), (Ends{1, 4, 6, 8}));
    auto const shares = stage_shares(heavy, {1, 4, 6, 8}, 2);
    EXPECT_DOUBLE_EQ(shares[0], (2 + 1 + 2) / 10.5);
    EXPECT_DOUBLE_EQ(shares[1], (3 + 2 + 0.5) / 10.5);
}

TEST(StageCut, PartsAddUpToASample) {
    BucketKey const key{256, 448, 51};
    for (char const* arch : {"stdit3-xl/2", "stdit2-xl/2", "mmdit-11b"}) {
        ModelShape const shape = model_shape(arch).value();
        SampleCost const sample = sample_cost(shape, key);
        PartFlops const parts = part_flops(shape, key);
        double const blocks = std::accumulate(parts.blocks.begin(), parts.blocks.end(), 0.0);
        double const ends = 2.0 * shape.hidden * shape.patch_volume() *
                            (shape.in_channels + shape.out_channels()) *
                            static_cast<double>(sample.tokens());
        EXPECT_NEAR(blocks + ends, sample.forward_flops, 1e-9 * sample.forward_flops) << arch;
        EXPECT_LT(parts.first + parts.last, 0.05 * sample.forward_flops) << arch;
    }
    // Attention within frames and over frames differ.
    auto const parts = part_flops(model_shape("stdit3-xl/2").value(), key);
    EXPECT_GT(parts.blocks[0], 1.02 * parts.blocks[1]);
}

/// Every parameter is on one stage, and the rank that has most is the one that is planned for.
TEST(StageCut, StagesHaveAllParameters) {
    for (char const* arch : {"stdit3-xl/2", "stdit2-xl/2", "mmdit-11b"}) {
        ModelShape const shape = model_shape(arch).value();
        MemoryQuery query{.shape = shape, .bucket = {256, 256, 17}, .pp_size = 4};
        auto const ends = ends_or({}, shape, query.bucket, 4);
        auto const stages = parameters_of_stages(shape, {}, ends, 4);
        std::int64_t all = 0;
        for (BlockParameters const& each : stages) all += each.all;
        EXPECT_EQ(all, parameter_count(shape).parameters) << arch;
        auto const frozen = parameters_of_stages(shape, {"final_layer"}, ends, 4);
        EXPECT_EQ(frozen.front().trained, stages.front().trained) << arch;
        EXPECT_LT(frozen.back().trained, stages.back().trained) << arch;
        EXPECT_EQ(rank_memory(query).parameter_bytes, 4 * stages.front().all) << arch;
        // A first stage of few blocks has few parameters and activations.
        query.run_ends = {1, 2, 3, ends.back()};
        EXPECT_EQ(rank_memory(query).parameter_bytes,
                  4 * parameters_of_stages(shape, {}, query.run_ends, 4).back().all)
            << arch;
    }
}

/// Prefixes of the first pairs of STDiT3's blocks.
std::vector<std::string> first_pairs(int pairs) {
    std::vector<std::string> names;
    for (int i = 0; i < pairs; ++i)
        for (char const* kind : {"spatial", "temporal"})
            names.push_back(std::string(kind) + "_blocks." + std::to_string(i) + ".");
    return names;
}

/// Forward and backward of a trained linear layer are three passes, of a frozen one two; products
/// of attention always three.
TEST(StageCut, FrozenBlocksHaveLessWork) {
    ModelShape const shape = model_shape("stdit3-xl/2").value();
    BucketKey const key{256, 256, 51};
    auto const plain = model_work(shape, {&key, 1});
    auto const frozen = model_work(shape, {&key, 1}, {.freeze = first_pairs(14)});
    auto const lora = model_work(shape, {&key, 1}, {.lora_rank = 8});
    // 16 x 16 tokens of 15 latent frames; qkv, three projections and the MLP of width 4 C: 14 C^2
    // a token, and 2 C^2 a caption's token.
    double const c = 1152, text = 300, tokens = 15 * 256;
    auto const two_of_three = [&](double keys) {
        double const linear = 2 * 14 * c * c * tokens + 4 * c * c * text;
        double const products = 4 * c * keys * tokens;
        return (2 * linear + 3 * products) / (3 * linear + 3 * products);
    };
    auto const ratio = [&](ModelWork const& work, std::size_t block) {
        double const unit = work.blocks[54] / plain.blocks[54];  // block 54 is spatial and trained
        return work.blocks[block] / plain.blocks[block] / unit;
    };
    EXPECT_NEAR(ratio(frozen, 0), two_of_three(256 + text), 1e-9);
    EXPECT_NEAR(ratio(frozen, 27), two_of_three(15 + text), 1e-9);
    EXPECT_NEAR(ratio(frozen, 28), 1, 1e-9);
    // With adapters all are alike again, apart from attention.
    EXPECT_NEAR(ratio(lora, 1), two_of_three(15 + text) / two_of_three(256 + text), 1e-9);
    EXPECT_NEAR(lora.last / plain.last * plain.blocks[0] / lora.blocks[0],
                2.0 / 3 / two_of_three(256 + text), 1e-9);
}

/// Half of the blocks are frozen: cut by their number, the second stage would keep the first
/// waiting.
TEST(StageCut, StagesOfFrozenBlocksHaveMoreOfThem) {
    StepQuery query{.shape = model_shape("stdit3-xl/2").value(),
                    .bucket = {256, 256, 51},
                    .grad_accum_steps = 8,
                    .pp_size = 2,
                    .run_ends = {},
                    .freeze = first_pairs(14)};
    Ends const ends = ends_or({}, query.shape, query.bucket, 2, {.freeze = query.freeze});
    EXPECT_GE(ends[0], 31);
    EXPECT_LE(ends[0], 33);
    Calibration const calibration = nominal_cpu();
    double const cut = step_time(query, calibration).compute_s;
    query.run_ends = {28, 56};
    // 28 x 3 of 28 x 3 + 28 x 2 and a little for attention, against half.
    EXPECT_NEAR(step_time(query, calibration).compute_s / cut, 0.59 / 0.505, 0.03);
}

/// A pass takes as long as its largest stage.
TEST(StageCut, TheLargestStageSetsThePace) {
    StepQuery query{.shape = model_shape("mmdit-11b").value(),
                    .bucket = {256, 256, 17},
                    .grad_accum_steps = 8,
                    .pp_size = 2,
                    .run_ends = {}};
    Calibration const calibration = nominal_cpu();
    double const even = step_time(query, calibration).compute_s;
    query.run_ends = {1, 57};
    EXPECT_NEAR(step_time(query, calibration).compute_s / even, 56.0 / 29, 0.02);
}

}  // namespace
}  // namespace osora::plan
