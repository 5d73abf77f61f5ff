// The mock worker's script, checkpoints and the loop of one rank; its processes are tested in
// tests/e2e.
#include "base/files/files.hpp"
#include "protocol/journal/framing.hpp"
#include "protocol/messages/message.hpp"
#include "worker/mock/checkpoint.hpp"
#include "worker/mock/script.hpp"
#include "worker/mock/trainer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <array>
#include <fstream>
#include <span>

namespace osora::mock {
namespace {

using testing::HasSubstr;

TEST(MockScript, FaultsNameRankStepValueAndAttempt) {
    auto const fault = parse_fault("1:20:13@2");
    ASSERT_TRUE(fault.has_value());
    EXPECT_TRUE(fault->is_at(1, 2, 20));
    EXPECT_EQ(fault->value, 13);
    EXPECT_FALSE(fault->is_at(0, 2, 20));
    EXPECT_FALSE(fault->is_at(1, 1, 20));
    EXPECT_FALSE(fault->is_at(1, 2, 21));
    EXPECT_TRUE(parse_fault("*:7")->is_at(5, 9, 7));
}

TEST(MockScript, WhatDoesNotParseNamesTheVariable) {
    for (std::string const text : {"", "1", "1:", "1:2:3:4", "x:1", "1:2@", "1:2x"}) {
        auto const script = read_script({"OSORA_MOCK_KILL=" + text});
        ASSERT_TRUE(script.has_error()) << text;
        EXPECT_THAT(script.error().message, HasSubstr("OSORA_MOCK_KILL")) << text;
    }
}

TEST(MockScript, NothingSetMeansNoFault) {
    auto const script = read_script({"PATH=/bin"});
    ASSERT_TRUE(script.has_value());
    EXPECT_FALSE(script->kill || script->fail || script->hang || script->ignore_term);
}

TEST(MockScript, HoldIsAStepAndTheClockIsOneOfTwo) {
    auto const script = read_script({"OSORA_MOCK_HOLD=20", "OSORA_MOCK_CLOCK=steps"});
    ASSERT_TRUE(script.has_value());
    EXPECT_EQ(script->hold, 20);
    EXPECT_TRUE(script->scripted_clock);
    EXPECT_FALSE(read_script({"OSORA_MOCK_CLOCK=wall"})->scripted_clock);
    for (std::string const variable : {"OSORA_MOCK_HOLD=soon", "OSORA_MOCK_CLOCK=sundial"}) {
        auto const wrong = read_script({variable});
        ASSERT_TRUE(wrong.has_error()) << variable;
        EXPECT_THAT(wrong.error().message, HasSubstr(variable.substr(0, variable.find('='))));
    }
}

TEST(MockScript, AStepTakesAsLongAsItsSlowestRankWorks) {
    Script script;
    script.step_s = 0.02;
    script.slow = *parse_fault("2:5:30");
    EXPECT_DOUBLE_EQ(work_s(script, 2, 0, 4), 0.02);
    EXPECT_DOUBLE_EQ(work_s(script, 2, 0, 6), 0.05);
    EXPECT_DOUBLE_EQ(work_s(script, 1, 0, 6), 0.02);
    EXPECT_DOUBLE_EQ(slowest_work_s(script, 4, 0, 4), 0.02);
    EXPECT_DOUBLE_EQ(slowest_work_s(script, 4, 0, 6), 0.05);
    EXPECT_DOUBLE_EQ(slowest_work_s(script, 2, 0, 6), 0.02);
}

/// The only rank of a run, with a socketpair for its agent.
class MockTrainer : public testing::Test {
protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "osora-mock-XXXXXX";
        ASSERT_NE(::mkdtemp(folder.data()), nullptr);
        folder_ = folder;
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair_.data()), 0);
        agent_.reset(pair_[0]);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    /// Runs three steps; what the rank says to its agent.
    std::vector<protocol::FromWorker> run(Script const& script) {
        plan::WorkerJob job;
        job.run_dir = folder_.string();
        job.config.run.job = "train";
        job.config.train.steps = 3;
        protocol::AgentLink link(pair_[1]);
        auto peers = Peers::meet({});
        EXPECT_TRUE(peers.has_value());
        Trainer trainer(std::move(job), {}, script, link, std::move(*peers));
        auto const exit_code = trainer.run();
        EXPECT_TRUE(exit_code.has_value());
        EXPECT_EQ(exit_code.has_value() ? *exit_code : -1, 0);
        return heard();
    }
    void ask_to_stop() {
        auto const frame = protocol::encode_frame(
            protocol::encode_message(protocol::ToWorker(protocol::StopWorker{true, "a test"})));
        ASSERT_TRUE(frame.has_value());
        ASSERT_EQ(::send(agent_.get(), frame->data(), frame->size(), 0),
                  static_cast<ssize_t>(frame->size()));
    }

    std::filesystem::path folder_;

private:
    std::vector<protocol::FromWorker> heard() {
        std::vector<protocol::FromWorker> messages;
        std::array<std::byte, 65536> buffer{};
        protocol::FrameReader frames;
        ssize_t got = 0;
        while ((got = ::recv(agent_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0) {
            auto const bodies = frames.feed(std::span(buffer).first(static_cast<std::size_t>(got)));
            EXPECT_TRUE(bodies.has_value());
            for (std::string const& body : *bodies) {
                auto message = protocol::decode_message<protocol::FromWorker>(body);
                EXPECT_TRUE(message.has_value()) << body;
                messages.push_back(std::move(*message));
            }
        }
        return messages;
    }

    std::array<int, 2> pair_{-1, -1};
    Descriptor agent_;
};

template <class T>
std::vector<T> those_of(std::vector<protocol::FromWorker> const& messages) {
    std::vector<T> found;
    for (auto const& each : messages) {
        if (auto const* one = std::get_if<T>(&each)) found.push_back(*one);
    }
    return found;
}

TEST_F(MockTrainer, AHeldRankStopsWhenAsked) {
    ask_to_stop();
    Script script;
    script.hold = 0;
    auto const said = run(script);
    auto const finished = those_of<protocol::WorkerFinished>(said);
    ASSERT_EQ(finished.size(), 1U);
    EXPECT_EQ(finished[0].steps, 1);
    EXPECT_TRUE(finished[0].stopped);
}

TEST_F(MockTrainer, ARankThatWasReleasedDoesNotHold) {
    ASSERT_TRUE(write_file_atomic(folder_ / "go", "").has_value());
    Script script;
    script.hold = 1;
    auto const finished = those_of<protocol::WorkerFinished>(run(script));
    ASSERT_EQ(finished.size(), 1U);
    EXPECT_EQ(finished[0].steps, 3);
    EXPECT_FALSE(finished[0].stopped);
}

TEST_F(MockTrainer, TheScriptedClockReportsWhatWasScripted) {
    Script script;
    script.scripted_clock = true;
    script.step_s = 0.5;
    script.slow = *parse_fault("0:1:250");
    auto const steps = those_of<protocol::StepMetrics>(run(script));
    ASSERT_EQ(steps.size(), 3U);
    EXPECT_DOUBLE_EQ(steps[0].step_time_s, 0.5);
    EXPECT_DOUBLE_EQ(steps[1].step_time_s, 0.75);
    EXPECT_DOUBLE_EQ(steps[1].arrival_s, 0.75);
    EXPECT_DOUBLE_EQ(steps[1].exposed_comm_s, 0);
}

TEST(MockCheckpoint, TheNewestThatReadsBackWins) {
    std::string folder = testing::TempDir() + "osora-mock-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    std::filesystem::path const path(folder);
    EXPECT_EQ(find_checkpoint(path), 0);
    for (int const step : {10, 20, 30}) ASSERT_TRUE(save_checkpoint(path, step, 2).has_value());
    EXPECT_FALSE(std::filesystem::exists(path / "step-00000010"));
    EXPECT_EQ(find_checkpoint(path), 30);
    std::ofstream(path / "step-00000030" / "state.json") << "{\"st";
    EXPECT_EQ(find_checkpoint(path), 20);
    std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace osora::mock
