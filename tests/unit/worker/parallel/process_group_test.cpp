// Joining over TCP with a socket that another process opened, and the effect of a missing peer.
#include "worker/parallel/process_group.hpp"

#include "ranks.hpp"

#include <ATen/ops/full.h>
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace osora::worker {
namespace {

struct Listener {
    int fd = -1;
    std::uint16_t port = 0;
};

/// As the agent of node 0 does: bind first, so that the port is known and taken.
Listener listen_on_loopback() {
    Listener listener;
    listener.fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(listener.fd, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(::listen(listener.fd, 16), 0);
    EXPECT_EQ(::getsockname(listener.fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
    listener.port = ntohs(address.sin_port);
    return listener;
}

TEST(ProcessGroup, JoinsOverASocketThatIsAlreadyOpen) {
    allow_ranks_as_threads();
    auto const listener = listen_on_loopback();
    constexpr int kWorld = 3;
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < kWorld; ++rank)
        ranks.emplace_back([&, rank] {
            GroupConfig config;
            config.rank = rank;
            config.world_size = kWorld;
            config.store_port = listener.port;
            config.listen_fd = rank == 0 ? listener.fd : -1;
            config.timeout_s = 30;
            auto const group = join_gloo_group(config).value();
            std::vector<at::Tensor> values{at::full({2}, rank + 1.0)};
            group.backend().allreduce(values)->wait();
            EXPECT_EQ(values[0].sum().item<double>(), 12);
        });
}

/// Gloo's last bytes to a peer that is gone would end the process.
TEST(ProcessGroup, ABrokenPipeEndsNoRank) {
    std::signal(SIGPIPE, SIG_DFL);
    run_ranks(2, [](Group const&) {});
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    close(ends[0]);
    EXPECT_EQ(write(ends[1], "x", 1), -1);
    close(ends[1]);
}

TEST(ProcessGroup, AMissingStoreIsUnreachable) {
    auto listener = listen_on_loopback();
    ::shutdown(listener.fd, SHUT_RDWR);  // a port that refuses
    GroupConfig config;
    config.rank = 1;
    config.world_size = 2;
    config.store_port = listener.port;
    config.timeout_s = 1;
    auto const joined = join_gloo_group(config);
    ASSERT_TRUE(joined.has_error());
    EXPECT_EQ(joined.error().code, Errc::unreachable);
    EXPECT_NE(joined.error().message.find("rank 1 of 2"), std::string::npos);
    EXPECT_EQ(joined.error().message.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace osora::worker
