// Numbers that no run reaches: they are named, and the folded values stay computable.
#include "protocol/journal/event_limits.hpp"
#include "protocol/run_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace osora::protocol {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

constexpr int kHuge = std::numeric_limits<int>::max(), kTiny = std::numeric_limits<int>::min();

RunSubmitted submitted(int nodes, int ranks_per_node) {
    RunSubmitted event;
    event.nodes = nodes;
    event.ranks_per_node = ranks_per_node;
    return event;
}

TEST(EventLimits, NameTheNumberAndWhatIsExpected) {
    EXPECT_EQ(problem_of(submitted(65536, 1024)), "");
    EXPECT_EQ(problem_of(submitted(2'000'000'000, 2'000'000'000)),
              "submitted: nodes is 2000000000, expected 1 to 65536");
    EXPECT_EQ(problem_of(submitted(1, 0)), "submitted: ranks_per_node is 0, expected 1 to 1024");
    EXPECT_EQ(problem_of(RunNotice{}), "");
    ControllerStarted started;
    started.incarnation = kHuge;
    EXPECT_THAT(problem_of(started), HasSubstr("controller: incarnation is 2147483647"));
}

TEST(EventLimits, LeaveTheRestOfAnEvent) {
    auto event = submitted(kTiny, 8);
    event.run_name = "tiny";
    auto const rest = std::get<RunSubmitted>(limited(event));
    EXPECT_EQ(rest.nodes, 1);
    EXPECT_EQ(rest.ranks_per_node, 8);
    EXPECT_EQ(rest.run_name, "tiny");
    MergedSteps steps;
    steps.step0 = kHuge;
    steps.ranks = {1};
    EXPECT_TRUE(std::get<MergedSteps>(limited(steps)).ranks.empty());
    EXPECT_EQ(problem_of(limited(steps)), "");
}

TEST(EventLimits, AViewOfNonsenseHoldsNoNonsenseAndSaysSo) {
    RunView view;
    fold(view, {0, 1, submitted(2'000'000'000, 2'000'000'000)});
    EXPECT_EQ(view.nodes, 1);
    EXPECT_EQ(view.ranks_per_node, 1);
    EXPECT_EQ(view.records, 1u);
    EXPECT_THAT(view.notices,
                ElementsAre(Field(&RunNotice::detail, HasSubstr("nodes is 2000000000"))));
}

/// Every number at its limits, in any order; the undefined behaviour sanitizer checks it.
TEST(EventLimits, NoNumberOverflows) {
    for (int const number : {kHuge, kTiny, kHuge - 1, 1'000'000'000, -1}) {
        RunView view;
        std::uint64_t sequence = 0;
        auto add = [&](RunEvent event) { fold(view, {sequence++, 1, std::move(event)}); };
        add(submitted(2, 4));
        add(PlanChosen{});
        ControllerStarted started;
        started.incarnation = number;
        add(started);
        for (int node = 0; node < 2; ++node) {
            AgentJoined joined;
            joined.node = node;
            add(joined);
        }
        add(LaunchOrdered{0, 8, "h", 1});
        RankStarted rank;
        rank.node = rank.rank = rank.start_step = number;
        add(rank);
        rank.node = 1;
        add(rank);
        RunSubmitted again = submitted(number, number);
        again.steps = number;
        add(again);
        MergedSteps steps;
        steps.step0 = number;
        steps.ranks = steps.samples = {number, number};
        steps.bucket = {"8x8x1", "8x8x1"};
        add(steps);
        steps.step0 = 7;
        steps.ranks = {8, 8};
        for (int i = 0; i < 3; ++i) add(steps);
        CheckpointCompleted saved;
        saved.step = number;
        add(saved);
        EXPECT_LE(view.nodes * view.ranks_per_node, 8);
    }
}

}  // namespace
}  // namespace osora::protocol
