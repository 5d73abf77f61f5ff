// Over loopback: what is transferred, and every way in which the other side can be absent.
#include "topology/live/tcp_transfer.hpp"
#include "tests/kit/patience.hpp"
#include "topology/live/socket_address.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <algorithm>
#include <future>
#include <utility>

namespace osora::topology {
namespace {

TransferOptions options(double window_s) {
    return {
        .streams = 2, .warm_s = 0.02, .window_s = window_s, .connect_limit_s = tests::kPatience_s};
}
TransferOptions const kQuick = options(0.1);

struct BothEnds {
    Result<TransferResult> here, there;  // here: the end that connects, and pings

    [[nodiscard]] bool have_received() const {
        return here.has_value() && there.has_value() &&
               std::min(here->received_bytes, there->received_bytes) > 0;
    }
};

BothEnds transfer(TransferOptions const& how) {
    auto listener = StreamListener::open().value();
    auto other = std::async(std::launch::async, [&]() -> Result<TransferResult> {
        OSORA_TRY(auto streams, listener.accept("token", how));
        return run_transfer(std::move(streams), false, how);
    });
    auto streams = connect_streams("127.0.0.1", listener.port(), "", "token", how).value();
    auto here = run_transfer(std::move(streams), true, how);
    return {std::move(here), other.get()};
}

TEST(TcpTransfer, both_sides_receive_inside_the_window) {
    // A thread that does not run for a whole window receives nothing in it: then use a longer one.
    double window_s = 0.1;
    auto both = transfer(options(window_s));
    while (!both.have_received() && 2 * window_s < tests::kPatience_s) {
        window_s *= 2;
        both = transfer(options(window_s));
    }
    ASSERT_TRUE(both.here.has_value()) << both.here.error().message;
    ASSERT_TRUE(both.there.has_value()) << both.there.error().message;
    for (auto const& side : {*both.here, *both.there}) {
        EXPECT_GT(side.received_bytes, 0);
        EXPECT_GT(side.seconds, 0);
        EXPECT_LE(side.seconds, window_s + 1e-9);
    }
    EXPECT_GT(both.here->latency_us, 0);
    EXPECT_EQ(both.there->latency_us, 0);
}

TEST(TcpTransfer, streams_of_a_stranger_are_dropped) {
    auto listener = StreamListener::open();
    ASSERT_TRUE(listener.has_value());
    auto const stranger = connect_streams("127.0.0.1", listener->port(), "", "other", kQuick);
    TransferOptions impatient = kQuick;
    impatient.connect_limit_s = 0.5;  // in vain
    auto const accepted = listener->accept("token", impatient);
    ASSERT_TRUE(accepted.has_error());
    EXPECT_EQ(accepted.error().message, "accept: 0 of 2 streams came");
}

TEST(TcpTransfer, a_missing_peer_is_an_error_with_the_address) {
    auto const refused = connect_streams("127.0.0.1", 1, "", "t", kQuick);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().message, "127.0.0.1:1: connect: Connection refused");
    EXPECT_EQ(connect_streams("nowhere", 1, "", "t", kQuick).error().code, Errc::invalid_input);
    auto const bound = connect_streams("127.0.0.1", 1, "192.0.2.7", "t", kQuick);
    EXPECT_EQ(bound.error().message.substr(0, 32), "127.0.0.1:1: bind to 192.0.2.7: ");
}

TEST(TcpTransfer, a_side_that_disconnects_is_no_hang) {
    auto listener = StreamListener::open();
    ASSERT_TRUE(listener.has_value());
    auto other = std::async(std::launch::async,
                            [&] { return listener->accept("token", kQuick).has_value(); });
    auto streams = connect_streams("127.0.0.1", listener->port(), "", "token", kQuick);
    ASSERT_TRUE(streams.has_value());
    EXPECT_TRUE(other.get());  // and its streams are closed by now
    auto const result = run_transfer(std::move(*streams), true, kQuick);
    ASSERT_TRUE(result.has_error());
    EXPECT_EQ(result.error().code, Errc::unreachable);
}

TEST(SocketAddress, parses_numbers_and_nothing_else) {
    EXPECT_EQ(parse_address("10.1.2.3", 80)->family(), AF_INET);
    EXPECT_EQ(parse_address("::1", 80)->family(), AF_INET6);
    for (auto const* bad : {"", "host", "10.1.2.3.4", "[::1]"}) {
        EXPECT_TRUE(parse_address(bad, 1).has_error()) << bad;
    }
}

TEST(TcpTransfer, silent_strangers_hold_nobody_up) {
    auto listener = StreamListener::open();
    ASSERT_TRUE(listener.has_value());
    auto const to = parse_address("127.0.0.1", listener->port());
    ASSERT_TRUE(to.has_value());
    std::vector<Descriptor> strangers;
    for (int i = 0; i < 20; ++i) {
        strangers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ASSERT_EQ(::connect(strangers.back().get(), to->get(), to->size()), 0);
    }
    auto other = std::async(std::launch::async, [&] { return listener->accept("token", kQuick); });
    auto const streams = connect_streams("127.0.0.1", listener->port(), "", "token", kQuick);
    ASSERT_TRUE(streams.has_value());
    auto const accepted = other.get();
    ASSERT_TRUE(accepted.has_value()) << accepted.error().message;
    EXPECT_EQ(accepted->size(), 2u);
}

}  // namespace
}  // namespace osora::topology
