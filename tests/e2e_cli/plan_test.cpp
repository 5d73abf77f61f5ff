// osora plan as a user runs it.
#include "tests/e2e_cli/cli_fixture.hpp"

#include "protocol/json.hpp"
#include "tests/kit/recorded_tree.hpp"

namespace osora::e2e_cli {
namespace {

using testing::HasSubstr;

constexpr char const* kHosts =
    "SwitchName=s1 Nodes=n[01-08]\nSwitchName=s2 Nodes=n[09-16]\nSwitchName=top Switches=s[1-2]\n";

class PlanWithoutRun : public Cli {
protected:
    Ended plan(std::vector<std::string> more) {
        std::vector<std::string> words{"plan", "--model", "stdit3-xl/2"};
        words.insert(words.end(), more.begin(), more.end());
        return osora(words);
    }
    protocol::json::object plan_json(std::vector<std::string> more) {
        more.emplace_back("--json");
        auto const ended = plan(more);
        EXPECT_EQ(ended.code, 0) << ended.err;
        auto const json = protocol::parse_json(ended.out);
        return json ? json->as_object() : protocol::json::object();
    }
    void expect_refused(std::vector<std::string> const& more, std::string const& error) {
        auto const ended = plan(more);
        EXPECT_EQ(ended.code, 2) << ended.out;
        EXPECT_THAT(ended.err, HasSubstr(error));
    }
};

void expect_keys(protocol::json::value const& object, std::vector<std::string_view> const& keys) {
    for (std::string_view const key : keys) {
        EXPECT_TRUE(object.as_object().contains(key)) << key;
    }
}

TEST_F(PlanWithoutRun, PrintsAPlanForATopology) {
    auto const ended = plan(
        {"--topology", "synthetic:leaf:2 node:8 gpu:8", "--gpus", "64", "--explain", "--top", "2"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("train stdit3-xl/2 · 64 x h100-80g-sxm: 8 nodes of 8 GPUs"));
    for (char const* const word : {"\nplan ", "\nexpect ", "\nwhy ", "\nnccl ", "\nothers ",
                                   "nominal", "cards of 400 Gbit/s a GPU"}) {
        EXPECT_THAT(ended.out, HasSubstr(word));
    }
}

TEST_F(PlanWithoutRun, ItsJsonIsThatOfAnyPlan) {
    auto const plan = plan_json({"--gpu", "h100", "--gpus", "16", "--nic-gbit", "400", "--bucket",
                                 "144p:1", "--bucket", "360p:51"});
    EXPECT_EQ(plan.at("schema"), "osora.plan/1");
    expect_keys(plan, {"chosen", "predicted", "reasons", "alternatives", "rejected", "nccl_env"});
    auto const& chosen = plan.at("chosen");
    expect_keys(chosen, {"tp_size", "pp_size", "sp_size", "dp_size", "zero_stage", "recompute",
                         "activation_store", "buckets"});
    expect_keys(plan.at("predicted"), {"step_time_s", "compute_s", "exposed_comm_s", "bubble_s",
                                       "loader_s", "peak_memory_gib", "samples_per_s"});
    ASSERT_EQ(chosen.at("buckets").as_array().size(), 2u);
    expect_keys(chosen.at("buckets").at(1),
                {"resolution", "num_frames", "micro_batch_size", "grad_accum_steps"});
    auto const size = [&](char const* name) { return chosen.at(name).as_int64(); };
    EXPECT_EQ(size("tp_size") * size("pp_size") * size("sp_size") * size("dp_size"), 16);
}

TEST_F(PlanWithoutRun, RecordedMachinesAreTopologies) {
    auto const xml = content_of(OSORA_SOURCE_DIR "/tests/data/topology/dgx_a100_part.xml");
    std::filesystem::create_directories(folder_ / "nodes");
    write("nodes/n1.xml", xml);
    write("nodes/n2.xml", xml);
    auto const two = plan({"--topology", "nodes", "--gpus", "2"});
    EXPECT_THAT(two.out, HasSubstr("2 x a100-40g-sxm: 2 nodes of 1 GPU (nodes)")) << two.err;
    EXPECT_THAT(two.out, HasSubstr("cards of 200 Gbit/s a GPU"));
    auto const tree = tests::RecordedTree::named("hgx_h100");
    auto const root = tree.root().string();
    auto const one = plan({"--topology", root, "--gpus", "8"});
    EXPECT_THAT(one.out, HasSubstr("8 x h100-80g-sxm: 1 node of 8 GPUs")) << one.err;
    expect_refused({"--topology", root, "--gpus", "12"}, "nearest valid: 8, 16");
    expect_refused({"--topology", root, "--gpus", "16"}, "--nodes 2 plans for so many");
    EXPECT_EQ(plan({"--topology", root, "--gpus", "16", "--nodes", "2"}).code, 0);
}

TEST_F(PlanWithoutRun, HostsOfSlurmNeedTheNameOfTheirGpus) {
    write("topology.conf", kHosts);
    expect_refused({"--topology", "topology.conf", "--gpus", "64"},
                   "osora: topology.conf: names no model of GPU; --gpu says which");
    auto const ended =
        plan({"--topology", "topology.conf", "--gpus", "64", "--gpu", "h100-80g-sxm"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("--nic-gbit gives"));
    expect_refused({"--topology", "topology.conf", "--gpus", "256", "--gpu", "h100"},
                   "topology.conf has 16 such nodes; nearest valid: 128");
}

TEST_F(PlanWithoutRun, WrongWordsNameTheNearestValid) {
    expect_refused({"--gpu", "h100"}, "--gpus is missing");
    expect_refused({"--gpus", "0", "--gpu", "h100"}, "--gpus 0: must be an integer between 1");
    expect_refused({"--gpus", "8", "--gpu", "h100-80g-sx"}, "nearest valid: h100-80g-sxm");
    expect_refused({"--gpus", "8", "--topology", "nowhere"}, "nowhere: no such file or folder");
    expect_refused({"--gpus", "8", "--gpu", "h100", "--bucket", "360:x"},
                   "--bucket 360:x: x frames");
    expect_refused({"--gpus", "8", "--gpu", "h100", "--set", "optim.precison=\"bf16\""},
                   "did you mean precision?");
    expect_refused({"--gpus", "8", "--gpu", "h100", "--set", "resources.nodes=2"},
                   "--gpus, --nodes and --gpus-per-node say it");
    expect_refused({"--gpus", "8", "--nic-gbit", "400"}, "--nic-gbit: needs --gpu or --topology");
    expect_refused({"run.toml"}, "--model: a run file names its own");
    EXPECT_EQ(osora({"plan"}).code, 2);
    EXPECT_THAT(osora({"plan", "--model", "gpt", "--gpus", "8"}).err,
                HasSubstr("osora plan evaluate"));
}

TEST_F(PlanWithoutRun, WhatFitsNowhereSaysByHowMuchAndWhatWouldFit) {
    auto const ended = osora({"plan", "--model", "mmdit-11b", "--gpu", "rtx4090", "--gpus", "1",
                              "--bucket", "720p:129"});
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, HasSubstr("bucket 720p x 129: micro-batch 1 needs "));
    EXPECT_THAT(ended.err, HasSubstr("a GPU has "));
    EXPECT_THAT(ended.err, HasSubstr("it would fit with "));
}

TEST_F(PlanWithoutRun, ARunFileIsPlannedForNamedGpusToo) {
    write_run_file(10);
    auto const json =
        protocol::parse_json(osora({"plan", "run.toml", "--gpu", "h200", "--json"}).out);
    ASSERT_TRUE(json.has_value());
    EXPECT_EQ(json->at("chosen").at("precision"), "bf16");
    EXPECT_THAT(osora({"plan", "run.toml", "--gpu", "h200"}).out,
                HasSubstr("2 x h200-141g-sxm: 1 node of 2 GPUs"));
    EXPECT_THAT(osora({"plan", "run.toml", "--gpus", "8"}).err, HasSubstr("is used with --model"));
    EXPECT_THAT(osora({"plan", "run.toml", "--nic-gbit", "8"}).err, HasSubstr("needs --gpu"));
}

// The mock's steps take 0.1 s, whatever the formulas say.
TEST_F(PlanWithoutRun, RunsOfTheSameNetworkCorrectIt) {
    script_times();
    set_variable(environment_, "OSORA_MOCK_STEP_S", "0.1");
    write("run.toml",
          "[run]\nname = \"demo\"\n[resources]\ncpus_per_worker = 1\n"
          "[data]\nmanifest = \"clips.csv\"\nhost_memory_gib = 1\n"
          "[[bucket]]\nresolution = \"64\"\nnum_frames = 8\n"
          "[batch]\nglobal_batch_size = 1\n[train]\nsteps = 40\n");
    auto const compute_s = [&](std::vector<std::string> const& more) {
        std::vector<std::string> words{"plan", "run.toml", "--json"};
        words.insert(words.end(), more.begin(), more.end());
        auto const plan = protocol::parse_json(osora(words).out);
        return plan.has_value()
                   ? plan->at("chosen").at("buckets").at(0).at("compute_s").to_number<double>()
                   : 0;
    };
    double const before = compute_s({});
    double const other = compute_s({"--set", "model.depth=2"});
    ASSERT_EQ(osora({"submit", "run.toml"}).code, 0);
    double const after = compute_s({});
    EXPECT_GT(before, 0.12);
    EXPECT_NEAR(after, 0.09, 0.005) << "0.9 of a step is forward and backward";
    EXPECT_THAT(osora({"plan", "run.toml", "--explain"}).out, HasSubstr("as in run 1"));
    EXPECT_EQ(compute_s({"--set", "model.depth=2"}), other) << "another network";
}

}  // namespace
}  // namespace osora::e2e_cli
