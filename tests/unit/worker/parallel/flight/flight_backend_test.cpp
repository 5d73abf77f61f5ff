// What a rank asks of c10d comes into its recorder, with Gloo between threads.
#include "worker/parallel/flight/flight_backend.hpp"

#include "protocol/flight/flight_analysis.hpp"
#include "tests/unit/worker/parallel/ranks.hpp"
#include "worker/parallel/on_any_rank.hpp"
#include "worker/parallel/rank_groups.hpp"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <latch>

namespace osora::worker {
namespace {

using protocol::CollectiveState;
using protocol::FlightDump;
using testing::ElementsAre;
using testing::HasSubstr;

/// body(group) as each of `ranks` threads, that of rank r with a recorder; their dumps.
std::vector<FlightDump> dumps_of(int ranks, double timeout_s,
                                 std::function<void(Group const&)> const& body) {
    allow_ranks_as_threads();
    auto const store = c10::make_intrusive<c10d::HashStore>();
    std::vector<FlightDump> dumps(static_cast<std::size_t>(ranks));
    {
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < ranks; ++rank)
            threads.emplace_back([&, rank] {
                auto const recorder = std::make_shared<FlightRecorder>();
                GroupConfig config;
                config.rank = rank;
                config.world_size = ranks;
                config.timeout_s = timeout_s;
                config.flight = recorder;
                recorder->at_step(3);
                body(join_gloo_group(store, config).value());
                auto& dump = dumps[static_cast<std::size_t>(rank)];
                dump = recorder->dump();
                dump.rank = rank;
            });
    }
    return dumps;
}

TEST(FlightBackend, CollectivesAndPairsAreCountedByGroup) {
    auto const dumps = dumps_of(4, 30, [](Group const& all) {
        auto const groups = split_ranks(all, {.pp_size = 2});
        ASSERT_TRUE(groups.has_value());
        std::vector<at::Tensor> ones{at::ones({4})};
        all.backend().allreduce(ones)->wait();
        EXPECT_EQ(ones[0].sum().item<float>(), 16);
        ASSERT_TRUE(on_any_rank(all, false).has_value());
        if (all.rank() < 2)
            groups->stages->send_forward(at::ones({8}));
        else
            groups->stages->receive_forward(at::ones({8}));
        all.backend().barrier()->wait();
        groups->stages->begin_step();  // waits for what was sent
    });
    for (FlightDump const& dump : dumps) {
        SCOPED_TRACE(dump.rank);
        ASSERT_EQ(dump.records.size(), 4u);
        for (auto const& each : dump.records) EXPECT_EQ(each.state, CollectiveState::finished);
        EXPECT_EQ(dump.channels[0].name, "all gloo");
        EXPECT_THAT(dump.channels[0].ranks, ElementsAre(0, 1, 2, 3));
        EXPECT_EQ(dump.channels[0].finished, 3);
        EXPECT_EQ(dump.records[0].operation, "all_reduce");
        EXPECT_EQ(dump.records[0].bytes, 16);
        EXPECT_EQ(dump.records[0].dtype, "Float");
        EXPECT_EQ(dump.records[0].step, 3);
        EXPECT_EQ(dump.records[1].label, "vote of ranks");
        bool const sends = dump.rank < 2;
        int const from = dump.rank % 2;
        auto const& pair = dump.channels[static_cast<std::size_t>(dump.records[2].channel)];
        EXPECT_EQ(dump.records[2].operation, sends ? "send" : "recv");
        EXPECT_THAT(pair.name, HasSubstr(sends || from == 0 ? std::to_string(from) + ">" : "1>3"));
        EXPECT_THAT(pair.ranks, ElementsAre(from, from + 2));
    }
    EXPECT_EQ(protocol::find_stall(dumps), std::nullopt);
}

TEST(FlightBackend, ARankThatDoesNotComeIsNamed) {
    std::latch given_up(2);
    auto const dumps = dumps_of(3, 1, [&](Group const& all) {
        all.backend().barrier()->wait();
        if (all.rank() == 1) return given_up.wait();  // with its connections open
        FlightRecorder::Label const label("gradients");
        std::vector<at::Tensor> ones{at::ones({4})};
        EXPECT_ANY_THROW(all.backend().allreduce(ones)->wait());
        given_up.count_down();
    });
    auto const finding = protocol::find_stall(dumps);
    ASSERT_TRUE(finding);
    EXPECT_THAT(protocol::describe(*finding),
                HasSubstr("rank 1 did not reach gradients all_reduce #2 of all gloo in step 3 "
                          "(started by ranks 0, 2); last finished barrier #1 of all gloo"));
}

}  // namespace
}  // namespace osora::worker
