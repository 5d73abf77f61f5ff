// Over loopback: what is carried, and every way in which the other side is not there.
#include "topology/probe/tcp_transfer.hpp"
#include "topology/probe/socket_address.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <future>

namespace osora::topology {
namespace {

constexpr TransferOptions kQuick{
    .streams = 2, .warm_s = 0.02, .window_s = 0.1, .connect_limit_s = 0.5};

TEST(TcpTransfer, both_sides_receive_for_the_whole_window) {
    auto listener = StreamListener::open();
    ASSERT_TRUE(listener.has_value()) << listener.error().message;
    auto other = std::async(std::launch::async, [&]() -> Result<TransferResult> {
        OSORA_TRY(auto streams, listener->accept("token", kQuick));
        return run_transfer(std::move(streams), false, kQuick);
    });
    auto streams = connect_streams("127.0.0.1", listener->port(), "", "token", kQuick);
    ASSERT_TRUE(streams.has_value()) << streams.error().message;
    auto const here = run_transfer(std::move(*streams), true, kQuick);
    auto const there = other.get();
    ASSERT_TRUE(here.has_value() && there.has_value());
    for (auto const& side : {*here, *there}) {
        EXPECT_GT(side.received_bytes, 100'000);
        EXPECT_GT(side.seconds, 0.05);
        EXPECT_LE(side.seconds, kQuick.window_s + 1e-9);
    }
    EXPECT_GT(here->latency_us, 0);
    EXPECT_EQ(there->latency_us, 0);
}

TEST(TcpTransfer, streams_of_a_stranger_are_dropped) {
    auto listener = StreamListener::open();
    ASSERT_TRUE(listener.has_value());
    auto const stranger = connect_streams("127.0.0.1", listener->port(), "", "other", kQuick);
    auto const accepted = listener->accept("token", kQuick);
    ASSERT_TRUE(accepted.has_error());
    EXPECT_EQ(accepted.error().message, "accept: 0 of 2 streams came");
}

TEST(TcpTransfer, nobody_there_is_an_error_with_the_address) {
    auto const refused = connect_streams("127.0.0.1", 1, "", "t", kQuick);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().message, "127.0.0.1:1: connect: Connection refused");
    EXPECT_EQ(connect_streams("nowhere", 1, "", "t", kQuick).error().code, Errc::invalid_input);
    auto const bound = connect_streams("127.0.0.1", 1, "192.0.2.7", "t", kQuick);
    EXPECT_EQ(bound.error().message.substr(0, 32), "127.0.0.1:1: bind to 192.0.2.7: ");
}

TEST(TcpTransfer, a_side_that_goes_away_is_no_hang) {
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

}  // namespace
}  // namespace osora::topology
