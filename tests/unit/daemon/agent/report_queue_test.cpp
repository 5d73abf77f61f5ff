// Reports through a spill against a plain list: the same order, nothing twice, and only metrics and
// notices may be missing. A connection gets a window at a time.
#include "daemon/agent/report_queue.hpp"
#include "daemon/agent/agent_core.hpp"
#include "protocol/messages/message.hpp"

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
                queue.acknowledge(queue.first_number() + 1);
            }
        };
        for (int i = 0; i < 6000; ++i) {
            bool const metric = random() % 4 != 0;
            if (!metric) decisions.push_back(i);
            queue.push(report(i, metric));
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
    for (int i = 0; i < 1500; ++i) queue.push(report(i, true));
    spill.broken = true;
    queue.acknowledge(1);
    EXPECT_EQ(queue.in_memory().size(), 999u);
    EXPECT_EQ(queue.take_dropped(), 500u);
    queue.push(report(1500, true));
    EXPECT_EQ(number_of(queue.in_memory().back()), 1500) << "it goes on without";
}

/// Of about 100 kB.
FromAgent large_report(int number) {
    CheckpointCompleted saved;
    saved.step = number;
    saved.path.assign(100'000, 'x');
    return saved;
}

std::size_t bytes_of(std::vector<FromAgent> const& reports) {
    std::size_t bytes = 0;
    for (FromAgent const& each : reports) bytes += encode_message(each).size();
    return bytes;
}

TEST(ReportQueue, KeepsAFewMebibytesInMemory) {
    FakeSpill spill(1000);
    ReportQueue queue(&spill);
    for (int i = 0; i < 200; ++i) queue.push(large_report(i));
    EXPECT_LE(queue.in_memory().size(), 90u);
    EXPECT_EQ(queue.in_memory().size() + spill.most, 200u);
    std::vector<int> delivered;
    while (!queue.in_memory().empty()) {
        for (FromAgent const& each : queue.take_to_send()) delivered.push_back(number_of(each));
        queue.acknowledge(queue.first_number() + 7);
        EXPECT_LE(queue.in_memory().size(), 90u);
    }
    ASSERT_EQ(delivered.size(), 200u);
    EXPECT_TRUE(std::ranges::is_sorted(delivered));
}

TEST(ReportQueue, AReportLargerThanTheWindowIsSentAlone) {
    ReportQueue queue(nullptr);
    for (int i = 0; i < 2; ++i) {
        CheckpointCompleted saved;
        saved.path.assign(ReportQueue::kWindowBytes + 1, 'x');
        queue.push(saved);
    }
    EXPECT_EQ(queue.take_to_send().size(), 1u);
    EXPECT_TRUE(queue.take_to_send().empty());
    queue.acknowledge(1);
    EXPECT_EQ(queue.take_to_send().size(), 1u);
}

/// A connection that has more than 8 MiB to send is closed (FrameConnection).
TEST(ReportQueue, AnAgentSendsAWindowAtATime) {
    AgentOptions options;
    options.lease = std::chrono::hours(24);
    AgentCore agent(options, {});
    constexpr std::size_t kMost = 2u << 20;
    std::vector<FromAgent> sent;  // by the last call
    auto feed = [&](AgentInput const& input) {
        sent.clear();
        for (AgentAction const& each : agent.handle({}, input)) {
            auto const* message = std::get_if<SendToController>(&each);
            if (message == nullptr || std::holds_alternative<Heartbeat>(message->message)) continue;
            sent.push_back(message->message);
        }
    };
    auto hear = [&](auto const& message) { feed(ControllerSaid{message}); };
    auto save = [&](int step) {
        feed(WorkerSaid{0, 0, CheckpointSaved{step, std::string(100'000, 'x'), 1, 1}});
    };
    feed(ControllerConnected{});
    hear(Welcome{});
    hear(LaunchWorkers{});
    feed(WorkerSpawned{0, 0, 100, ""});
    feed(ControllerDisconnected{});
    for (int step = 0; step < 200; ++step) save(step);
    feed(ControllerConnected{});
    std::vector<int> delivered;
    hear(Welcome{});
    for (int step = 200; !sent.empty(); ++step) {
        EXPECT_LE(bytes_of(sent), kMost);
        for (FromAgent const& each : sent) delivered.push_back(number_of(each));
        if (step < 210) {
            save(step);  // meanwhile
            EXPECT_TRUE(sent.empty()) << "its turn comes later";
        }
        hear(AckReports{delivered.size()});
    }
    ASSERT_EQ(delivered.size(), 210u);
    for (int i = 0; i < 210; ++i) EXPECT_EQ(delivered[static_cast<std::size_t>(i)], i);
    save(210);
    EXPECT_EQ(sent.size(), 1u) << "at once";
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
