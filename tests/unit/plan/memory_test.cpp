#include "plan/memory.hpp"

#include "base/text/units.hpp"
#include "plan/model/model_cost.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace osora::plan {
namespace {

MemoryQuery tiny(int micro_batch_size) {
    return {.shape = model_shape("stdit3-tiny").value(),
            .bucket = {64, 64, 8},
            .micro_batch_size = micro_batch_size};
}

// 1,207,643,972 parameters: 4.83 GB each for weights, gradients and the average, twice for AdamW.
TEST(Memory, StatesOfXlByHand) {
    MemoryQuery query = tiny(1);
    query.shape = model_shape("stdit3-xl/2").value();
    RankMemory const one = rank_memory(query);
    EXPECT_EQ(one.parameter_bytes, 4'830'575'888);
    EXPECT_EQ(one.gradient_bytes, 4'830'575'888);
    EXPECT_EQ(one.optimizer_bytes, 9'661'151'776);
    EXPECT_EQ(one.ema_bytes, 4'830'575'888);
    EXPECT_EQ(one.communication_bytes, 0);
    query.dp_size = 2;
    query.ema = false;
    EXPECT_EQ(rank_memory(query).communication_bytes, 4'830'575'888);
    EXPECT_EQ(rank_memory(query).ema_bytes, 0);
}

// Ranks that share tokens are two of those that ZeRO shares among.
TEST(Memory, SharedTokensChangeNoWeights) {
    MemoryQuery query = tiny(4);
    query.dp_size = 2;
    query.zero_stage = 1;
    RankMemory const whole = rank_memory(query);
    query.sp_size = 2;
    RankMemory const half = rank_memory(query);
    EXPECT_EQ(half.parameter_bytes, whole.parameter_bytes);
    EXPECT_NEAR(static_cast<double>(half.optimizer_bytes),
                static_cast<double>(whole.optimizer_bytes) / 2, 1);
}

// Ulysses keeps q, k, v of all tokens and the result a second time; a ring does not.
TEST(Memory, ARingKeepsNoExchangedCopies) {
    MemoryQuery query = tiny(4);
    query.sp_size = 2;
    RankMemory const exchanged = rank_memory(query);
    query.sp_kind = SpKind::ring;
    EXPECT_LT(rank_memory(query).activation_bytes, exchanged.activation_bytes);
}

// Of two copies each rank keeps an eighth, as of one copy of eight ranks.
TEST(Memory, CopiesAreDividedAmongTheirRanks) {
    MemoryQuery query = tiny(1);
    query.dp_size = 16;
    query.zero_stage = 3;
    query.shard_size = 8;
    MemoryQuery eight = query;
    eight.dp_size = 8;
    eight.shard_size = 0;
    EXPECT_EQ(rank_memory(query).total_bytes(), rank_memory(eight).total_bytes());
    query.shard_size = 0;
    EXPECT_LT(rank_memory(query).optimizer_bytes, rank_memory(eight).optimizer_bytes);
}

// Blocks of XL share 16 C^2 + 10 C numbers each: qkv, projection, query, keys and values,
// projection (4 + 4 C^2), MLP (8 C^2), and the biases of what is cut by outputs.
TEST(Memory, SharedLayersAreCutAndTheRestIsNot) {
    MemoryQuery query = tiny(1);
    query.shape = model_shape("stdit3-xl/2").value();
    query.dp_size = 2;
    RankMemory const whole = rank_memory(query);
    query.tp_size = 2;
    RankMemory const cut = rank_memory(query);
    std::int64_t const shared = 56LL * (16 * 1152 * 1152 + 10 * 1152);
    EXPECT_EQ(cut.parameter_bytes, whole.parameter_bytes - 4 * shared / 2);
    EXPECT_EQ(cut.optimizer_bytes, whole.optimizer_bytes - 8 * shared / 2);
    // What linear layers read stays whole: 3 of 27 values a block.
    EXPECT_NEAR(static_cast<double>(cut.activation_bytes),
                (3.0 + 24.0 / 2) / 27 * static_cast<double>(whole.activation_bytes), 1e5);
    query.zero_stage = 1;  // slices over two ranks, the rest over four
    std::int64_t const all = 1'207'643'972;
    EXPECT_EQ(rank_memory(query).optimizer_bytes, 8 * ((all - shared) / 4 + shared / 4));
}

// In bf16: 2 bytes each for weights and gradients, 4 for masters and the average, 8 for AdamW.
TEST(Memory, StatesOfXlInBf16) {
    MemoryQuery query = tiny(1);
    query.shape = model_shape("stdit3-xl/2").value();
    query.precision = "bf16";
    query.dp_size = 8;
    query.accumulates = false;
    RankMemory const one = rank_memory(query);
    EXPECT_EQ(one.parameter_bytes, 2'415'287'944);
    EXPECT_EQ(one.gradient_bytes, 2'415'287'944);
    EXPECT_EQ(one.communication_bytes, 2'415'287'944);
    query.reduce_dtype = "fp32";  // nothing becomes bf16 again
    EXPECT_EQ(rank_memory(query).communication_bytes, 4'830'575'888);
    query.reduce_dtype = "";
    EXPECT_EQ(one.master_bytes, 4'830'575'888);
    EXPECT_EQ(one.optimizer_bytes, 9'661'151'776);
    EXPECT_EQ(one.ema_bytes, 4'830'575'888);
    EXPECT_EQ(one.update_bytes, 256 * kMiB);  // gradients in fp32, a group at a time
    EXPECT_EQ(one.checkpoint_bytes(), (2 + 4 + 8 + 4) * 1'207'643'972LL);
    query.precision = "fp32";
    EXPECT_LT(one.activation_bytes,
              0.55 * static_cast<double>(rank_memory(query).activation_bytes));
    EXPECT_GT(one.activation_bytes,
              0.49 * static_cast<double>(rank_memory(query).activation_bytes));
}

// Megatron-LM's main gradients (accumulate_allreduce_grads_in_fp32): 4 bytes a trained number on
// each rank that keeps whole gradients between passes. From stage 2 on a rank keeps fp32 anyway.
TEST(Memory, PassesAddUpInFp32) {
    MemoryQuery query = tiny(1);
    query.shape = model_shape("stdit3-xl/2").value();
    std::int64_t const all = 1'207'643'972;
    auto const more = [&query] {
        query.accumulates = true;
        std::int64_t const several = rank_memory(query).gradient_bytes;
        query.accumulates = false;
        return several - rank_memory(query).gradient_bytes;
    };
    for (char const* precision : {"fp32", "bf16", "fp16"}) {
        query.precision = precision;
        std::int64_t const two = precision == std::string("fp32") ? 0 : 2;
        for (int const stage : {0, 1, 2, 3}) {
            query.zero_stage = stage;
            query.dp_size = 8;
            EXPECT_EQ(more(), stage < 2 ? two * all : 0) << precision << " " << stage;
            EXPECT_EQ(sums_take_more(precision, stage, 8), more() > 0) << precision << " " << stage;
            query.dp_size = 1;
            EXPECT_EQ(more(), two * all) << precision << " " << stage;
            EXPECT_EQ(sums_take_more(precision, stage, 1), more() > 0) << precision << " " << stage;
        }
        query.lora_rank = 16;  // adapters alone
        EXPECT_EQ(more(), two * 56 * 16 * 23 * 1152) << precision;
        query.lora_rank = 0;
    }
    // Between passes they take memory beside the activations.
    query.precision = "bf16";
    query.zero_stage = 0;
    RankMemory const one = rank_memory(query);
    query.accumulates = true;
    EXPECT_EQ(rank_memory(query).static_bytes() - one.static_bytes(), 4 * all);
}

// Adapters of rank 16 on the 28 pairs of blocks: 16 (13 C + 2 (C + 4 C)) = 16 x 23 x 1152 a block.
TEST(Memory, AdaptersAloneAreTrained) {
    MemoryQuery query = tiny(1);
    query.shape = model_shape("stdit3-xl/2").value();
    query.lora_rank = 16;
    std::int64_t const adapters = 56 * 16 * 23 * 1152;
    RankMemory const one = rank_memory(query);
    EXPECT_EQ(one.parameter_bytes, 4 * (1'207'643'972 + adapters));
    EXPECT_EQ(one.gradient_bytes, 4 * adapters);
    EXPECT_EQ(one.optimizer_bytes, 8 * adapters);
    EXPECT_EQ(one.ema_bytes, 4 * adapters);
}

// ZeRO (arXiv 1910.02054, section 5): of what is shared each of 8 ranks has an eighth.
TEST(Memory, RanksShareByStage) {
    MemoryQuery query = tiny(1);
    query.shape = model_shape("stdit3-xl/2").value();
    query.precision = "bf16";
    query.dp_size = 8;
    RankMemory const none = rank_memory(query);
    auto const eighth = [](std::int64_t whole) { return (whole + 7) / 8; };
    std::int64_t const all = 1'207'643'972;
    for (int const stage : {1, 2, 3}) {
        query.zero_stage = stage;
        RankMemory const shared = rank_memory(query);
        EXPECT_EQ(shared.master_bytes, eighth(4 * all)) << stage;
        EXPECT_EQ(shared.optimizer_bytes, eighth(8 * all)) << stage;
        EXPECT_EQ(shared.ema_bytes, eighth(4 * all)) << stage;
        EXPECT_EQ(shared.gradient_bytes, stage == 1 ? 4 * all : eighth(4 * all)) << stage;
        EXPECT_EQ(shared.parameter_bytes, stage == 3 ? eighth(2 * all) : 2 * all) << stage;
        EXPECT_EQ(shared.checkpoint_bytes(),
                  eighth(2 * all) + 2 * eighth(4 * all) + eighth(8 * all));
        EXPECT_LT(shared.total_bytes(), none.total_bytes()) << stage;
        EXPECT_EQ(node_memory(shared, {}, 8, true).checkpoint_bytes, 8 * shared.checkpoint_bytes());
    }
    // One block has 21,255,696 parameters: three of them, and buckets in flight.
    EXPECT_LT(rank_memory(query).communication_bytes, 14 * 2 * 21'255'696LL);
    query.dp_size = 1;
    RankMemory const alone = rank_memory(query);
    query.zero_stage = 0;
    EXPECT_EQ(alone.total_bytes(), rank_memory(query).total_bytes());
}

// A bucket of stage 3 has a block's 21,255,696 parameters, one of stage 2 25 MiB of weights: that
// many gradients are of 4 bytes in place of 2, in one bucket at least and in nine at most.
TEST(Memory, BucketsHoldGradientsInTheTypeThatTravels) {
    MemoryQuery query = tiny(1);
    query.shape = model_shape("stdit3-xl/2").value();
    query.precision = "bf16";
    query.dp_size = 8;
    for (auto const& [stage, bucket] :
         {std::pair(2, 25 * kMiB), std::pair(3, std::int64_t{2} * 21'255'696)}) {
        query.zero_stage = stage;
        query.reduce_dtype = "";
        std::int64_t const as_weights = rank_memory(query).communication_bytes;
        query.reduce_dtype = "fp32";
        std::int64_t const more = rank_memory(query).communication_bytes - as_weights;
        EXPECT_GE(more, bucket) << stage;
        EXPECT_LE(more, 9 * bucket) << stage;
    }
}

// 100 MiB are full with three blocks of 42,511,392 bytes, of which stage 3 gathers three times as
// many. Activations that are freed leave room for all gradients but one bucket's.
TEST(Memory, BucketsOfStage3AreWholeBlocks) {
    MemoryQuery query = tiny(1);
    query.shape = model_shape("stdit3-xl/2").value();
    query.bucket = {352, 640, 51};
    query.precision = "bf16";
    query.dp_size = 8;
    query.zero_stage = 3;
    RankMemory const small = rank_memory(query);
    EXPECT_GT(small.activation_bytes, 2 * (2 * 1'207'643'972LL));
    query.grad_bucket_mib = 100;
    EXPECT_EQ(rank_memory(query).communication_bytes - small.communication_bytes,
              (3 * 2 + 2) * 42'511'392LL);
}

TEST(Memory, TotalIsTheSumOfItsTerms) {
    MemoryQuery query = tiny(3);
    RankMemory const m = rank_memory(query, {.cpu_process_bytes = 1000});
    SampleCost const sample = sample_cost(tiny(3).shape, {64, 64, 8});
    std::int64_t const parameters = parameter_count(tiny(3).shape).parameters;
    std::int64_t const pass =
        3 * (sample.saved_bytes + sample.working_bytes + sample.input_bytes());
    EXPECT_EQ(m.total_bytes(), 1000 + 5 * 4 * parameters + pass);
    EXPECT_EQ(m.tensor_bytes(), 5 * 4 * parameters + pass);
    // With one micro-batch a step gradients take the place of activations.
    query.accumulates = false;
    EXPECT_EQ(rank_memory(query).tensor_bytes(), 4 * 4 * parameters + pass);
}

// Peak resident set over the one before the pass, of worker/model's stdit3-tiny doing one forward
// and backward pass in fp32 with LibTorch 2.11 on one thread, measured once with VmHWM.
TEST(Memory, ActivationsAreThoseOfTheRealModel) {
    struct Row {
        int side, frames, micro_batch_size;
        double measured_mib;
    };
    for (Row const& row :
         {Row{48, 4, 2, 60.5}, Row{48, 4, 4, 128.2}, Row{48, 4, 8, 242.5}, Row{32, 8, 4, 113.4},
          Row{32, 1, 8, 28.0}, Row{32, 1, 76, 254.8}, Row{64, 8, 1, 117.4}, Row{64, 8, 4, 439.7}}) {
        MemoryQuery query = tiny(row.micro_batch_size);
        query.bucket = {row.side, row.side, row.frames};
        RankMemory const memory = rank_memory(query);
        double const mib = MemoryConstants{}.host_factor *
                           static_cast<double>(memory.activation_bytes + memory.input_bytes) /
                           static_cast<double>(kMiB);
        EXPECT_NEAR(mib / row.measured_mib, 1, 0.13) << row.side << " x " << row.frames;
    }
}

// Highest peak of the allocator over ranks and three steps, counted by the trainer on CPU ranks:
// rows of bench/planner/trainer_memory.py (clips of 64 x 64 x 8, or as stated).
TEST(Memory, PeaksAreThoseThatTheTrainerCounts) {
    struct Row {
        char const* what;
        double counted_mib;
        MemoryQuery query;
    };
    auto const of = [](char const* arch, int micro_batch_size, auto const& change) {
        MemoryQuery query{.shape = model_shape(arch).value(), .bucket = {64, 64, 8}};
        query.micro_batch_size = micro_batch_size;
        query.accumulates = false;
        change(query);
        return query;
    };
    using Query = MemoryQuery;
    auto const stdit3 = [&](auto const& change) { return of("stdit3-tiny", 4, change); };
    auto const mmdit = [&](auto const& change) { return of("mmdit-tiny", 4, change); };
    for (Row const& row : {
             Row{"one rank", 357.7, stdit3([](Query&) {})},
             Row{"96 x 16", 790.3,
                 of("stdit3-tiny", 2,
                    [](Query& q) {
                        q.bucket = {96, 96, 16};
                    })},
             Row{"full", 121.8, stdit3([](Query& q) { q.activations.recompute = "full"; })},
             Row{"selective", 190.8,
                 stdit3([](Query& q) { q.activations.recompute = "selective"; })},
             Row{"2 blocks", 200.3, stdit3([](Query& q) { q.activations.recompute = "2"; })},
             Row{"bf16", 161.8, stdit3([](Query& q) { q.activations.store = "bf16"; })},
             Row{"int8", 123.3, stdit3([](Query& q) { q.activations.store = "int8"; })},
             Row{"LoRA", 279.5, stdit3([](Query& q) { q.lora_rank = 8; })},
             Row{"dp 2", 360.5, stdit3([](Query& q) { q.dp_size = 2; })},
             Row{"ZeRO-1", 357.7, stdit3([](Query& q) { q.dp_size = 2, q.zero_stage = 1; })},
             Row{"ZeRO-2", 355.8, stdit3([](Query& q) { q.dp_size = 2, q.zero_stage = 2; })},
             Row{"ZeRO-3", 356.2, stdit3([](Query& q) { q.dp_size = 2, q.zero_stage = 3; })},
             Row{"tp 2", 209.9, stdit3([](Query& q) { q.tp_size = 2; })},
             Row{"sp 2", 199.5, stdit3([](Query& q) { q.sp_size = 2; })},
             Row{"MMDiT", 323.9, mmdit([](Query&) {})},
             Row{"MMDiT, full", 120.5, mmdit([](Query& q) { q.activations.recompute = "full"; })},
             Row{"MMDiT, selective", 277.6,
                 mmdit([](Query& q) { q.activations.recompute = "selective"; })},
             Row{"MMDiT, 2 blocks", 178.2, mmdit([](Query& q) { q.activations.recompute = "2"; })},
             Row{"MMDiT, int8", 127.7, mmdit([](Query& q) { q.activations.store = "int8"; })},
             Row{"MMDiT, LoRA", 256.0, mmdit([](Query& q) { q.lora_rank = 8; })},
             Row{"MMDiT, ZeRO-2", 320.7, mmdit([](Query& q) { q.dp_size = 2, q.zero_stage = 2; })},
             Row{"MMDiT, sp 2", 180.0, mmdit([](Query& q) { q.sp_size = 2; })},
             Row{"pp 2", 96.2, of("stdit3-tiny", 1, [](Query& q) { q.pp_size = 2; })},
             Row{"MMDiT, pp 2", 93.0, of("mmdit-tiny", 1, [](Query& q) { q.pp_size = 2; })},
         }) {
        double const predicted = static_cast<double>(rank_memory(row.query).tensor_bytes());
        EXPECT_NEAR(predicted / static_cast<double>(kMiB) / row.counted_mib, 1, 0.03) << row.what;
    }
}

TEST(Memory, GrowsWithEveryThingThatIsKept) {
    std::int64_t last = 0;
    for (int micro = 1; micro <= 64; micro *= 2) {
        std::int64_t const now = rank_memory(tiny(micro)).total_bytes();
        EXPECT_GT(now, last);
        last = now;
    }
    MemoryQuery more = tiny(1);
    more.bucket.num_frames = 16;
    EXPECT_GT(rank_memory(more).total_bytes(), rank_memory(tiny(1)).total_bytes());
}

/// Activations over those of plain saving, of STDiT3-XL/2.
double held(std::string const& recompute, std::string const& store,
            std::string const& precision = "fp32") {
    MemoryQuery query = tiny(1);
    query.shape = model_shape("stdit3-xl/2").value();
    query.bucket = {256, 256, 51};
    query.precision = precision;
    auto const plain = static_cast<double>(rank_memory(query).activation_bytes);
    query.activations = {recompute, store};
    return static_cast<double>(rank_memory(query).activation_bytes) / plain;
}

// 27 values a token, channel and block; 13 without attention, 1 of a recomputed block, 17 in a
// store. Below them the gradients at work, and what is recomputed or unpacked.
TEST(Memory, WhatIsNotKeptIsNotCounted) {
    double const at_work = 6.0 / (27 * 56), again = 27.0 / (27 * 56), unpacked = 10.5 / (27 * 56);
    EXPECT_NEAR(held("selective", "none"), 13.0 / 27 + at_work, 0.03);
    EXPECT_NEAR(held("full", "none"), 1.0 / 27 + at_work + again, 0.03);
    EXPECT_NEAR(held("28", "none"), 14.0 / 27 + at_work, 0.01);
    double const more = at_work + unpacked;
    EXPECT_NEAR(held("none", "bf16"), 17.0 / 27 / 2 + more, 0.01);
    EXPECT_NEAR(held("none", "int8"), 17.0 / 27 * 1.031 / 4 + more, 0.01);
    // Below fp32 q and k are also kept in fp32: as much as 4 more.
    EXPECT_NEAR(held("none", "int8", "bf16"), 21.0 / 31 * 1.031 / 2 + more, 0.01);
    EXPECT_NEAR(held("none", "bf16", "bf16"), 21.0 / 31 + more, 0.01);
    EXPECT_NEAR(held("none", "offload"), more, 0.01);
    EXPECT_LT(held("full", "offload"), held("full", "none"));
}

TEST(Memory, NodeHoldsEveryRankAndItsLoader) {
    RankMemory const peak = rank_memory(tiny(2));
    LoaderMemory const loader = loader_memory(
        {.slot_bytes = 100, .clip_pixels_max = 0, .num_workers = 1, .prefetch_factor = 2});
    EXPECT_EQ(loader.total_bytes, 3 * 100 + 8 * kMiB);
    auto const resident =
        static_cast<std::int64_t>(1.27 * static_cast<double>(peak.tensor_bytes()));
    // And the copy of a checkpoint that is being written: weights, AdamW's moments, the average.
    std::int64_t const copy = 4 * 4 * parameter_count(tiny(2).shape).parameters;
    EXPECT_EQ(node_memory(peak, loader, 4, false).total_bytes(),
              4 * (150'000'000 + resident + 300 + 8 * kMiB) + copy);
    EXPECT_EQ(node_memory(peak, loader, 2, true).total_bytes(),
              2 * (485'000'000 + 300 + 8 * kMiB) + copy);
}

}  // namespace
}  // namespace osora::plan
