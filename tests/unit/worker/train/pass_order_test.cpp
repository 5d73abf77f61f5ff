#include "worker/train/pass_order.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <tuple>

namespace osora::worker {
namespace {

/// Stages that make their passes one after another, each as soon as what it waits for has come,
/// `message_time` after it was sent; what goes from one to another is received in the order in
/// which it was sent.
class Simulation {
public:
    Simulation(Pipeline const& of, std::int64_t micro_batches, double message_time = 0)
        : of_(of), message_time_(message_time), at_(static_cast<std::size_t>(of.stages)) {
        for (int i = 0; i < of.stages; ++i) orders_.push_back(pass_order(of, i, micro_batches));
        free_.resize(orders_.size());
        held_.resize(orders_.size());
        most_held_.resize(orders_.size());
    }
    /// Time until all passes are made, a pass of a virtual stage takes 1 forward and 2 back;
    /// none: stages wait for each other.
    std::optional<double> run() {
        bool moved = true;
        while (std::exchange(moved, false)) {
            for (std::size_t stage = 0; stage < orders_.size(); ++stage)
                while (at_[stage] < orders_[stage].size() && make(stage)) moved = true;
        }
        for (std::size_t i = 0; i < orders_.size(); ++i)
            if (at_[i] < orders_[i].size()) return {};
        return *std::ranges::max_element(free_);
    }
    [[nodiscard]] std::int64_t most_held(std::size_t stage) const { return most_held_[stage]; }

private:
    struct Message {
        StagePass pass;
        double time;
    };
    using Link = std::tuple<bool, std::size_t, std::size_t>;  // forward, from, to

    bool make(std::size_t stage) {
        StagePass const& pass = orders_[stage][at_[stage]];
        std::size_t const all = orders_.size();
        std::size_t const run = static_cast<std::size_t>(pass.virtual_stage) * all + stage;
        std::size_t const runs = all * static_cast<std::size_t>(of_.virtual_stages);
        double start = free_[stage];
        bool const receives = pass.forward ? run > 0 : run + 1 < runs;
        if (receives) {
            std::size_t const from = (stage + (pass.forward ? all - 1 : 1)) % all;
            auto& waiting = links_[{pass.forward, from, stage}];
            if (waiting.empty()) return false;
            EXPECT_EQ(waiting.front().pass.micro_batch, pass.micro_batch);
            EXPECT_EQ(waiting.front().pass.virtual_stage, pass.virtual_stage);
            start = std::max(start, waiting.front().time);
            waiting.pop_front();
        }
        double const end = free_[stage] = start + (pass.forward ? 1 : 2);
        held_[stage] += pass.forward ? 1 : -1;
        most_held_[stage] = std::max(most_held_[stage], held_[stage]);
        bool const sends = pass.forward ? run + 1 < runs : run > 0;
        if (sends) {
            std::size_t const to = (stage + (pass.forward ? 1 : all - 1)) % all;
            StagePass next = pass;
            if (pass.forward && to == 0) ++next.virtual_stage;
            if (!pass.forward && stage == 0) --next.virtual_stage;
            links_[{pass.forward, stage, to}].push_back({next, end + message_time_});
        }
        ++at_[stage];
        return true;
    }

    Pipeline of_;
    double message_time_;
    std::vector<std::vector<StagePass>> orders_;
    std::vector<std::size_t> at_;
    std::vector<double> free_;
    std::vector<std::int64_t> held_, most_held_;
    std::map<Link, std::deque<Message>> links_;
};

TEST(PassOrder, OneStageTakesTurns) {
    auto const order = pass_order({}, 0, 2);
    EXPECT_EQ(order,
              (std::vector<StagePass>{{true, 0, 0}, {false, 0, 0}, {true, 0, 1}, {false, 0, 1}}));
}

void expect_every_pass_once(Pipeline const& of, std::int64_t count) {
    SCOPED_TRACE(fmt::format("{} stages x {}, {} micro-batches, eager {}", of.stages,
                             of.virtual_stages, count, of.eager));
    for (int stage = 0; stage < of.stages; ++stage) {
        auto order = pass_order(of, stage, count);
        EXPECT_EQ(static_cast<std::int64_t>(order.size()), 2 * of.virtual_stages * count);
        std::map<std::pair<int, std::int64_t>, std::array<int, 2>> times;
        for (StagePass const& pass : order) {
            auto& found = times[{pass.virtual_stage, pass.micro_batch}];
            ++found[pass.forward ? 0 : 1];
            EXPECT_LE(found[1], found[0]) << "backward before forward";
        }
        EXPECT_EQ(static_cast<std::int64_t>(times.size()), of.virtual_stages * count);
    }
    EXPECT_TRUE(Simulation(of, count).run().has_value());
}

TEST(PassOrder, EveryPassOnceAndNoStageWaitsForever) {
    for (int stages = 1; stages <= 6; ++stages)
        for (std::int64_t count = 1; count <= 13; ++count) {
            for (int runs = 1; runs <= (stages == 1 ? 1 : 4); ++runs)
                expect_every_pass_once({stages, runs}, count);
            expect_every_pass_once({stages, 1, true}, count);
        }
}

// arXiv 2104.04473, 2.2: the bubble is (p - 1) / (v m) of the work.
TEST(PassOrder, TheBubbleIsThatOfThePaper) {
    for (int stages : {2, 4})
        for (int runs : {1, 2, 4}) {
            std::int64_t const count = 4 * stages;
            double const work = 3.0 * runs * static_cast<double>(count);
            double const time = Simulation({stages, runs}, count).run().value();
            EXPECT_DOUBLE_EQ(time - work, 3.0 * (stages - 1)) << stages << " x " << runs;
        }
}

// In virtual stages of 1 / v of a stage's blocks: p of the first stage at most, and of interleaved
// ones 1 + (p - 1) / (p v) times as many (arXiv 2205.05198).
TEST(PassOrder, AStageHoldsNoMoreThanThePaperSays) {
    for (int stages : {2, 4})
        for (int runs : {1, 2, 4}) {
            Simulation simulation({stages, runs}, 4 * stages);
            ASSERT_TRUE(simulation.run().has_value());
            EXPECT_EQ(simulation.most_held(0), runs == 1 ? stages : stages * runs + stages - 1);
        }
}

/// Message times there and back that a step waits for beyond the bubble.
double waits(Pipeline const& of, std::int64_t count, double message_time) {
    double const time = Simulation(of, count, message_time).run().value();
    return (time - 3.0 * static_cast<double>(count + of.stages - 1)) / (2 * message_time);
}

// arXiv 2211.05322. plan/step_time counts the same waits.
TEST(PassOrder, EagerStagesWaitForTheFirstMessagesOnly) {
    for (int stages : {2, 3, 4, 8})
        for (std::int64_t count : {1, 4, 7, 16}) {
            SCOPED_TRACE(fmt::format("{} stages, {} micro-batches", stages, count));
            auto const again = static_cast<double>((count - 1) * (stages - 1) / stages);
            EXPECT_NEAR(waits({stages, 1}, count, 0.1), stages - 1 + again, 1e-9);
            EXPECT_NEAR(waits({stages, 1, true}, count, 0.1), stages - 1, 1e-9);
        }
}

TEST(PassOrder, AnEagerStageHoldsTwoForEachThatFollows) {
    for (int stages : {2, 4}) {
        Simulation simulation({stages, 1, true}, 4 * stages);
        ASSERT_TRUE(simulation.run().has_value());
        EXPECT_EQ(simulation.most_held(0), 2 * stages - 1);
        EXPECT_EQ(simulation.most_held(static_cast<std::size_t>(stages) - 1), 1);
    }
}

}  // namespace
}  // namespace osora::worker
