// Reports through a spill against a plain list: the same order, nothing twice, and only metrics and
// notices may be missing.
#include "daemon/agent/report_queue.hpp"
#include "daemon/agent/agent_core.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace osora::daemon {
namespace {

using namespace protocol;

/// Takes `capacity` records.
class FakeSpill final : public Spill {
public:
    explicit FakeSpill(std::size_t capacity) : capacity_(capacity) {}
    Result<void> push(std::string_view record) override {
        if (records_.size() >= capacity_) return Error{Errc::out_of_space, "full"};
        records_.emplace_back(record);
        most = std::max(most, records_.size());
        return {};
    }
    Result<std::optional<std::string>> pop() override {
        if (broken) return Error{Errc::io, "broken"};
        if (records_.empty()) return std::optional<std::string>();
        std::optional<std::string> first = records_.front();
        records_.pop_front();
        return first;
    }
    std::size_t most = 0;
    bool broken = false;

private:
    std::size_t capacity_;
    std::deque<std::string> records_;
};

/// Its number in `step`, whatever it is.
FromAgent report(int number, bool metric) {
    if (metric) {
        MetricChunk chunk;
        chunk.step0 = number;
        return chunk;
    }
    CheckpointCompleted saved;
    saved.step = number;
    return saved;
}
int number_of(FromAgent const& report) {
    auto const* chunk = std::get_if<MetricChunk>(&report);
    return chunk != nullptr ? chunk->step0 : std::get<CheckpointCompleted>(report).step;
}
bool is_metric(FromAgent const& report) {
    return std::holds_alternative<MetricChunk>(report);
}

TEST(ReportQueue, DeliversInOrderWhatItKeeps) {
    for (unsigned seed = 1; seed <= 30; ++seed) {
        std::mt19937 random(seed);
        FakeSpill spill(seed % 3 == 0 ? 100 : 100000);
        ReportQueue queue(&spill);
        std::vector<int> decisions, delivered, delivered_decisions;
        std::uint64_t pushed = 0, dropped = 0;
        auto deliver = [&](std::uint64_t count) {
            for (std::uint64_t i = 0; i < count && !queue.in_memory().empty(); ++i) {
                FromAgent const first = queue.in_memory().front();
                delivered.push_back(number_of(first));
                if (!is_metric(first)) delivered_decisions.push_back(number_of(first));
                (void)queue.acknowledge(queue.first_number() + 1);
            }
        };
        for (int i = 0; i < 6000; ++i) {
            bool const metric = random() % 4 != 0;
            if (!metric) decisions.push_back(i);
            (void)queue.push(report(i, metric));
            ++pushed;
            if (random() % 1000 == 0) deliver(random() % 2000);
        }
        deliver(~0u);
        dropped = queue.take_dropped();
        EXPECT_EQ(delivered.size() + dropped, pushed) << "seed " << seed;
        EXPECT_TRUE(std::ranges::is_sorted(delivered)) << "seed " << seed;
        EXPECT_EQ(delivered_decisions, decisions) << "seed " << seed;
        if (seed % 3 != 0) {
            EXPECT_EQ(dropped, 0u) << "seed " << seed;
        }
    }
}

TEST(ReportQueue, ABrokenSpillLosesWhatWasInItAndSaysHowMuch) {
    FakeSpill spill(100000);
    ReportQueue queue(&spill);
    for (int i = 0; i < 1500; ++i) (void)queue.push(report(i, true));
    spill.broken = true;
    EXPECT_TRUE(queue.acknowledge(1).empty());
    EXPECT_EQ(queue.take_dropped(), 500u);
    EXPECT_TRUE(queue.push(report(1500, true))) << "it goes on without";
}

/// An agent with one rank that trains while no controller is connected, and then reports all of it.
TEST(ReportQueue, AnAgentWithoutAControllerForHoursLosesNoStep) {
    constexpr int kSteps = 400'000;  // of 0.1 s
    FakeSpill spill(100'000);
    AgentOptions options;
    options.lease = std::chrono::hours(24);
    AgentCore agent(options, {}, &spill);
    MonotonicTime now{};
    auto feed = [&](AgentInput input) { return agent.handle({now}, input); };
    auto hear = [&](auto const& message) { return feed(ControllerSaid{message}); };
    (void)feed(ControllerConnected{});
    (void)hear(Welcome{});
    (void)hear(LaunchWorkers{});
    (void)feed(WorkerSpawned{0, 0, 100, ""});
    (void)feed(ControllerDisconnected{});
    for (int step = 0; step < kSteps; ++step) {
        now += std::chrono::milliseconds(100);
        StepMetrics metrics;
        metrics.step = step;
        (void)feed(WorkerSaid{0, 0, metrics});
        if (now >= agent.next_deadline()) (void)feed(AgentTick{});
    }
    EXPECT_GT(spill.most, 1000u);
    (void)feed(WorkerSaid{0, 0, WorkerFinished{kSteps, false}});
    (void)feed(WorkerExited{0, 0, 0, 0, false});

    std::uint64_t next_report = 0;
    int next_step = 0;
    bool finished = false;
    (void)feed(ControllerConnected{});
    AgentActions actions = hear(Welcome{});
    while (!actions.empty()) {
        for (AgentAction const& each : actions) {
            auto const* sent = std::get_if<SendToController>(&each);
            if (sent == nullptr || std::holds_alternative<Heartbeat>(sent->message)) continue;
            ++next_report;
            auto const* chunk = std::get_if<MetricChunk>(&sent->message);
            finished = finished || std::holds_alternative<NodeFinished>(sent->message);
            if (chunk == nullptr) continue;
            ASSERT_EQ(chunk->step0, next_step);
            ASSERT_FALSE(finished) << "metrics after the end of the node are not recorded";
            next_step += static_cast<int>(chunk->bucket.size());
        }
        actions = hear(AckReports{next_report});
    }
    EXPECT_EQ(next_step, kSteps);
    EXPECT_TRUE(finished);
}

}  // namespace
}  // namespace osora::daemon
