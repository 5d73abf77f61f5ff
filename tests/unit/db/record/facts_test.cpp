#include "db/record/facts.hpp"

#include "base/sha256.hpp"

#include <gtest/gtest.h>

namespace osora::db {
namespace {

namespace json = protocol::json;

// FIPS 180-4, examples of NIST.
TEST(Sha256, MatchesThePublishedExamples) {
    EXPECT_EQ(sha256_hex("abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(FactsTest, FlattensWithOneSpellingPerValue) {
    auto const facts = flatten(json::parse(
        R"({"a": {"b": 1, "c": "x y"}, "d": [true, {"e": 1.5}], "f": [], "g": {}, "h": null})"));
    Facts const expected{{"a.b", "1"}, {"a.c", "x y"}, {"d[0]", "true"}, {"d[1].e", "1.5E0"},
                         {"f", "[]"},  {"g", "{}"},    {"h", "null"}};
    EXPECT_EQ(facts, expected);
}

TEST(FactsTest, SortsFactsIntoKinds) {
    EXPECT_EQ(kind_of_fact("NCCL_IB_HCA"), FactKind::env);
    EXPECT_EQ(kind_of_fact("OMP_NUM_THREADS"), FactKind::env);
    EXPECT_EQ(kind_of_fact("device"), FactKind::hardware);
    EXPECT_EQ(kind_of_fact("libtorch"), FactKind::software);
    EXPECT_EQ(kind_of_fact("cpus", FactKind::hardware), FactKind::hardware);
    EXPECT_EQ(kind_of_fact("kernel", FactKind::hardware), FactKind::software);
    EXPECT_EQ(kind_of_fact("OMP_NUM_THREADS", FactKind::hardware), FactKind::env);
}

TEST(FactsTest, MergesInAnyOrder) {
    Facts forth, back;
    for (int i = 0; i < 40; ++i) merge_fact(forth, "k", std::to_string(i));
    for (int i = 39; i >= 0; --i) merge_fact(back, "k", std::to_string(i));
    for (int i = 0; i < 40; ++i) merge_fact(back, "k", std::to_string(i));
    EXPECT_EQ(forth, back);
    merge_fact(forth, "same", "v");
    merge_fact(forth, "same", "v");
    EXPECT_EQ(forth["same"], "v");
}

TEST(FactsTest, HashesDistinguishKeysFromValues) {
    EXPECT_NE(fingerprint_sha256(FactKind::env, {{"a", "b=c"}}),
              fingerprint_sha256(FactKind::env, {{"a=b", "c"}}));
    EXPECT_NE(fingerprint_sha256(FactKind::env, {{"a", "b"}}),
              fingerprint_sha256(FactKind::config, {{"a", "b"}}));
}

TEST(FactsTest, TheWorkIsModelBucketsAndData) {
    auto const work = work_of(json::parse(
        R"({"model": {"arch": "m", "init": "w"}, "data": {"manifest": "c.csv", "num_workers": 2},
            "bucket": [{"resolution": "64", "num_frames": 8, "micro_batch_size": "auto"}],
            "resources": {"nodes": 2}, "train": {"steps": 9},
            "run": {"name": "n", "job": "train"}})"));
    Facts const expected{{"bucket[0].num_frames", "8"},
                         {"bucket[0].resolution", "64"},
                         {"data.manifest", "c.csv"},
                         {"model.arch", "m"},
                         {"run.job", "train"}};
    EXPECT_EQ(work, expected);
}

TEST(FactsTest, TheWorkOfAStagedRunIncludesItsStages) {
    auto const plan = json::parse(
        R"({"chosen": {"tp_size": 1}, "stages": [{"at_step": 30, "chosen": {"buckets": [
            {"resolution": "64", "num_frames": 8, "global_batch_size": 16},
            {"resolution": "128", "num_frames": 1, "global_batch_size": 4}]}}]})");
    Facts const stages{{"stage[0].at_step", "30"},
                       {"stage[0].bucket[0]", "64 x 8, batch 16"},
                       {"stage[0].bucket[1]", "128 x 1, batch 4"}};
    EXPECT_EQ(stage_work_of(plan), stages);
    Facts const config{{"model.arch", "m"},
                       {"model.init", "w"},
                       {"stage[0].at_step", "30"},
                       {"stage[0].data.manifest", "hq.csv"},
                       {"stage[0].optim.lr", "1e-05"}};
    Facts all = stages;
    all["model.arch"] = "m";
    all["stage[0].data.manifest"] = "hq.csv";
    EXPECT_EQ(work_with_stages(config, plan), all);
    EXPECT_EQ(without_stages(all), (Facts{{"model.arch", "m"}}));
    EXPECT_EQ(work_with_stages(config, nullptr), (Facts{{"model.arch", "m"}}));
    EXPECT_EQ(stage_batches(all), (std::vector{16, 4}));
    auto many = all;
    many["stage[10].bucket[0]"] = "64 x 8, batch 5";
    many["stage[2].bucket[10]"] = "64 x 8, batch 3";
    many["stage[2].bucket[9]"] = "64 x 8, batch 2";
    EXPECT_EQ(stage_batches(many), (std::vector{16, 4, 2, 3, 5}));
    EXPECT_EQ(without_stage_batches(all).at("stage[0].bucket[1]"), "128 x 1");
    EXPECT_EQ(without_stage_batches(all).at("stage[0].at_step"), "30");
    EXPECT_EQ(last_stage_step(all), 30);
    EXPECT_EQ(last_stage_step(without_stages(all)), 0);
    EXPECT_EQ(last_stage_step({{"stage[9].at_step", "900"}, {"stage[10].at_step", "1000"}}), 1000);
    for (char const* none : {"null", "{}", R"({"stages": []})", R"({"stages": 3})"}) {
        EXPECT_EQ(stage_work_of(json::parse(none)), Facts{}) << none;
    }
}

TEST(FactsTest, SaysWhereTwoSetsDiffer) {
    Facts const left{{"a", "1"}, {"b", "2"}, {"c", "3"}};
    Facts const right{{"a", "1"}, {"b", "7"}, {"d", "4"}};
    EXPECT_EQ(describe_difference(left, right), "b 2 / 7, c 3 / none, d none / 4");
    EXPECT_EQ(describe_difference(left, right, 1), "b 2 / 7, 2 more");
    EXPECT_EQ(describe_difference(left, left), "");
}

}  // namespace
}  // namespace osora::db
