// Strangers at the controller's sockets, and a second controller: they do not affect the run.
#include "base/files/files.hpp"
#include "protocol/messages/agent_messages.hpp"
#include "protocol/messages/message.hpp"
#include "tests/e2e/peer.hpp"
#include "tests/e2e/run_fixture.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <vector>

namespace osora::e2e {
namespace {

using namespace protocol;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class E2eIntruders : public Run {
protected:
    void SetUp() override {
        Run::SetUp();
        make_run({.steps = 100000});
        start();
        await_event<RankStarted>(2);
        ASSERT_GT(agents_port(), 0);
    }
    /// The run still trains, with the same workers.
    void expect_unaffected() {
        std::size_t const chunks = events<MergedSteps>().size();
        await_event<MergedSteps>(chunks + 2);
        EXPECT_EQ(events<LaunchOrdered>().size(), 1u);
        EXPECT_EQ(events<AgentJoined>().size(), 1u);
        EXPECT_EQ(command(ControlPing{}).message, "running");
    }
};

TEST_F(E2eIntruders, AWrongTokenIsRefused) {
    AgentHello hello;
    hello.token = std::string(64, '0');
    Peer const peer = Peer::connect_tcp(agents_port());
    peer.send_frame(encode_message(FromAgent(hello)));
    auto const answer = peer.receive_frame();
    ASSERT_TRUE(answer.has_value());
    auto const message = decode_message<ToAgent>(*answer);
    ASSERT_TRUE(message.has_value());
    EXPECT_EQ(std::get<Refused>(*message).reason, "wrong token");
    EXPECT_TRUE(peer.is_dropped());
    expect_unaffected();
}

TEST_F(E2eIntruders, GarbageDropsTheConnectionOnly) {
    for (std::string const& bytes :
         {std::string("\xff\xff\xff\xff garbage"), std::string("\0\0\0\4nope", 8),
          std::string("\0\0\0\2{}", 6), std::string("GET / HTTP/1.1\r\n\r\n")}) {
        Peer const agent = Peer::connect_tcp(agents_port());
        agent.send_bytes(bytes);
        EXPECT_TRUE(agent.is_dropped());
    }
    // Metrics of a stranger, before any hello.
    Peer const early = Peer::connect_tcp(agents_port());
    early.send_frame(encode_message(FromAgent(MetricChunk{})));
    EXPECT_TRUE(early.is_dropped());
    Peer const silent = Peer::connect_tcp(agents_port());
    expect_unaffected();
    EXPECT_TRUE(silent.is_dropped());  // no hello in time
}

TEST_F(E2eIntruders, GarbageOnTheControlSocketIsAnswered) {
    Peer const peer = Peer::connect_unix(paths().control_socket().string());
    peer.send_frame("{\"type\":\"sudo\"}");
    auto const answer = peer.receive_frame();
    ASSERT_TRUE(answer.has_value());
    auto const reply = decode_message<FromController>(*answer);
    ASSERT_TRUE(reply.has_value());
    EXPECT_FALSE(std::get<ControlReply>(*reply).ok);
    EXPECT_THAT(std::get<ControlReply>(*reply).message, HasSubstr("sudo"));
    Peer const other = Peer::connect_unix(paths().control_socket().string());
    other.send_bytes("\xff\xff\xff\xff");
    EXPECT_TRUE(other.is_dropped());
    expect_unaffected();
}

TEST_F(E2eIntruders, ASecondControllerIsRefused) {
    auto const second = spawn_osorad(-1, "second");
    ASSERT_TRUE(second.has_value());
    EXPECT_EQ(reap(*second).exit_code, 4);
    EXPECT_THAT(*read_file(folder() / "second"), HasSubstr("already has a controller: process"));
    expect_unaffected();
}

TEST_F(E2eIntruders, OnlyTheUserMayReadSecrets) {
    auto const mode_of = [](std::filesystem::path const& path) {
        struct stat info {};
        EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
        return info.st_mode & 0777;
    };
    EXPECT_EQ(mode_of(paths().control_socket()), 0600u);
    EXPECT_EQ(mode_of(paths().journal()), 0600u);
    EXPECT_EQ(mode_of(paths().rank_log(0, 0)), 0600u);
    // The token is on no command line and in no environment.
    for (ProcessId const& each : processes()) {
        auto const pid = std::to_string(each.pid);
        for (std::string const file : {"cmdline", "environ"}) {
            auto text = read_file("/proc/" + pid + "/" + file);
            if (text.has_error()) continue;
            std::ranges::replace(*text, '\0', '\n');
            EXPECT_THAT(*text, Not(ContainsRegex("[0-9a-f]{64}")));
        }
    }
}

TEST_F(E2eIntruders, AnAgentGetsInBesideNinetyIdleStrangers) {
    std::vector<Peer> strangers;
    for (int i = 0; i < 90; ++i) strangers.push_back(Peer::connect_tcp(agents_port()));
    AgentHello hello;
    hello.token = std::string(64, '0');
    Peer const late = Peer::connect_tcp(agents_port());
    late.send_frame(encode_message(FromAgent(hello)));
    auto const answer = late.receive_frame();
    ASSERT_TRUE(answer.has_value()) << "closed instead of the strangers";
    EXPECT_TRUE(strangers.front().is_dropped());
    expect_unaffected();
}

TEST_F(E2eIntruders, ACommandGetsInBesideIdleOnes) {
    std::vector<Peer> idle;
    for (int i = 0; i < 40; ++i) {
        idle.push_back(Peer::connect_unix(paths().control_socket().string()));
    }
    EXPECT_EQ(command(ControlPing{}).message, "running");
    expect_unaffected();
}

}  // namespace
}  // namespace osora::e2e
