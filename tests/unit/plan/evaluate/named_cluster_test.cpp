// What options and a topology make of a cluster.
#include "plan/evaluate/named_cluster.hpp"

#include "tests/unit/plan/evaluate/rows_kit.hpp"
#include "topology/sources/synthetic.hpp"

namespace osora::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ClusterRequest of_topology(int gpus, std::string const& text = "leaf:2 node:8 gpu:8 core:96") {
    return {.gpus = gpus,
            .topology = topology::parse_synthetic(text).value(),
            .source = "cluster.yaml"};
}

NamedCluster cluster_of(ClusterRequest const& request) {
    auto cluster = named_cluster(request, hardware());
    EXPECT_TRUE(cluster.has_value()) << (cluster ? "" : cluster.error().message);
    return cluster ? *cluster : NamedCluster{};
}

std::string refusal(ClusterRequest const& request) {
    auto const cluster = named_cluster(request, hardware());
    return cluster ? "" : cluster.error().message;
}

TEST(NamedCluster, HasTheNodesGpusAndCardsOfTheTopology) {
    NamedCluster const cluster = cluster_of(of_topology(64));
    EXPECT_EQ(cluster.gpus.gpu.name, "h100-80g-sxm");
    EXPECT_EQ(cluster.gpus.nodes, 8);
    EXPECT_EQ(cluster.gpus.gpus_per_node, 8);
    EXPECT_EQ(cluster.gpus.nic_gbit_per_gpu, 400);
    EXPECT_EQ(cluster.memory_bytes, std::int64_t{80} << 30);
    EXPECT_EQ(cluster.node.cores, 96);
    EXPECT_THAT(cluster.taken, ElementsAre("cards of 400 Gbit/s a GPU, as cluster.yaml has them"));
}

TEST(NamedCluster, TakesPartOfANodeAndFewerCardsThanGpus) {
    NamedCluster const part = cluster_of(of_topology(4));
    EXPECT_EQ(part.gpus.nodes, 1);
    EXPECT_EQ(part.gpus.gpus_per_node, 4);
    NamedCluster const shared = cluster_of(of_topology(16, "leaf:1 node:2 gpu:8 nic:2 rate:200"));
    EXPECT_EQ(shared.gpus.nic_gbit_per_gpu, 50);
}

TEST(NamedCluster, CountsTheCardsThatAreUpOneAGpuAtMost) {
    auto request = of_topology(16, "leaf:1 node:2 gpu:8 nic:10 rate:400");
    EXPECT_EQ(cluster_of(request).gpus.nic_gbit_per_gpu, 400);
    auto& nics = request.topology.machines.front().nics;
    ASSERT_EQ(nics.size(), 10u);
    for (std::size_t i = 0; i < 6; ++i) nics[i].up = false;
    EXPECT_EQ(cluster_of(request).gpus.nic_gbit_per_gpu, 200);
    for (auto& each : nics) each.device.clear();  // interfaces alone: TCP takes one
    EXPECT_EQ(cluster_of(request).gpus.nic_gbit_per_gpu, 50);
    request.nic_gbit = 100;
    EXPECT_EQ(cluster_of(request).gpus.nic_gbit_per_gpu, 100);
}

TEST(NamedCluster, RefusesWhatDoesNotDivideOrIsNotThere) {
    EXPECT_EQ(refusal(of_topology(60)),
              "--gpus 60: nodes of cluster.yaml have 8 GPUs each; nearest valid: 56, 64");
    EXPECT_EQ(refusal(of_topology(256)),
              "--gpus 256: needs 32 nodes of 8 GPUs, cluster.yaml has 16 such nodes; nearest "
              "valid: 128");
    auto request = of_topology(64);
    request.nodes = 4;
    EXPECT_EQ(refusal(request),
              "--gpus 64: 16 on each of 4 nodes, but those of cluster.yaml have 8; nearest valid: "
              "8 on each");
    request.nodes = 3;
    EXPECT_EQ(refusal(request), "--gpus 64: does not divide by --nodes 3; nearest valid: 63, 66");
    request.gpus_per_node = 8;
    EXPECT_EQ(refusal(request),
              "--gpus 64: --nodes 3 x --gpus-per-node 8 are 24; nearest valid: 24");
}

TEST(NamedCluster, OneNodeRepresentsOthersOnlyOnRequest) {
    auto request = of_topology(32, "node:1 gpu:8");
    EXPECT_EQ(refusal(request),
              "--gpus 32: needs 4 nodes of 8 GPUs, cluster.yaml has 1 such node; nearest valid: "
              "8; --nodes 4 plans for so many nodes like that one");
    request.nodes = 4;
    EXPECT_EQ(cluster_of(request).gpus.nodes, 4);
}

TEST(NamedCluster, AFabricWithoutNodesNeedsTheNameOfItsGpus) {
    auto request = of_topology(64);
    request.topology.machines.clear();
    EXPECT_EQ(refusal(request),
              "cluster.yaml: names no model of GPU; --gpu says which, as in --gpu h100-80g-sxm");
    request.gpu = "a100";
    NamedCluster const cluster = cluster_of(request);
    EXPECT_EQ(cluster.gpus.gpu.name, "a100-80g-sxm");
    EXPECT_EQ(cluster.gpus.nodes, 8);
    EXPECT_EQ(cluster.gpus.nic_gbit_per_gpu, 0);
    EXPECT_THAT(cluster.taken,
                ElementsAre("nodes of 8 GPUs: --gpus-per-node and --nodes say otherwise",
                            "8 cores a GPU: cores of a node are not known"));
    request.gpus = 1024;
    EXPECT_THAT(refusal(request), HasSubstr("cluster.yaml has 16 such nodes"));
}

TEST(NamedCluster, WithoutATopologyOptionsSayAll) {
    NamedCluster const cluster = cluster_of(
        {.gpus = 16, .gpus_per_node = 4, .gpu = "NVIDIA A100-SXM4-40GB", .nic_gbit = 100});
    EXPECT_EQ(cluster.gpus.gpu.name, "a100-40g-sxm");
    EXPECT_EQ(cluster.gpus.nodes, 4);
    EXPECT_EQ(cluster.gpus.nic_gbit_per_gpu, 100);
    EXPECT_EQ(cluster.memory_bytes, 0);
    EXPECT_THAT(cluster_of({.gpus = 8, .gpu = "v100"}).taken.front(),
                HasSubstr("v100-32g-sxm has no units for bf16: fp16, unless"));
    EXPECT_EQ(cluster_of({.gpus = 8, .gpu = "gb200"}).gpus.gpus_per_node, 4);
    EXPECT_THAT(refusal({.gpus = 8, .gpu = "h10"}), HasSubstr("nearest valid: h20"));
    EXPECT_THAT(refusal({.gpus = 8, .gpu = "cpu"}), HasSubstr("is no GPU"));
}

TEST(NamedCluster, AnUnknownBoardNeedsAName) {
    auto request = of_topology(8, "node:1 gpu:8 model:t4");
    EXPECT_THAT(refusal(request), HasSubstr("cluster.yaml: its GPU \"Tesla T4\" is not known; "));
    EXPECT_THAT(refusal(request), HasSubstr("; --gpu names one"));
}

TEST(NamedCluster, AnotherGpuThanTheTopologysIsSaid) {
    auto request = of_topology(8);
    request.gpu = "h200";
    NamedCluster const cluster = cluster_of(request);
    EXPECT_EQ(cluster.gpus.gpu.name, "h200-141g-sxm");
    EXPECT_EQ(cluster.memory_bytes, 0);
    EXPECT_THAT(cluster.taken, ElementsAre("h200-141g-sxm in the place of the NVIDIA H100 80GB "
                                           "HBM3 that cluster.yaml names: --gpu"));
    request.gpu = "h100";
    EXPECT_THAT(cluster_of(request).taken, IsEmpty());
}

TEST(NamedCluster, MostNodesDecide) {
    auto request = of_topology(8);
    request.topology.machines.resize(5);
    request.topology.fabric = {};
    request.topology.machines[0].gpus.clear();
    request.topology.machines[1].gpus.resize(4);
    request.gpus = 24;
    EXPECT_EQ(cluster_of(request).gpus.nodes, 3);
    EXPECT_THAT(cluster_of(request).taken.front(),
                HasSubstr("the 3 nodes of cluster.yaml with 8 GPUs each; 2 left out"));
    request.gpus = 32;
    EXPECT_THAT(refusal(request), HasSubstr("has 3 such nodes; nearest valid: 24"));
}

}  // namespace
}  // namespace osora::plan
