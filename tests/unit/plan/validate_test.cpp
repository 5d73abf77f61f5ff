#include "plan/validate.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace osora::plan {
namespace {

RunConfig valid() {
    RunConfig config;
    config.resources.gpus_per_node = 2;
    config.data.manifest = "clips.csv";
    config.bucket = {{"48", 4, 0.6, {}}, {"32", 1, 1.0, {}}};
    return config;
}

std::vector<ConfigViolation> violations_of(RunConfig const& config) {
    return config_violations(config, {{{"box", 2, 0, {}}}});
}

struct Case {
    std::function<void(RunConfig&)> break_it;
    char const* key;
    char const* message;
};

void expect_refused(Case const& each) {
    RunConfig config = valid();
    each.break_it(config);
    auto const found = violations_of(config);
    ASSERT_EQ(found.size(), 1u) << each.key;
    EXPECT_EQ(found[0].key, each.key);
    if (each.message != nullptr) {
        EXPECT_EQ(found[0].message, each.message);
    }
}

TEST(Validate, ValidIsSilent) {
    EXPECT_TRUE(violations_of(valid()).empty());
    RunConfig defaults = valid();
    defaults.batch.global_batch_size = 8;
    defaults.parallel.tp_size = 1;
    defaults.memory.recompute = std::string("none");
    EXPECT_TRUE(violations_of(defaults).empty());
    defaults.memory.offload_frozen = true;
    defaults.optim.lora_rank = 4;
    EXPECT_TRUE(violations_of(defaults).empty());
    defaults.optim.lora_rank = 0;
    defaults.optim.freeze = {"spatial_blocks.0.mlp."};
    EXPECT_TRUE(violations_of(defaults).empty());
}

TEST(Validate, FrozenBlocksAreOffloadedWhereThereAreSome) {
    Case const cases[] = {
        {[](RunConfig& c) { c.memory.offload_frozen = true; }, "memory.offload_frozen",
         "no block has frozen weights; nearest valid: false, or optim.lora_rank above 0, or "
         "optim.freeze with parts of blocks"},
        {[](RunConfig& c) {
             c.memory.offload_frozen = true;
             c.optim.freeze = {"y_embedder."};
         },
         "memory.offload_frozen", nullptr},
        {[](RunConfig& c) {
             c.memory.offload_frozen = true;
             c.optim.freeze = {"spatial_blocks."};
             c.parallel.pp_size = 2;
         },
         "memory.offload_frozen",
         "the stages of a pipeline keep their blocks on the device; nearest valid: false, or "
         "parallel.pp_size = 1"}};
    for (Case const& each : cases) expect_refused(each);
}

TEST(Validate, EachRuleNamesItsKeyAndWhatIsValid) {
    Case const cases[] = {
        {[](RunConfig& c) { c.model.arch = "stdit4"; }, "model.arch",
         "unknown architecture 'stdit4'; known: stdit3-tiny, stdit3-xl/2, stdit3-3b/2, "
         "stdit2-tiny, stdit2-xl/2, mmdit-tiny, mmdit-11b"},
        {[](RunConfig& c) {
             c.parallel.pp_size = 2;
             c.parallel.zero_stage = 3;
         },
         "parallel.zero_stage", "weights stay where a pipeline's stages need them; valid: 0 to 2"},
        {[](RunConfig& c) {
             c.run.job = "train_vae";
             c.parallel.sp_size = 2;
         },
         "parallel.sp_size", "run.job = \"train_vae\" has no layers and tokens to cut; valid: 1"},
        {[](RunConfig& c) {
             c.run.job = "rehearse";
             c.parallel.tp_size = 3;
         },
         "parallel.tp_size", "does not divide 4 heads; nearest valid: 2, 4"},
        {[](RunConfig& c) { c.parallel.tp_size = 3; }, "parallel.tp_size",
         "does not divide 4 heads; nearest valid: 2, 4"},
        {[](RunConfig& c) { c.parallel.pp_size = 8; }, "parallel.pp_size",
         "exceeds 4 blocks; at most one stage per block"},
        {[](RunConfig& c) { c.parallel.zero_stage = 4; }, "parallel.zero_stage", "valid: 0 to 3"},
        {[](RunConfig& c) {
             c.resources.gpus_per_node = 8;
             c.parallel.shard_size = 3;
         },
         "parallel.shard_size", "3 does not divide 8 ranks; nearest valid: 2, 4"},
        {[](RunConfig& c) { c.memory.recompute = std::string("some"); }, "memory.recompute",
         "\"some\" is no way to recompute; valid: none, selective, full, or a number of blocks "
         "from 1 on"},
        {[](RunConfig& c) { c.memory.recompute = std::string("5"); }, "memory.recompute",
         "5 blocks of 4; nearest valid: 4, or \"full\""},
        {[](RunConfig& c) { c.memory.activation_store = std::string("int8"); },
         "memory.activation_store",
         "\"int8\" rounds activations: it needs memory.allow_lossy = true; without: none, offload"},
        {[](RunConfig& c) {
             c.memory.activation_store = std::string("int8");
             c.memory.allow_lossy = true;
             c.parallel.pp_size = 2;
         },
         "memory.activation_store",
         "\"int8\" rounds activations, and what that does to gradients is not measured in a "
         "pipeline; valid: none, offload"},
        {[](RunConfig& c) { c.optim.name = "sgd"; }, "optim.name",
         "this version's worker does not do it; valid: adamw"},
        {[](RunConfig& c) { c.debug.collectives = "all_at_once"; }, "debug.collectives",
         "this version's worker does not do it; valid: bucketed, per_parameter"},
        {[](RunConfig& c) { c.bucket[1].resolution = "7p"; }, "bucket[1].resolution", nullptr},
        {[](RunConfig& c) { c.batch.global_batch_size = 7; }, "batch.global_batch_size",
         "does not divide over 2 ranks; nearest valid: 6, 8"},
        {[](RunConfig& c) {
             c.batch.global_batch_size = 10;
             c.bucket[0].micro_batch_size = 4;
         },
         "batch.global_batch_size",
         "does not divide over 2 ranks x micro_batch_size 4; nearest valid: 8, 16"},
        {[](RunConfig& c) { c.batch.max = 3; }, "batch.max",
         "is below 4, the smallest batch that 4 ranks and fewer share; nearest valid: 4"},
        {[](RunConfig& c) { c.data.num_workers = -1; }, "data.num_workers", "must be at least 0"}};
    for (Case const& each : cases) expect_refused(each);
}

TEST(Validate, VirtualStagesNeedAPipelineWithBlocksForThem) {
    Case const cases[] = {
        {[](RunConfig& c) { c.parallel.virtual_stages = 2; }, "parallel.virtual_stages",
         "needs parallel.pp_size of at least 2; valid: 1"},
        {[](RunConfig& c) {
             c.parallel.pp_size = 2;
             c.parallel.virtual_stages = 4;
         },
         "parallel.virtual_stages", "times 2 stages exceeds 4 blocks; nearest valid: 2"},
        {[](RunConfig& c) {
             c.parallel.pp_size = 2;
             c.parallel.virtual_stages = 2;
             c.parallel.zero_stage = 2;
         },
         "parallel.zero_stage",
         "gradients would be reduced once for each of parallel.virtual_stages; valid: 0 and 1"},
        {[](RunConfig& c) {
             c.parallel.pp_size = 2;
             c.parallel.virtual_stages = 2;
             c.parallel.pp_schedule = std::string("eager_1f1b");
         },
         "parallel.pp_schedule",
         "with virtual_stages above 1 passes are interleaved; valid: \"auto\""}};
    for (Case const& each : cases) expect_refused(each);
}

TEST(Validate, WhatTheModelCannotBe) {
    Case const cases[] = {
        {[](RunConfig& c) { c.model.arch = "stdit3-xl/2"; }, "model.arch",
         "trains on latents: it needs data.latents; on pixels: stdit3-tiny, stdit2-tiny, "
         "mmdit-tiny"},
        {[](RunConfig& c) {
             c.model.arch = "stdit2-tiny";
             c.model.hidden = 88;
         },
         "model.hidden", "4 heads take multiples of 24, at least 24; nearest valid: 72, 96"},
        {[](RunConfig& c) { c.model.hidden = 90; }, "model.hidden",
         "4 heads take multiples of 8, at least 8; nearest valid: 88, 96"},
        {[](RunConfig& c) {
             c.model.arch = "mmdit-tiny";
             c.train.frame_masks = {{"image_head", 0.1}};
         },
         "train.frame_masks", "is for STDiT; MMDiT takes no frames as a condition here"},
        {[](RunConfig& c) {
             c.train.frame_masks = {{"quarter_head", 0.1}};
             c.debug.frame_mask_rule = "original";
             c.bucket[0].num_frames = 3;
         },
         "train.frame_masks",
         "quarter_head: a quarter of 3 latent frames is none with debug.frame_mask_rule = "
         "\"original\"; nearest valid: buckets of 4 latent frames"}};
    for (Case const& each : cases) expect_refused(each);
}

TEST(Validate, LatentsMakeLargeModelsTrainable) {
    for (char const* arch : {"stdit3-xl/2", "stdit3-3b/2", "stdit2-xl/2", "mmdit-11b"}) {
        RunConfig config = valid();
        config.model.arch = arch;
        config.bucket = {{"256", 17, 1.0, {}}};
        ASSERT_EQ(violations_of(config).size(), 1u) << arch;
        config.data.latents = "latents";
        EXPECT_TRUE(violations_of(config).empty()) << arch;
        config.data.latents = "";
        config.run.job = "rehearse";  // trains nothing
        EXPECT_TRUE(violations_of(config).empty()) << arch;
    }
}

TEST(Validate, AllAtOnceInTheOrderOfTheFile) {
    RunConfig config = valid();
    config.optim.name = "sgd";
    config.model.arch = "mmdit-11b";
    config.parallel.sp_size = 5;
    auto const found = violations_of(config);
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].key, "model.arch");
    EXPECT_EQ(found[1].key, "parallel.sp_size");
    EXPECT_EQ(found[1].code, Errc::not_divisible);
    EXPECT_EQ(found[2].key, "optim.name");
}

TEST(Validate, NoMoreWorkersThanGpus) {
    RunConfig config = valid();
    topology::Cluster const machine{{{"box", 8, 0, {{"a GPU", 0}}}}};
    auto const found = config_violations(config, machine);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].message, "this machine has 1 GPU; nearest valid: 1");
}

}  // namespace
}  // namespace osora::plan
