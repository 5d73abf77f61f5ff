// NCCL's cost model against what NCCL itself printed: golden rows of 2.30.7, a real log of 2.27.5.
#include "topology/nccl/nccl_model.hpp"

#include "tests/unit/topology/nccl/nccl_data.hpp"
#include "topology/nccl/nccl_graphs.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <map>

namespace osora::topology {
namespace {

using testing::HasSubstr;

std::string key_of(NcclGroup const& group, NcclCost const& cost) {
    return fmt::format("{},{},{},{},{},{}", group.topology, group.shape.nodes, group.shape.ranks,
                       nccl_name(cost.collective), algo_name(cost.algo), proto_name(cost.proto));
}

TEST(NcclModel, GivesEveryRowThatNcclGave) {
    auto const groups = parse_nccl_graphs(nccl_data("model_graphs.csv"));
    ASSERT_TRUE(groups.has_value());
    auto const constants = nccl_constants();
    std::string const text = nccl_data("model_golden.csv");
    auto golden = CsvTable::open(text, {}).value();
    std::size_t rows = 0;
    for (NcclGroup const& group : *groups) {
        for (NcclCost const& cost : nccl_costs(group, constants)) {
            ASSERT_TRUE(next_row(golden)) << key_of(group, cost);
            std::string key(golden.text("topo"));
            for (auto const* column : {"nNodes", "nRanks", "coll", "algo", "proto"}) {
                key += ",";
                key += golden.text(column);
            }
            ASSERT_EQ(key_of(group, cost), key);
            EXPECT_NEAR(cost.latency_us, number_in(golden, "latency_us"), 1e-3) << key;
            double const bandwidth = number_in(golden, "algobw_GBps");
            EXPECT_NEAR(cost.algbw_gbps, bandwidth, 3e-4 * bandwidth) << key;
            for (std::int64_t size = 1 << 10; size <= 1 << 30; size *= 4) {
                double const time = number_in(golden, fmt::format("t_us_{}", size));
                EXPECT_NEAR(nccl_time_us(group, cost, size), time, 1e-3 * time) << key << size;
            }
            ++rows;
        }
    }
    EXPECT_FALSE(next_row(golden));
    EXPECT_EQ(rows, 592u);
}

NcclGroup h100_with(int nodes, int per_node) {
    auto const groups = parse_nccl_graphs(nccl_data("model_graphs.csv")).value();
    for (NcclGroup group : groups) {
        if (group.topology != "h100_8x400" || group.shape.nodes != nodes) continue;
        group.shape.ranks = nodes * per_node;
        return group;
    }
    ADD_FAILURE();
    return {};
}

TEST(NcclModel, AgreesWithARealLogOfOlderConstants) {
    auto const constants = nccl_constants(parse_nccl_version("2.27.5").value());
    std::string const text = nccl_data("h100_tuning_log_2.27.5.csv");
    auto log = CsvTable::open(text, {}).value();
    int latencies = 0, bandwidths = 0;
    while (next_row(log)) {
        int const per_node = static_cast<int>(number_in(log, "ppn"));
        NcclGroup const group = h100_with(static_cast<int>(number_in(log, "nNodes")), per_node);
        bool found = false;
        for (NcclCost const& cost : nccl_costs(group, constants)) {
            if (nccl_name(cost.collective) != log.text("coll") ||
                algo_name(cost.algo) != log.text("algo") ||
                proto_name(cost.proto) != log.text("proto")) {
                continue;
            }
            found = true;
            // The log rounds to 0.1; latencies do not depend on the channels.
            EXPECT_NEAR(cost.latency_us, number_in(log, "latency_us"), 0.0501) << log.line();
            ++latencies;
            if (per_node != 8 || cost.algo == NcclAlgo::nvls_tree) continue;
            EXPECT_NEAR(cost.algbw_gbps, number_in(log, "algobw_GBps"), 0.0501) << log.line();
            ++bandwidths;
        }
        EXPECT_TRUE(found) << log.line();
    }
    EXPECT_EQ(latencies, 190);
    EXPECT_EQ(bandwidths, 45);
}

TEST(NcclModel, ChoosesTheFastestAndSaysWhy) {
    NcclGroup const group = h100_with(16, 8);
    auto const ranking = nccl_ranking(group, nccl_constants(), Collective::all_reduce, 32 << 20);
    ASSERT_EQ(ranking.size(), 7u);
    for (std::size_t i = 1; i < ranking.size(); ++i) {
        EXPECT_LE(ranking[i - 1].time_us, ranking[i].time_us);
    }
    EXPECT_THAT(explain(ranking), HasSubstr("NVLSTree/Simple 375 us; next Tree/LL128 478 us"));
    EXPECT_EQ(explain({}), "");
    EXPECT_TRUE(nccl_ranking(group, nccl_constants(), Collective::all_to_all, 1 << 20).empty());
}

NcclGraph graph(int channels, double gbps) {
    return {.pattern = 4,
            .channels = channels,
            .intra_gbps = gbps,
            .inter_gbps = gbps,
            .intra = NcclPath::nvl,
            .inter = NcclPath::pix};
}

TEST(NcclModel, CollnetAndPatFollowTheEquations) {
    NcclGroup group;
    group.shape = {32, 4};
    group.channels = 16;
    group.ring = group.tree = graph(8, 20);
    group.nvls = graph(8, 20);
    group.collnet_direct = group.collnet_chain = graph(8, 20);
    std::map<std::string, NcclCost> costs;
    for (auto const& cost : nccl_costs(group, nccl_constants())) costs[key_of(group, cost)] = cost;
    // Written out from the equations of RFC 006, not by the code under test.
    auto const& direct = costs.at(",4,32,AllReduce,CollNetDirect,Simple");
    EXPECT_NEAR(direct.latency_us, 2 * (3.7 + 7 * 0.4) + 31, 1e-9);
    EXPECT_NEAR(direct.algbw_gbps, 160 * 0.85 * 0.5, 1e-9);
    auto const& chain = costs.at(",4,32,AllReduce,CollNetChain,Simple");
    EXPECT_NEAR(chain.latency_us, 2 * 7 * 2.8 + 30, 1e-9);
    EXPECT_NEAR(chain.algbw_gbps, 80, 1e-9);
    EXPECT_NEAR(costs.at(",4,32,AllGather,CollNetDirect,Simple").algbw_gbps, 8 * 18, 1e-9);
    EXPECT_NEAR(costs.at(",4,32,AllReduce,NVLS,Simple").latency_us, 25 + 18, 1e-9);
    EXPECT_FALSE(costs.contains(",4,32,AllGather,PAT,Simple"));

    group.shape = {8, 8};
    costs.clear();
    for (auto const& cost : nccl_costs(group, nccl_constants())) costs[key_of(group, cost)] = cost;
    auto const& pat = costs.at(",8,8,AllGather,PAT,Simple");
    EXPECT_NEAR(pat.latency_us, 8 + 3 * 14 / 3.5 + 8 * 2.8, 1e-9);
    EXPECT_NEAR(pat.algbw_gbps, 8 * 20 * 0.75, 1e-9);
}

TEST(NcclModel, Ll128NeedsNearPathsAndNewGpus) {
    auto const has_ll128 = [](NcclPath intra, NcclPath inter, int capability) {
        NcclGroup group;
        group.shape = {16, 2};
        group.channels = 2;
        group.min_compute_capability = capability;
        group.ring = graph(1, 10);
        group.ring->intra = intra;
        group.ring->inter = inter;
        auto const costs = nccl_costs(group, nccl_constants());
        return std::ranges::any_of(costs,
                                   [](auto const& c) { return c.proto == NcclProto::ll128; });
    };
    EXPECT_TRUE(has_ll128(NcclPath::nvl, NcclPath::pxb, 80));
    EXPECT_FALSE(has_ll128(NcclPath::nvl, NcclPath::pxn, 80));
    EXPECT_TRUE(has_ll128(NcclPath::nvl, NcclPath::pxn, 90));
    EXPECT_FALSE(has_ll128(NcclPath::nvl, NcclPath::phb, 90));
    EXPECT_FALSE(has_ll128(NcclPath::pix, NcclPath::pix, 90));
    EXPECT_FALSE(has_ll128(NcclPath::nvl, NcclPath::pix, 60));
}

TEST(NcclConstants, KnowWhatChangedBetweenVersions) {
    auto const tree_simple = [](std::string const& version) {
        return nccl_constants(parse_nccl_version(version).value())
            .hardware_latency_us[static_cast<std::size_t>(NcclHardware::pci)][0][2];
    };
    EXPECT_EQ(tree_simple("2.19.3"), 6);
    EXPECT_EQ(tree_simple("2.21.5"), 28);
    EXPECT_EQ(tree_simple("2.30.7"), 4);
    EXPECT_EQ(describe(parse_nccl_version("v2.27.5-1+cuda12.4").value()), "2.27.5");
    EXPECT_EQ(describe(parse_nccl_version("2.28").value()), "2.28.0");
    for (auto const* bad : {"", "2", "3.0.1", "2.4.8", "2.x", "2.30.7.1", "2.-30.7", "latest"}) {
        EXPECT_TRUE(parse_nccl_version(bad).has_error()) << bad;
    }
}

struct BadGraphs {
    std::string row, why;
};

TEST(NcclGraphs, ErrorsNameTheLineAndTheColumn) {
    std::string const header =
        "topo,nNodes,nRanks,cpuArch,cpuVendor,minCompCap,graph,pattern,nChannels,bwIntra_GBps,"
        "bwInter_GBps,typeIntra,typeInter,sameChannels,commChannels\n";
    std::string const good = "x,1,8,1,2,80,ring,4,12,20.00,20.00,NVL,PIX,1,24\n";
    ASSERT_TRUE(parse_nccl_graphs(header + good).has_value());
    std::vector<BadGraphs> const cases{
        {"x,0,8,1,2,80,tree,4,12,20,20,NVL,PIX,1,24\n", "line 3: nNodes = 0"},
        {"x,9,8,1,2,80,tree,4,12,20,20,NVL,PIX,1,24\n", "line 3: 9 nodes for 8 ranks"},
        {"x,1,8,1,2,80,rnig,4,12,20,20,NVL,PIX,1,24\n", "nearest: ring"},
        {"x,1,8,1,2,80,ring,4,12,20,21,NVL,PIX,1,24\n", "line 3: graph 'ring' is listed twice"},
        {"x,1,8,1,2,80,tree,4,12,nan,20,NVL,PIX,1,24\n", "bwIntra_GBps"},
        {"x,1,8,1,2,80,tree,4,12,-1,20,NVL,PIX,1,24\n", "bwIntra_GBps"},
        {"x,1,8,1,2,80,tree,4,12,20,1e999,NVL,PIX,1,24\n", "bwInter_GBps"},
        {"x,1,8,1,2,80,tree,4,12,20,20,FAR,PIX,1,24\n", "typeIntra"},
        {"x,1,8,1,2,90,tree,4,12,20,20,NVL,PIX,1,24\n", "differ from an earlier row"},
        {"x,1,8,1,2,80,tree,4,1.5,20,20,NVL,PIX,1,24\n", "not a whole number"},
        {"x,1,8\n", "line 3: 3 fields, the header has 15"}};
    for (auto const& [row, why] : cases) {
        auto const parsed = parse_nccl_graphs(header + good + row);
        ASSERT_TRUE(parsed.has_error()) << row;
        EXPECT_THAT(parsed.error().message, HasSubstr(why));
    }
    auto const twice = parse_nccl_graphs(header + good + good);
    ASSERT_TRUE(twice.has_value()) << twice.error().message;
    EXPECT_EQ(twice->size(), 1u);
    EXPECT_THAT(parse_nccl_graphs("").error().message, HasSubstr("empty"));
    EXPECT_THAT(parse_nccl_graphs("topo,nNodes\n").error().message, HasSubstr("no column"));
}

}  // namespace
}  // namespace osora::topology
