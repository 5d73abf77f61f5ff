#include "worker/jobs/agent_link.hpp"

#include "protocol/exit_codes.hpp"
#include "protocol/messages/message.hpp"
#include "tests/kit/patience.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <span>
#include <thread>
#include <variant>

namespace osora::worker {
namespace {

class Link : public testing::Test {
protected:
    void SetUp() override { ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds_.data()), 0); }
    void TearDown() override {
        if (fds_[1] >= 0) close(fds_[1]);
    }
    void write_to_worker(std::string const& bytes) {
        ASSERT_EQ(write(fds_[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    }
    std::array<int, 2> fds_{-1, -1};  // [0] is the worker's and owned by the link
};

TEST_F(Link, SendsFramesThatTheAgentReads) {
    AgentLink link(fds_[0]);
    protocol::StepMetrics metrics;
    metrics.step = 3;
    metrics.bucket = "64x64x8";
    link.send(metrics);
    std::array<std::byte, 4096> buffer{};
    auto const got = read(fds_[1], buffer.data(), buffer.size());
    auto const frames =
        protocol::FrameReader().feed(std::span(buffer).first(static_cast<std::size_t>(got)));
    ASSERT_EQ(frames->size(), 1u);
    auto const message = protocol::decode_message<protocol::FromWorker>(frames->front());
    EXPECT_EQ(std::get<protocol::StepMetrics>(*message).step, 3);
}

TEST_F(Link, AStopOrderStays) {
    AgentLink link(fds_[0]);
    EXPECT_FALSE(link.stop_order().has_value());
    protocol::ToWorker const order = protocol::StopWorker{true, "Ctrl-C"};
    std::string const frame = *protocol::encode_frame(protocol::encode_message(order));
    write_to_worker(frame.substr(0, 5));
    EXPECT_FALSE(link.stop_order().has_value());
    write_to_worker(frame.substr(5));
    ASSERT_TRUE(link.stop_order().has_value());
    EXPECT_EQ(link.stop_order()->reason, "Ctrl-C");
}

TEST_F(Link, AStopOrderEndsAPause) {
    AgentLink link(fds_[0]);
    EXPECT_TRUE(link.pause(0));
    EXPECT_TRUE(link.pause(0.001));
    protocol::ToWorker const order = protocol::StopWorker{false, "cancelled"};
    std::string const frame = *protocol::encode_frame(protocol::encode_message(order));
    std::thread agent([&] {
        write_to_worker(frame.substr(0, 5));
        write_to_worker(frame.substr(5));
    });
    EXPECT_FALSE(link.pause(tests::kPatience_s));
    agent.join();
    EXPECT_FALSE(link.pause(tests::kPatience_s));
    EXPECT_TRUE(AgentLink(-1).pause(0.001));
}

TEST_F(Link, AnAgentThatIsGoneIsAnOrderToStop) {
    AgentLink link(fds_[0]);
    close(fds_[1]);
    fds_[1] = -1;
    ASSERT_TRUE(link.stop_order().has_value());
    EXPECT_FALSE(link.stop_order()->save_checkpoint);
    link.send(protocol::PhaseChanged{});  // is dropped, and does not end the process
}

TEST_F(Link, GarbageIsAnOrderToStop) {
    AgentLink link(fds_[0]);
    write_to_worker("\xff\xff\xff\xff");
    EXPECT_TRUE(link.stop_order().has_value());
}

/// The destructors of what hangs would never come back.
TEST_F(Link, AnErrorIsReportedThoughAThreadHangs) {
    AgentLink link(fds_[0]);
    Error const why{Errc::unreachable, "rank 3 is gone"};
    int asked = 0;
    auto const ends = [&] { return ++asked > 0; };
    end_if_stuck(link, why, {ends, ends});
    EXPECT_EQ(asked, 2);
    auto const hangs = [] { return false; };
    EXPECT_EXIT(end_if_stuck(link, why, {ends, hangs}),
                testing::ExitedWithCode(protocol::kExitComm), "osora-worker: rank 3 is gone");
    std::array<std::byte, 4096> buffer{};
    // From the process that has ended.
    auto const got = recv(fds_[1], buffer.data(), buffer.size(), MSG_DONTWAIT);
    ASSERT_GT(got, 0);
    auto const frames =
        protocol::FrameReader().feed(std::span(buffer).first(static_cast<std::size_t>(got)));
    ASSERT_EQ(frames->size(), 1u);
    auto const message = protocol::decode_message<protocol::FromWorker>(frames->front());
    auto const& failed = std::get<protocol::WorkerFailed>(*message);
    EXPECT_EQ(failed.exit_code, protocol::kExitComm);
    EXPECT_EQ(failed.message, "rank 3 is gone");
}

}  // namespace
}  // namespace osora::worker
