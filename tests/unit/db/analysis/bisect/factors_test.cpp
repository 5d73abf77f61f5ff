#include "db/analysis/bisect/factors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace osora::db::analysis {
namespace {

/// As a submission, an agent and a worker send them.
RunFacts run_41() {
    RunFacts facts;
    facts.config = {{"run.name", "stdit3-stage1"},
                    {"debug.collectives", "bucketed"},
                    {"data.manifest", "clips.csv"},
                    {"data.num_workers", "8"},
                    {"bucket[0].resolution", "360p"},
                    {"bucket[0].num_frames", "51"},
                    {"bucket[0].micro_batch_size", "2"},
                    {"batch.global_batch_size", "64"},
                    {"parallel.tp_size", "1"},
                    {"memory.recompute", "none"},
                    {"train.log_every", "10"}};
    facts.software = {{"commit", "0e2cf"}, {"worker.sha256", "aa"}, {"torch", "2.4.0"},
                      {"nccl", "2.20.5"},  {"kernel", "6.1.0"},     {"threads", "4"}};
    facts.env = {{"NCCL_SOCKET_IFNAME", "ib0"}, {"OMP_NUM_THREADS", "4"}};
    facts.hardware = {{"cpu", "EPYC 7763"}, {"host.name", "login1"}, {"memory_gib", "503.7"}};
    facts.nodes = {"n0", "n1", "n2", "n3"};
    facts.node_count = 4;
    facts.gpus_per_node = 8;
    return facts;
}

std::vector<std::string> names(DifferingFactors const& differing) {
    std::vector<std::string> found;
    for (auto const& atom : differing.atoms) found.push_back(atom.name);
    return found;
}

std::string kind(DifferingFactors const& differing, std::string_view name) {
    auto const found = std::ranges::find(differing.factors, name, &Factor::name);
    return found == differing.factors.end() ? "none"
                                            : boost::describe::enum_to_string(found->kind, "?");
}

TEST(Factors, EqualRunsDifferInNothing) {
    auto const differing = factors_of(run_41(), run_41());
    EXPECT_TRUE(differing.factors.empty());
    EXPECT_TRUE(differing.atoms.empty());
    EXPECT_TRUE(differing.dropped.empty());
}

TEST(Factors, EveryDifferingItemIsAFactorOrDropped) {
    auto const good = run_41();
    RunFacts bad;
    bad.node_count = 8;
    auto const differing = factors_of(good, bad);
    std::size_t const items = good.config.size() + good.software.size() + good.env.size() +
                              good.hardware.size() + 2;  // node_count, gpus_per_node
    EXPECT_EQ(differing.factors.size() + differing.dropped.size(), items);
    std::vector<int> in_atoms;
    for (auto const& atom : differing.atoms) {
        in_atoms.insert(in_atoms.end(), atom.factors.begin(), atom.factors.end());
    }
    std::ranges::sort(in_atoms);
    std::vector<int> all(differing.factors.size());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(in_atoms, all);
}

TEST(Factors, ANameAndALogIntervalAreNoCause) {
    auto bad = run_41();
    bad.config["run.name"] = "stdit3-b";
    bad.config["train.log_every"] = "1";
    bad.hardware["host.name"] = "login2";
    auto const differing = factors_of(run_41(), bad);
    EXPECT_TRUE(differing.factors.empty());
    ASSERT_EQ(differing.dropped.size(), 3u);
    EXPECT_EQ(differing.dropped[1].name, "run.name");
    EXPECT_EQ(differing.dropped[1].bad, "stdit3-b");
    EXPECT_FALSE(differing.dropped[1].why.empty());
}

TEST(Factors, HardCouplingsAreOneAtom) {
    auto bad = run_41();
    bad.software["nccl"] = "2.21.5";
    bad.software["cuda"] = "12.4";
    bad.config["batch.global_batch_size"] = "128";
    bad.config["bucket[0].micro_batch_size"] = "4";
    bad.config["bucket[0].num_frames"] = "17";
    bad.config["bucket[1].num_frames"] = "17";
    bad.config["parallel.tp_size"] = "2";
    bad.config["parallel.sp_size"] = "2";
    bad.config["parallel.sp_kind"] = "ring";
    bad.config["nccl.NCCL_IB_TC"] = "106";
    bad.env["NCCL_IB_TC"] = "106";
    bad.software["commit"] = "77aa1";
    bad.software["worker.sha256"] = "bb";
    bad.nodes = {"n0", "n1", "n2", "n9"};
    bad.hardware["cpu"] = "EPYC 9654";
    bad.software["kernel"] = "6.8.0";
    auto const differing = factors_of(run_41(), bad);
    EXPECT_EQ(names(differing),
              (std::vector<std::string>{
                  "NCCL_IB_TC, nccl.NCCL_IB_TC",
                  "batch.global_batch_size, bucket[0].micro_batch_size, bucket[0].num_frames",
                  "bucket[1].num_frames", "commit, worker.sha256", "cpu, kernel, node_set",
                  "cuda, nccl", "parallel.sp_kind, parallel.sp_size, parallel.tp_size"}));
    EXPECT_EQ(kind(differing, "commit"), "commit");
    EXPECT_EQ(kind(differing, "node_set"), "node_set");
    EXPECT_EQ(kind(differing, "kernel"), "hardware");
    auto const set = std::ranges::find(differing.factors, "node_set", &Factor::name);
    EXPECT_EQ(set->bad, "n[0-2,9]");
}

TEST(Factors, MoreOfTheSameNodesDifferInTheirCountOnly) {
    auto bad = run_41();
    bad.nodes = {"n3", "n2", "n1", "n0", "n4", "n5", "n6", "n7"};
    bad.node_count = 8;
    bad.config["resources.nodes"] = "8";
    auto const differing = factors_of(run_41(), bad);
    EXPECT_EQ(names(differing), (std::vector<std::string>{"node_count, resources.nodes"}));
    EXPECT_EQ(kind(differing, "node_count"), "node_count");
    EXPECT_EQ(differing.factors[0].good, "4");
}

TEST(Factors, TheOrderOfNodesDoesNotMatter) {
    auto bad = run_41();
    std::ranges::reverse(bad.nodes);
    EXPECT_TRUE(factors_of(run_41(), bad).factors.empty());
}

TEST(Factors, ASuspectComesFirst) {
    auto bad = run_41();
    bad.config["data.num_workers"] = "1";
    bad.config["debug.collectives"] = "per_parameter";
    bad.config["memory.recompute"] = "full";
    bad.software["torch"] = "2.5.0";
    auto const first = [&](Suspect suspect) {
        auto const differing = factors_of(run_41(), bad, suspect);
        EXPECT_EQ(differing.atoms[0].prior, suspect == Suspect::none ? 1 : 4);
        EXPECT_EQ(differing.atoms[1].prior, 1);
        return differing.atoms[0].name;
    };
    EXPECT_EQ(first(Suspect::comm), "debug.collectives");
    EXPECT_EQ(first(Suspect::loader), "data.num_workers");
    EXPECT_EQ(first(Suspect::compute), "torch");
    EXPECT_EQ(first(Suspect::memory), "memory.recompute");
    EXPECT_EQ(first(Suspect::none), "data.num_workers");
}

TEST(Factors, AnInterfaceIsSuspectedOfCommunication) {
    for (std::string_view const name :
         {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "nccl.NCCL_ALGO", "parallel.zero_stage"}) {
        EXPECT_EQ(prior_of({std::string(name), FactorKind::env, "", ""}, Suspect::comm), 4) << name;
        EXPECT_EQ(prior_of({std::string(name), FactorKind::env, "", ""}, Suspect::loader), 1);
    }
    EXPECT_EQ(prior_of({"node_set", FactorKind::node_set, "", ""}, Suspect::comm), 4);
}

}  // namespace
}  // namespace osora::db::analysis
