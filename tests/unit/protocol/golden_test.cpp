// The bytes on the wire and on disk, against files that tests/data/protocol/make_golden.py made
// without osora. A file that can no longer be read breaks runs in progress.
#include "base/files/compression.hpp"
#include "base/files/files.hpp"
#include "protocol/journal/framing.hpp"
#include "protocol/journal/journal.hpp"
#include "protocol/messages/agent_messages.hpp"
#include "protocol/messages/control_messages.hpp"
#include "protocol/messages/message.hpp"
#include "protocol/run_view.hpp"
#include "protocol/steps/matrix_codec.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace osora::protocol {
namespace {

std::string golden(std::string const& name) {
    return *read_file(std::string(OSORA_SOURCE_DIR) + "/tests/data/protocol/" + name);
}

/// Reads every frame, checks that each kind of message is there, and that encoding it again gives
/// the same bytes: so no member is lost or renamed in either direction.
template <class Variant>
std::vector<Variant> read_back(std::string const& name) {
    std::string const bytes = golden(name);
    std::vector<Variant> messages;
    std::set<std::size_t> kinds;
    std::string again;
    for (std::string const& body : *FrameReader().feed(std::as_bytes(std::span(bytes)))) {
        auto message = decode_message<Variant>(body);
        EXPECT_TRUE(message.has_value()) << body;
        if (message.has_error()) return {};
        again += *encode_frame(encode_message(*message));
        kinds.insert(message->index());
        messages.push_back(std::move(*message));
    }
    EXPECT_EQ(kinds.size(), std::variant_size_v<Variant>) << name << " lacks a kind of message";
    EXPECT_EQ(again, bytes) << name;
    return messages;
}

TEST(Golden, WorkerMessages) {
    auto const from = read_back<FromWorker>("from_worker.frames");
    auto const& step = std::get<StepMetrics>(from.at(2));
    EXPECT_EQ(step.bucket, "64x64x8");
    EXPECT_EQ(step.exposed_comm_s, 0.0625);
    EXPECT_TRUE(std::isnan(step.loss));
    EXPECT_EQ(step.rss_bytes, 3'000'000'000);
    EXPECT_EQ(step.reserved_bytes, 4096);
    EXPECT_EQ(step.alloc_retries, 2);
    EXPECT_EQ(step.micro_batch_size, 4);
    EXPECT_EQ(step.recomputed_blocks, 2);
    EXPECT_EQ(step.collectives.at(0).name, "stop vote");
    EXPECT_EQ(step.collectives.at(0).exposed_s, 0.0625);
    EXPECT_EQ(std::get<WorkerHello>(from.at(0)).facts.at("odd"), "a \"quoted\" ü\n\x01");
    auto const to = read_back<ToWorker>("to_worker.frames");
    EXPECT_FALSE(std::get<StopWorker>(to.at(0)).save_checkpoint);
}

TEST(Golden, AgentMessages) {
    auto const from = read_back<FromAgent>("from_agent.frames");
    EXPECT_EQ(std::get<AgentHello>(from.at(0)).first_report, 17u);
    EXPECT_EQ(std::get<Heartbeat>(from.at(1)).ranks.at(0).limit_s, 30);
    auto const to = read_back<ToAgent>("to_agent.frames");
    EXPECT_EQ(std::get<StopAttempt>(to.at(6)).how, StopHow::kill);
    EXPECT_TRUE(std::get<StopAttempt>(to.at(6)).relaunch);
    EXPECT_EQ(std::get<LaunchWorkers>(to.at(5)).store_port, 29501);
    EXPECT_EQ(std::get<TakeStacks>(to.at(8)).limit_s, 4);
}

TEST(Golden, ControlMessages) {
    EXPECT_TRUE(std::get<ControlStop>(read_back<ToController>("to_controller.frames").at(1)).now);
    EXPECT_FALSE(
        std::get<ControlReply>(read_back<FromController>("from_controller.frames").at(0)).ok);
}

TEST(Golden, JournalBothWays) {
    std::string const bytes = golden("journal");
    JournalReader reader;
    auto const records = reader.feed(bytes);
    ASSERT_TRUE(records.has_value()) << records.error().message;
    EXPECT_EQ(reader.good_bytes(), bytes.size());
    EXPECT_EQ(reader.next_sequence(), std::variant_size_v<RunEvent>);
    std::string again(kPlainJournalHeader);
    EXPECT_EQ(reader.bodies(), JournalBodies::plain);
    for (std::size_t i = 0; i < records->size(); ++i) {
        JournalRecord const& record = (*records)[i];
        EXPECT_EQ(record.sequence, i);
        EXPECT_EQ(record.event.index(), i) << "one record of each kind, in the order of RunEvent";
        EXPECT_EQ(record.wall_us, 1'700'000'000'000'000 - static_cast<std::int64_t>(i));
        again += *encode_record(record, JournalBodies::plain);
    }
    EXPECT_EQ(again, bytes);
    EXPECT_EQ(std::get<RunEnded>((*records)[14].event).verdict, Verdict::node_fault);
    EXPECT_EQ(std::get<MetricChunk>((*records)[15].event).columns.at("loss").argmax,
              (std::vector{5, 6}));
    auto const& matrix = std::get<RankMatrix>((*records)[17].event);
    auto const arrivals = decode_matrix(matrix.figures.at("arrival_s").value, 2, 3);
    ASSERT_TRUE(arrivals.has_value()) << arrivals.error().message;
    EXPECT_NEAR(arrivals->at(1), 0.505, 0.0006);
    EXPECT_TRUE(std::isnan(arrivals->at(4)));
    EXPECT_NEAR(arrivals->at(5), 30, 0.03);
    EXPECT_EQ(encode_matrix(*arrivals, 3), matrix.figures.at("arrival_s").value);
    auto const& steps = std::get<MergedSteps>((*records)[19].event);
    auto const nodes = nodes_of(steps);
    ASSERT_TRUE(nodes.has_value()) << nodes.error().message;
    ASSERT_EQ(nodes->size(), 2u) << "of node 2 there is nothing new";
    EXPECT_EQ(nodes->at(1).node, 3);
    EXPECT_NEAR(nodes->at(1).step_time_s, 0.7, 0.0007);
    EXPECT_NEAR(nodes->at(1).peak_allocated_bytes, 6e10, 6e7);
    EXPECT_EQ(summary_of(steps, "loss", steps.columns.at("loss"), 0).n, 4);
}

/// A run of an osora that did not merge: 3 ranks wrote "step=I time_s=0.1RANK loss=(10-I).RANK
/// samples=2 arrival_s=0.05RANK" for I in 0..9.
TEST(Golden, AJournalOfAnOlderOsoraIsRead) {
    JournalReader reader;
    auto const records = reader.feed(golden("journal1_recorded"));
    ASSERT_TRUE(records.has_value()) << records.error().message;
    EXPECT_EQ(reader.pending_bytes(), 0u);
    RunView view;
    for (auto const& each : *records) fold(view, each);
    EXPECT_EQ(view.status.verdict, Verdict::ok);
    EXPECT_EQ(view.steps_done, 10);
    ASSERT_EQ(view.recent_steps.size(), 10u);
    for (StepView const& each : view.recent_steps) {
        EXPECT_EQ(each.ranks, 3);
        EXPECT_EQ(each.samples, 6);
        EXPECT_DOUBLE_EQ(each.loss, 10 - each.step + 0.1);
        EXPECT_DOUBLE_EQ(each.step_time_s, 0.12);
        EXPECT_EQ(each.arrivals.latest_rank, 2);
    }
    ASSERT_EQ(view.node_views.size(), 1u);
    EXPECT_DOUBLE_EQ(view.node_views[0].step_time_s, 0.12);
    EXPECT_DOUBLE_EQ(view.node_views[0].arrival_s, 0.052);
    EXPECT_EQ(view.node_views[0].latest_rank, 2);
}

TEST(Golden, AJournalThatCountsEpochsHoldsTheSame) {
    JournalReader reader;
    auto records = reader.feed(golden("journal2_epochs"));
    ASSERT_TRUE(records.has_value()) << records.error().message;
    std::string again(kPlainJournalHeader);
    for (JournalRecord& each : *records) {
        if (auto* stopped = std::get_if<NodeStopped>(&each.event)) {
            EXPECT_EQ(stopped->gpu_fault, "") << "a newer member";
            stopped->gpu_fault = "GPU 3: Xid 79";
        }
        again += *encode_record(each, JournalBodies::plain);
    }
    // Written before RelaunchAsked, the newest event, was added.
    EXPECT_EQ(records->size(), std::variant_size_v<RunEvent> - 1);
    EXPECT_TRUE(golden("journal").starts_with(again));
}

TEST(Golden, BothVersionsOfJournalsHoldTheSame) {
    auto const plain = JournalReader().feed(golden("journal"));
    JournalReader reader;
    auto const packed = reader.feed(golden("journal2"));
    ASSERT_TRUE(packed.has_value()) << packed.error().message;
    EXPECT_EQ(reader.bodies(), JournalBodies::compressed);
    ASSERT_EQ(packed->size(), plain->size());
    std::string again(kJournalHeader);
    for (std::size_t i = 0; i < packed->size(); ++i) {
        EXPECT_EQ(*encode_record(packed->at(i), JournalBodies::plain),
                  *encode_record(plain->at(i), JournalBodies::plain));
        again += *encode_record(packed->at(i));
    }
    EXPECT_LT(again.size(), golden("journal").size());
    EXPECT_EQ(JournalReader().feed(again)->size(), plain->size());
}

}  // namespace
}  // namespace osora::protocol
