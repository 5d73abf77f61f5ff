// osorad serve: its runs survive the death of their controller, and that of the daemon.
#include "base/files/files.hpp"
#include "protocol/messages/daemon_messages.hpp"
#include "protocol/messages/message.hpp"
#include "tests/e2e/peer.hpp"
#include "tests/e2e/run_fixture.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>

namespace osora::e2e {
namespace {

using namespace protocol;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kRun = "state/runs/e2e-0001";

class E2eDaemon : public Run {
protected:
    void SetUp() override {
        Run::SetUp();
        std::filesystem::create_directories(state() / "runs");
        start_daemon();
    }
    void TearDown() override {
        if (HasFailure()) fmt::print("--- daemon.log\n{}", daemon_log());
        Run::TearDown();
    }
    [[nodiscard]] std::filesystem::path state() const { return folder() / "state"; }
    [[nodiscard]] std::string daemon_log() const {
        auto const text = read_file(folder() / "daemon.log");
        return text.has_value() ? *text : "";
    }
    [[nodiscard]] Child spawn_daemon() {
        Descriptor const log(::open((folder() / "daemon.log").c_str(),
                                    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
        auto child = spawn({.program = OSORA_BIN_DIR "/osorad",
                            .arguments = {"serve", "--state-dir", state().string()},
                            .environment = environment(),
                            .working_directory = "/",
                            .descriptors = {{log.get(), STDERR_FILENO}}});
        EXPECT_TRUE(child.has_value());
        return std::move(*child);
    }
    /// The socket has its name before it accepts connections.
    [[nodiscard]] bool is_listening() const {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        socket().string().copy(address.sun_path, sizeof address.sun_path - 1);
        Descriptor const peer(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        auto const* where = reinterpret_cast<sockaddr const*>(&address);
        return ::connect(peer.get(), where, sizeof address) == 0;
    }
    void start_daemon() {
        std::filesystem::remove(socket());
        daemon_ = spawn_daemon();
        ASSERT_TRUE(eventually([this] { return is_listening(); })) << daemon_log();
    }
    void kill_daemon() {
        signal_process(daemon_.id, SIGKILL);
        (void)reap(daemon_);
    }
    [[nodiscard]] std::filesystem::path socket() const { return state() / kDaemonSocket; }
    /// The answers to `bodies` on one connection.
    [[nodiscard]] std::vector<DaemonReply> talk(std::vector<std::string> const& bodies) const {
        Peer const peer = Peer::connect_unix(socket().string());
        std::vector<DaemonReply> replies;
        for (std::string const& body : bodies) {
            peer.send_frame(body);
            auto const answer = peer.receive_frame();
            auto const reply = decode_message<FromDaemon>(answer.value_or("{}"));
            EXPECT_TRUE(reply.has_value()) << body;
            replies.push_back(reply.has_value() ? std::get<DaemonReply>(*reply) : DaemonReply{});
        }
        return replies;
    }
    [[nodiscard]] DaemonReply ask(ToDaemon const& command) const {
        return talk({encode_message(ToDaemon(DaemonHello{})), encode_message(command)}).back();
    }
    [[nodiscard]] ProcessId controller_id() const {
        auto const file = controller_file();
        return {.pid = file.pid, .start_ticks = file.start_ticks};
    }
    void start_long_run() {
        make_run({.steps = 100000, .lease_s = 0}, std::string(kRun));
        auto const reply = ask(AdoptRun{paths().dir.string()});
        ASSERT_TRUE(reply.ok) << reply.message;
        await_event<RankStarted>(2);
        await_steps(5);
    }
    void expect_undisturbed(std::size_t controllers) {
        await_event<MergedSteps>(events<MergedSteps>().size() + 2);
        EXPECT_EQ(events<LaunchOrdered>().size(), 1u);
        EXPECT_EQ(events<AgentJoined>().size(), 1u);
        EXPECT_EQ(events<NodeLost>().size(), 0u);
        EXPECT_EQ(events<ControllerStarted>().size(), controllers);
    }
    void stop_run() {
        EXPECT_TRUE(command(ControlStop{.now = true, .reason = "test"}).ok);
        await_event<RunEnded>();
        EXPECT_TRUE(eventually([&] { return ask(DaemonStatus{}).runs.empty(); }));
        EXPECT_TRUE(all_gone());
    }
    Child daemon_;
};

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

TEST_F(E2eDaemon, ARunEndsAndIsForgotten) {
    make_run({.steps = 5, .lease_s = 0}, std::string(kRun));
    EXPECT_TRUE(ask(AdoptRun{paths().dir.string()}).ok);
    EXPECT_FALSE(ask(AdoptRun{paths().dir.string()}).ok) << "it has it already";
    EXPECT_EQ(await_event<RunEnded>().verdict, Verdict::ok);
    EXPECT_TRUE(eventually([&] { return ask(DaemonStatus{}).runs.empty(); })) << daemon_log();
    EXPECT_EQ(ask(DaemonStatus{}).pid, daemon_.id.pid);
}

TEST_F(E2eDaemon, AKilledControllerIsStartedAgainAndFindsItsRanksAtWork) {
    start_long_run();
    auto const begin = Clock::now();
    signal_process(controller_id(), SIGKILL);
    await_event<ControllerStarted>(2);
    fmt::print("the next controller was there after {:.2f} s\n", seconds_since(begin));
    expect_undisturbed(2);
    auto const runs = ask(DaemonStatus{}).runs;
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].restarts, 1);
    EXPECT_EQ(runs[0].controller_pid, controller_id().pid);
    stop_run();
}

TEST_F(E2eDaemon, TheNextDaemonAdoptsTheRunsOfOneThatWasKilled) {
    start_long_run();
    ProcessId const controller = controller_id();
    kill_daemon();
    expect_undisturbed(1);
    auto const begin = Clock::now();
    start_daemon();
    auto const known = [&] {
        auto const runs = ask(DaemonStatus{}).runs;
        return runs.size() == 1 && runs[0].controller_pid == controller.pid;
    };
    EXPECT_TRUE(eventually(known)) << daemon_log();
    fmt::print("the run was adopted after {:.2f} s\n", seconds_since(begin));
    expect_undisturbed(1);
    // It watches a process that is not its child.
    signal_process(controller, SIGKILL);
    await_event<ControllerStarted>(2);
    expect_undisturbed(2);
    stop_run();
}

TEST_F(E2eDaemon, BothMayBeKilledAtOnce) {
    start_long_run();
    ProcessId const controller = controller_id();
    kill_daemon();
    signal_process(controller, SIGKILL);
    start_daemon();
    await_event<ControllerStarted>(2);
    expect_undisturbed(2);
    stop_run();
}

TEST_F(E2eDaemon, ItsRunsContinueWhenItIsStopped) {
    start_long_run();
    EXPECT_EQ(ask(StopDaemon{}).runs.size(), 1u);
    EXPECT_EQ(reap(daemon_).exit_code, 0);
    EXPECT_FALSE(std::filesystem::exists(socket()));
    expect_undisturbed(1);
    start_daemon();
    stop_run();
}

TEST_F(E2eDaemon, ThereIsOneForAStateFolder) {
    auto const second = spawn_daemon();
    EXPECT_EQ(reap(second).exit_code, 4);
    EXPECT_EQ(ask(DaemonStatus{}).pid, daemon_.id.pid);
}

TEST_F(E2eDaemon, AListThatNamesOtherFoldersStartsNothingThere) {
    kill_daemon();
    make_run({.steps = 10000, .lease_s = 0}, "elsewhere/runs/e2e-0001");
    std::string const outside = paths().dir.string();
    auto const in_state = state() / "runs/e2e-0002";
    std::filesystem::copy(outside, in_state, std::filesystem::copy_options::recursive);
    std::filesystem::permissions(in_state, std::filesystem::perms::all);
    auto const list = fmt::format(R"({{"runs": ["{}", "{}", "/etc", "", "{}/runs/$(id)-0003"]}})",
                                  outside, in_state.string(), state().string());
    ASSERT_TRUE(write_file_atomic(state() / "daemon.json", list, 0600).has_value());
    start_daemon();
    EXPECT_TRUE(ask(DaemonStatus{}).runs.empty());
    EXPECT_THAT(daemon_log(), HasSubstr("elsewhere/runs/e2e-0001 is no run of"));
    EXPECT_THAT(daemon_log(), HasSubstr("/etc is no run of"));
    EXPECT_THAT(daemon_log(), HasSubstr("e2e-0002"));
}

TEST_F(E2eDaemon, AnUnknownPeerIsRefusedWithASentence) {
    DaemonHello other;
    other.protocol = 7;
    other.version = "9.9";
    auto const replies =
        talk({encode_message(ToDaemon(DaemonStatus{})), encode_message(ToDaemon(other)),
              encode_message(ToDaemon(DaemonStatus{})), "{\"type\":\"sudo\"}", "no json",
              encode_message(ToDaemon(DaemonHello{})), encode_message(ToDaemon(AdoptRun{"/tmp"})),
              encode_message(ToDaemon(DaemonStatus{}))});
    EXPECT_EQ(replies[0].message, "say hello first");
    EXPECT_THAT(replies[1].message, HasSubstr("speaks protocol 1, this osora (9.9) 7: restart it"));
    EXPECT_EQ(replies[2].message, "say hello first");
    EXPECT_THAT(replies[3].message, HasSubstr("sudo"));
    EXPECT_FALSE(replies[4].ok);
    EXPECT_TRUE(replies[5].ok);
    EXPECT_THAT(replies[6].message, HasSubstr("/tmp is no run of"));
    EXPECT_TRUE(replies[7].ok);
}

TEST_F(E2eDaemon, SystemdIsNotified) {
    auto const path = (folder() / "notify").string();
    DatagramListener const systemd(path);
    kill_daemon();
    set_variable(environment(), "NOTIFY_SOCKET", path);
    start_daemon();
    EXPECT_EQ(systemd.receive(), "READY=1");
    EXPECT_TRUE(ask(StopDaemon{}).ok);
    EXPECT_EQ(systemd.receive(), "STOPPING=1");
    (void)reap(daemon_);
}

}  // namespace
}  // namespace osora::e2e
