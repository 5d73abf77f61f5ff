// Agents of other machines connect with TLS; every other client is refused with the reason in the
// controller's log, without effect on the run.
#include "base/files/files.hpp"
#include "base/ids.hpp"
#include "daemon/agent/agent_start.hpp"
#include "protocol/messages/agent_messages.hpp"
#include "protocol/messages/message.hpp"
#include "tests/e2e/peer.hpp"
#include "tests/e2e/run_fixture.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace osora::e2e {
namespace {

using namespace protocol;
using testing::HasSubstr;

class E2eTls : public Run {
protected:
    void SetUp() override {
        Run::SetUp();
        arguments() = {"--agents-anywhere"};
    }
    void start_run() {
        make_run({.nodes = 2, .steps = 100000});
        start();
        await_event<RankStarted>(4);
    }
    void expect_unaffected() {
        std::size_t const chunks = events<MergedSteps>().size();
        await_event<MergedSteps>(chunks + 2);
        EXPECT_EQ(events<LaunchOrdered>().size(), 1u);
        EXPECT_EQ(events<AgentJoined>().size(), 2u);
        EXPECT_EQ(command(ControlPing{}).message, "running");
    }
    /// What a backend on another machine would write to an agent's standard input.
    [[nodiscard]] daemon::AgentStart agent_start() const {
        auto const file = controller_file();
        daemon::AgentStart start;
        start.controller = {file.addresses, file.port, file.fingerprint};
        start.token = file.token;
        start.run_uuid = file.run_uuid;
        start.run_dir = "/nonexistent";  // it does not see the run directory
        start.lease_s = 900;
        return start;
    }
    /// An agent started directly; its log is in agent_log().
    [[nodiscard]] Child start_agent(daemon::AgentStart const& start) const {
        auto const input = folder() / "agent-start";
        EXPECT_TRUE(write_file_atomic(input, encode(start), 0600).has_value());
        Descriptor const reading(::open(input.c_str(), O_RDONLY | O_CLOEXEC));
        Descriptor const log(::open((folder() / "by-hand.log").c_str(),
                                    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        auto child =
            spawn({.program = OSORA_BIN_DIR "/osorad",
                   .arguments = {"agent"},
                   .environment = current_environment(),
                   .working_directory = "/",
                   .descriptors = {{reading.get(), STDIN_FILENO}, {log.get(), STDERR_FILENO}}});
        EXPECT_TRUE(child.has_value());
        return std::move(*child);
    }
    [[nodiscard]] std::string agent_log() const {
        auto const text = read_file(folder() / "by-hand.log");
        return text.has_value() ? *text : "";
    }
    /// Its exit code; the test fails when it still runs after kPatience_s.
    static int exit_code_of(Child const& child) {
        pollfd waited{.fd = child.pidfd.get(), .events = POLLIN, .revents = 0};
        EXPECT_EQ(::poll(&waited, 1, static_cast<int>(kPatience_s * 1000)), 1) << "it still runs";
        return reap(child).exit_code;
    }
    void expect_logged(std::string const& text) const {
        EXPECT_TRUE(eventually([&] { return log().find(text) != std::string::npos; }))
            << text << " is not in\n"
            << log();
    }
};

TEST_F(E2eTls, ARunOverTheNetworkEndsWell) {
    EXPECT_EQ(run_to_end({.nodes = 2}), 0) << errors();
    EXPECT_THAT(log(), HasSubstr("tls=true"));
    EXPECT_EQ(events<NodeFinished>().size(), 2u);
    EXPECT_EQ(events<LaunchOrdered>().size(), 1u);
    EXPECT_TRUE(all_gone(0));
}

TEST_F(E2eTls, AClientWithoutTlsIsRefused) {
    start_run();
    AgentHello hello;
    hello.token = controller_file().token;
    Peer const plain = Peer::connect_tcp(controller_file().port);
    plain.send_frame(encode_message(FromAgent(hello)));
    EXPECT_TRUE(plain.is_dropped());
    expect_logged("\"agent connection refused\" peer=127.0.0.1 why=\"TLS: ");
    expect_unaffected();
}

TEST_F(E2eTls, AnAgentSaysNothingToAControllerWithAnotherCertificate) {
    start_run();
    auto wrong = agent_start();
    wrong.controller.fingerprint = std::string(64, '0');
    auto const child = start_agent(wrong);
    EXPECT_TRUE(eventually([&] {
        return agent_log().find("not the run's controller: its certificate is") !=
               std::string::npos;
    })) << agent_log();
    signal_process(child.id, SIGKILL);
    (void)reap(child);
    expect_unaffected();
}

TEST_F(E2eTls, AWrongTokenIsRefused) {
    start_run();
    auto wrong = agent_start();
    wrong.token = std::string(64, '0');
    EXPECT_EQ(exit_code_of(start_agent(wrong)), 3);
    EXPECT_THAT(agent_log(), HasSubstr("refused: wrong token"));
    expect_logged("why=\"wrong token\"");
    expect_unaffected();
}

TEST_F(E2eTls, ASecondAgentOfANodeIsRefused) {
    start_run();
    EXPECT_EQ(exit_code_of(start_agent(agent_start())), 3);
    expect_logged("why=\"node 0 already has another agent\"");
    auto outside = agent_start();
    outside.node = 2;
    EXPECT_EQ(exit_code_of(start_agent(outside)), 3);
    expect_logged("why=\"node 2; this run has 2\"");
    expect_unaffected();
}

/// Whether, for the user nobody, the other side hangs up at once.
bool nobody_is_dropped(std::string const& path) {
    pid_t const child = ::fork();
    if (child == 0) {
        bool const nobody =
            ::setresgid(65534, 65534, 65534) == 0 && ::setresuid(65534, 65534, 65534) == 0;
        ::_exit(nobody && Peer::connect_unix(path).is_dropped() ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status == 0;
}

TEST_F(E2eTls, AnotherUserIsRefusedAtTheControlSocket) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root: to be somebody else";
    start_run();
    // File modes keep other users out already; this tests the second barrier.
    for (auto const& each : {folder(), paths().dir}) ::chmod(each.c_str(), 0755);
    ::chmod(paths().control_socket().c_str(), 0777);
    EXPECT_TRUE(nobody_is_dropped(paths().control_socket().string()));
    expect_logged("\"command connection refused\"");
    expect_unaffected();
}

}  // namespace
}  // namespace osora::e2e
