// Commands get in however many silent connections are open.
#include "daemon/net/command_socket.hpp"
#include "base/env.hpp"
#include "base/files/descriptor.hpp"
#include "tests/kit/patience.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <boost/asio/io_context.hpp>

#include <vector>

namespace osora::daemon {
namespace {

class NoLog final : public LogSink {
public:
    void write(LogEntry const&) override {}
};

class Commands : public testing::Test {
protected:
    void listen(std::chrono::milliseconds idle_limit) {
        socket_ = std::make_unique<CommandSocket>(
            tasks_, log_,
            [] { return [](std::string const& frame) { return "answer to " + frame; }; },
            idle_limit);
        auto const folder = std::filesystem::path(testing::TempDir());
        auto const name = fmt::format("commands-{}.sock", ::getpid());
        CommandPlace const place{.socket = folder / name,
                                 .pointer = folder / (name + ".path"),
                                 .short_name = name,
                                 .runtime_dir = {}};
        auto const listening = socket_->listen(place);
        ASSERT_TRUE(listening.has_value()) << listening.error().message;
    }
    void TearDown() override { tasks_.cancel(); }

    Descriptor connect() {
        Descriptor peer(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        socket_->path().string().copy(address.sun_path, sizeof address.sun_path - 1);
        EXPECT_EQ(::connect(peer.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        context_.poll();
        return peer;
    }
    std::string ask(Descriptor const& peer, std::string_view command) {
        auto const frame = protocol::encode_frame(command).value();
        EXPECT_EQ(::send(peer.get(), frame.data(), frame.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(frame.size()));
        for (int i = 0; i < 10; ++i) context_.poll();
        std::string answer(4096, '\0');
        ssize_t const got = ::recv(peer.get(), answer.data(), answer.size(), MSG_DONTWAIT);
        return got > 4 ? answer.substr(4, static_cast<std::size_t>(got) - 4) : "";
    }
    static bool is_closed(Descriptor const& peer) {
        char byte = 0;
        return ::recv(peer.get(), &byte, 1, MSG_DONTWAIT) == 0;
    }

    boost::asio::io_context context_{1};
    TaskGroup tasks_{context_.get_executor(), [](std::string_view, std::string_view) {}};
    NoLog sink_;
    RealEnv env_;
    Logger log_{sink_, env_};
    std::unique_ptr<CommandSocket> socket_;
};

TEST_F(Commands, TheOneThatWasSilentLongestMakesRoom) {
    listen(CommandSocket::kIdleLimit);
    std::vector<Descriptor> others;
    for (std::size_t i = 0; i < CommandSocket::kPeersMax; ++i) others.push_back(connect());
    EXPECT_EQ(ask(others[0], "ping"), "answer to ping") << "no longer the one";
    Descriptor const last = connect();
    EXPECT_EQ(ask(last, "cancel"), "answer to cancel");
    EXPECT_TRUE(is_closed(others[1]));
    EXPECT_FALSE(is_closed(others[0]));
    EXPECT_FALSE(is_closed(others[2]));
    for (int i = 0; i < 100; ++i) {
        Descriptor const one_more = connect();
        EXPECT_EQ(ask(one_more, "cancel"), "answer to cancel");
    }
}

TEST_F(Commands, ALongSilentConnectionIsClosed) {
    listen(std::chrono::milliseconds(20));
    Descriptor const silent = connect();
    auto const until =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(tests::kPatience_s);
    while (!is_closed(silent) && std::chrono::steady_clock::now() < until) {
        context_.run_one_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(is_closed(silent));
}

}  // namespace
}  // namespace osora::daemon
