#include "plan/network/group_network.hpp"
#include "plan/step_communication.hpp"
#include "plan/step_time.hpp"

#include <gtest/gtest.h>

namespace osora::plan {
namespace {

using topology::Collective;
using topology::GroupShape;

/// `start_s` and 1 / `bytes_per_s` for each byte.
CollectiveCurve line(double start_s, double bytes_per_s) {
    return CollectiveCurve::nominal([=](double bytes) { return start_s + bytes / bytes_per_s; },
                                    "line");
}

TEST(GroupPlace, NeighboursFillANodeFirst) {
    struct Row {
        int size, stride, on_node, nodes, at_once;
    };
    for (Row const& row : {Row{8, 1, 8, 1, 1},   // one node
                           Row{16, 1, 8, 2, 1},  // a ring over two nodes leaves each once
                           Row{4, 2, 8, 1, 2},   // 0 2 4 6 on one node
                           Row{8, 2, 8, 2, 2},   // 0 2 .. 14; 1 3 .. 15 share the cards with it
                           Row{4, 8, 8, 4, 8},   // a rank on each of four nodes, eight such groups
                           Row{2, 16, 8, 2, 8},  // far apart
                           Row{2, 1, 1, 2, 1},   // a rank a node
                           Row{64, 1, 0, 1, 1}}) {  // all on one node
        GroupPlace const place = group_place(row.size, row.stride, row.on_node);
        EXPECT_EQ(place.shape, (GroupShape{row.size, row.nodes})) << row.size << " " << row.stride;
        EXPECT_EQ(place.at_once, row.at_once) << row.size << " " << row.stride;
    }
}

TEST(GroupNetwork, MeasuredGroupsCountAndShareTheirNodesLinks) {
    GroupShape const all{16, 2}, pairs{2, 2};
    GroupNetwork network(line(1e-3, 1e9), all);
    network.add(Collective::all_reduce, pairs, line(2e-3, 2e9));
    network.add(Collective::all_gather, pairs, line(5e-4, 4e9));
    network.add(Collective::all_to_all, pairs, line(5e-4, 2.5e9));
    EXPECT_NEAR(network.seconds(Collective::all_reduce, {all, 1}, 1e9), 1.001, 1e-3);
    EXPECT_NEAR(network.seconds(Collective::all_reduce, {pairs, 1}, 1e9), 0.502, 1e-3);
    EXPECT_NEAR(network.seconds(Collective::all_reduce, {pairs, 8}, 1e9), 4.002, 5e-3)
        << "eight at once";
    EXPECT_NEAR(network.seconds(Collective::all_gather, {pairs, 1}, 1e9), 0.2505, 1e-3);
    EXPECT_NEAR(network.seconds(Collective::all_to_all, {pairs, 1}, 1e9), 0.4005, 1e-3);
    EXPECT_NEAR(network.seconds(Collective::reduce_scatter, {pairs, 1}, 1e9), 0.2505, 1e-3)
        << "as all_gather";
    EXPECT_NEAR(network.seconds(Collective::all_gather, {all, 1}, 1e9), 0.5005, 1e-3)
        << "half of an all_reduce";
    EXPECT_NEAR(network.hop_s({pairs, 1}, 5e8), 0.4005, 1e-3) << "all_to_all keeps half";
    EXPECT_NEAR(network.hop_s({pairs, 8}, 5e8), 3.2005, 1e-3) << "eight at once";
}

TEST(GroupNetwork, OthersAreRingsOverTheSameLinks) {
    // Sixteen ranks send 2 * 15 / 16 of the bytes at 1.875 GB/s.
    GroupNetwork const network(line(0, 1e9), {16, 2});
    auto const all_reduce_s = [&](GroupPlace const& place) {
        return network.seconds(Collective::all_reduce, place, 1e9);
    };
    EXPECT_NEAR(all_reduce_s({{2, 2}, 1}), 1e9 / 1.875e9, 1e-3);
    EXPECT_NEAR(all_reduce_s({{4, 2}, 3}), 3 * 1.5e9 / 1.875e9, 1e-2);
    EXPECT_NEAR(network.hop_s({{2, 2}, 8}, 1e6), 8e6 / 1.875e9, 1e-4);
}

/// Two nodes of a rank, a microsecond a byte.
StepQuery across(GroupNetwork const& network) {
    StepQuery query{.shape = model_shape("stdit3-tiny").value(), .bucket = {40, 96, 8}};
    query.micro_batch_size = 8;
    query.ranks_per_node = 1;
    query.network = &network;
    query.overlap = false;
    return query;
}

// Bytes that runs on two nodes counted (`osora report`): "gradients all_reduce" 2,972,736 with sp 2
// and 598,080 with tp 2, whose ranks have slices of all large weights; "tokens all_to_all"
// 48,758,784 and "all_gather" 3,047,424; "layers all_gather" and "all_to_all" together 295,600,144,
// where a step has clips of 3 % more tokens on average.
TEST(GroupNetwork, StepsMoveTheBytesThatRunsCounted) {
    GroupNetwork network(line(0, 1e6), {2, 2});
    network.add(Collective::all_gather, {2, 2}, line(0, 1e6));
    StepQuery query = across(network);
    Calibration const c = nominal_cpu();
    query.sp_size = 2;
    double const of_gradients = exposed_comm_s(query, c, 0);
    EXPECT_NEAR(of_gradients, 2.972736, 0.02);
    EXPECT_NEAR(step_time(query, c).exposed_comm_s - of_gradients, 51.81, 0.05 * 51.81);
    query.sp_size = 1;
    query.tp_size = 2;
    EXPECT_NEAR(exposed_comm_s(query, c, 0), 0.598080, 0.02);
    EXPECT_NEAR(step_time(query, c).exposed_comm_s, 295.6 + 0.6, 0.05 * 295.6);
}

// Two nodes of one rank at 1e6 bytes/s, stdit3-tiny on 64 tokens a frame of two: 2 layers whose
// keys and values arrive twice, and whose gradients once.
TEST(GroupNetwork, ARingSendsWhatAttentionDoesNotHide) {
    GroupNetwork network(line(0, 1e6), {2, 2});
    StepQuery query = across(network);
    Calibration c = nominal_cpu();
    query.sp_size = 2;
    query.dp_size = 1;
    query.sp_kind = SpKind::ring;
    auto const exchange_s = [&] {
        return step_time(query, c).exposed_comm_s - exposed_comm_s(query, c, 0);
    };
    double const ring_s = exchange_s();
    for (auto& row : c.matmul) row.gflops *= 1e-5;
    double const hidden_s = exchange_s();
    EXPECT_LT(hidden_s, 0.9 * ring_s) << "slow attention hides transfers";
    EXPECT_GT(hidden_s, 0.3 * ring_s) << "but not of the last gradients";
    query.sp_kind = SpKind::ulysses;
    EXPECT_GT(exchange_s(), 0);
}
TEST(GroupNetwork, AttentionThatRunsAgainExchangesItsTokensAgain) {
    GroupNetwork const network(line(0, 1e6), {2, 2});
    StepQuery query = across(network);
    Calibration const c = nominal_cpu();
    query.sp_size = 2;
    query.dp_size = 1;
    auto const with = [&](char const* recompute) {
        query.activations.recompute = recompute;
        return token_exchange_s(query, c);
    };
    double const once_s = with("none");
    double const gather_s = 3 * once_s - 2 * with("full");  // 4 exchanges become 6
    EXPECT_GT(gather_s, 0);
    EXPECT_LT(gather_s, once_s / 4);
    EXPECT_DOUBLE_EQ(with("selective"), with("full"));
    EXPECT_GT(with("1"), once_s);
    EXPECT_LT(with("1"), with("full"));
}

// Exchanges of tokens and the sums of shared layers are all_to_all; so are the sums of ZeRO on CPU
// ranks, and reduce_scatter on GPUs.
TEST(GroupNetwork, EachCollectiveOfAStepHasItsCost) {
    GroupNetwork network(line(0, 1e9), {2, 2});
    Calibration const c = nominal_cpu();
    StepQuery query = across(network);
    auto const added_s = [&](Collective collective) {
        GroupNetwork other = network;
        other.add(Collective::all_gather, {2, 2}, line(0, 2e9));  // as half of an all_reduce
        double const before = step_time(query, c).exposed_comm_s;
        other.add(collective, {2, 2}, line(0, 1e9));  // twice as long
        StepQuery changed = query;
        changed.network = &other;
        return (step_time(changed, c).exposed_comm_s - before) / before;
    };
    query.sp_size = 2;
    EXPECT_GT(added_s(Collective::all_to_all), 0.8);
    EXPECT_NEAR(added_s(Collective::reduce_scatter), 0, 1e-9);
    query.sp_size = 1;
    query.tp_size = 2;
    EXPECT_NEAR(added_s(Collective::all_to_all), 0.5, 0.02) << "half of them are all_gather";
    EXPECT_NEAR(added_s(Collective::all_gather), 0.98, 0.05) << "the exchanges take its time";
    query.tp_size = 1;
    query.dp_size = 2;
    query.zero_stage = 2;
    EXPECT_NEAR(added_s(Collective::all_to_all), 0.5, 0.02);
    EXPECT_NEAR(added_s(Collective::reduce_scatter), 0, 1e-9);
    query.gpu = true;
    EXPECT_NEAR(added_s(Collective::all_to_all), 0, 1e-9);
    EXPECT_NEAR(added_s(Collective::reduce_scatter), 0.5, 0.02);
}

// Two nodes of two ranks that share one copy each: a run counted 1,486,368 bytes of "copied
// gradients all_reduce" a step, and both pairs share the links. Nothing else leaves the nodes.
TEST(GroupNetwork, CopiesOnNodesExchangeTheirPartsOfTheGradients) {
    GroupNetwork network(line(0, 1e6), {4, 2});
    network.add(Collective::all_reduce, {2, 2}, line(0, 1e6));
    StepQuery query = across(network);
    query.ranks_per_node = 2;
    query.dp_size = 4;
    query.zero_stage = 3;
    query.shard_size = 2;
    Calibration const c = nominal_cpu();
    EXPECT_NEAR(exposed_comm_s(query, c, 0), 2 * 1.486368, 0.05);
    query.grad_accum_steps = 3;
    EXPECT_NEAR(exposed_comm_s(query, c, 0), 2 * 1.486368, 0.1) << "once a step";
    query.shard_size = 0;
    EXPECT_GT(exposed_comm_s(query, c, 0), 3 * 3 * 2.97 / 2) << "gathers leave the nodes";
}

// Within a node nothing of that changes: the links of the node count.
TEST(GroupNetwork, GroupsOfANodeDoNotUseIt) {
    GroupNetwork const slow(line(1, 1), {4, 2});
    StepQuery query = across(slow);
    query.ranks_per_node = 2;
    query.tp_size = 2;
    query.dp_size = 2;
    Calibration const c = nominal_cpu();
    StepTime const whole = step_time(query, c);
    double const of_gradients = exposed_comm_s(query, c, 0);
    EXPECT_GT(of_gradients, 1e5) << "replicas are on other nodes";
    EXPECT_LT(whole.exposed_comm_s - of_gradients, 1) << "tp is inside one";
}

}  // namespace
}  // namespace osora::plan
