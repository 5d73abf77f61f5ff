// Strangers at the port of a probe's leader: they are closed, and probers get in.
#include "daemon/prober/leader_loop.hpp"
#include "daemon/prober/messages.hpp"
#include "protocol/journal/framing.hpp"
#include "tests/kit/patience.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

namespace osora::daemon {
namespace {

class Leading : public testing::Test {
protected:
    void SetUp() override {
        Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        address_.sin_family = AF_INET;
        address_.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address_;
        auto* const address = reinterpret_cast<sockaddr*>(&address_);
        ASSERT_EQ(::bind(listener.get(), address, size), 0);
        ASSERT_EQ(::listen(listener.get(), 512), 0);
        ASSERT_EQ(::getsockname(listener.get(), address, &size), 0);
        LeaderOptions options{.request = {}, .world_size = 2};
        options.request.token = "secret";
        options.join_limit_s = 10 * tests::kPatience_s;
        leader_ = std::thread([this, options, taken = listener.release()] {
            lead({.listener = Descriptor(taken),
                  .options = options,
                  .on_part = [](auto const&) {},
                  .on_result = [](auto const&) {},
                  .stop = stop_});
        });
    }
    void TearDown() override {
        stop_ = true;
        leader_.join();
    }
    Descriptor connect() {
        Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address_), sizeof address_),
                  0);
        return socket;
    }
    /// Whether the leader ends the connection while a test has patience.
    static bool is_closed(Descriptor const& socket) {
        pollfd waited{.fd = socket.get(), .events = POLLIN, .revents = 0};
        char byte = 0;
        return ::poll(&waited, 1, static_cast<int>(tests::kPatience_s * 1000)) == 1 &&
               ::recv(socket.get(), &byte, 1, 0) <= 0;
    }
    std::atomic<bool> stop_ = false;
    sockaddr_in address_{};
    std::thread leader_;
};

TEST_F(Leading, ASilentConnectionIsClosed) {
    Descriptor const silent = connect();
    EXPECT_TRUE(is_closed(silent));
}

TEST_F(Leading, AFrameThatIsNeverFinishedIsNotKept) {
    Descriptor const endless = connect();
    std::string bytes("\0\x0f\0\0", 4);  // says that about a mebibyte follows
    bytes.resize(200 << 10, 'x');
    (void)::send(endless.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    EXPECT_TRUE(is_closed(endless));
}

TEST_F(Leading, ManyStrangersDoNotKeepAProberOut) {
    std::vector<Descriptor> strangers;
    for (int i = 0; i < 200; ++i) strangers.push_back(connect());
    Descriptor const prober = connect();
    ProberHello hello;
    hello.token = "secret";
    hello.rank = 1;
    auto const frame = protocol::encode_frame(protocol::encode_message(FromProber(hello))).value();
    ASSERT_EQ(::send(prober.get(), frame.data(), frame.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(frame.size()));
    EXPECT_TRUE(is_closed(strangers.front()));
    EXPECT_TRUE(is_closed(strangers.back())) << "after its time for a hello";
    pollfd waited{.fd = prober.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&waited, 1, 0), 0) << "the prober is still there";
}

}  // namespace
}  // namespace osora::daemon
