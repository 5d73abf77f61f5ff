// An HTTP server's sockets with short limits: who is closed, and that nobody else notices.
#include "base/http/http_server_internal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include <atomic>
#include <thread>

namespace osora {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::size_t kEventBytes = 8 << 10;
constexpr std::size_t kWindowBytes = 32 << 10;  // that the reader which reads may be behind

class HttpSockets : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_TRUE(server_.listen({"127.0.0.1", 0}, "").has_value());
        thread_ = std::thread([this] { loop_.run(); });
    }
    void TearDown() override {
        asio::post(loop_, [this] {
            server_.close();
            tasks_.cancel();
        });
        thread_.join();
    }

    tcp::socket connected(std::string const& text) {
        tcp::socket socket(clients_);
        socket.open(tcp::v4());
        socket.set_option(asio::socket_base::receive_buffer_size(4 << 10));
        socket.connect(
            {asio::ip::address_v4::loopback(), static_cast<unsigned short>(server_.port())});
        asio::write(socket, asio::buffer(text));
        return socket;
    }
    /// Bytes until the connection ends, or `enough`.
    std::size_t read(tcp::socket& socket, std::size_t enough) {
        std::vector<char> bytes(1 << 16);
        std::size_t total = 0;
        while (total < enough) {
            boost::system::error_code error;
            auto const got = socket.read_some(asio::buffer(bytes), error);
            if (error) break;
            total += got;
            taken_ = total;
        }
        return total;
    }
    /// An event whenever the reader that reads has taken most of those before.
    std::vector<std::string> next_events() {
        if (sent_ > taken_ + kWindowBytes) return {};
        sent_ += kEventBytes;
        return {std::string(kEventBytes, 'e')};
    }

    asio::io_context loop_, clients_;
    TaskGroup tasks_{loop_.get_executor(), [](auto task, auto what) { FAIL() << task << what; }};
    HttpServer server_{
        tasks_,
        {.answer = [](WebRequest const&) { return WebResponse{.is_events = true}; },
         .plain = [](int status, std::string const&) { return WebResponse{.status = status}; },
         .poll = [this] { return next_events(); },
         .newest = [] { return std::vector<std::string>(); }},
        {.request = std::chrono::milliseconds(50),
         .heartbeat = std::chrono::milliseconds(50),
         .poll = std::chrono::milliseconds(1)}};
    std::thread thread_;
    std::atomic<std::size_t> sent_ = 0, taken_ = 0;
};

constexpr std::size_t kMuch = 8 << 20;  // more than sockets and queues hold
constexpr char const* kEvents = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST_F(HttpSockets, ClosesWhoSendsNothingOrHalfARequest) {
    auto silent = connected("");
    EXPECT_EQ(read(silent, 1), 0u);
    auto slow = connected("GET / HTTP/1.1\r\nHost: loc");
    EXPECT_EQ(read(slow, 1), 0u);
}

TEST_F(HttpSockets, DropsAReaderThatDoesNotReadAndServesTheOther) {
    auto deaf = connected(kEvents);
    auto reader = connected(kEvents);
    EXPECT_GE(read(reader, kMuch), kMuch);
    auto const got = read(deaf, kMuch);  // what was on its way
    EXPECT_GT(got, 0u);
    EXPECT_LT(got, kMuch / 4);
}

}  // namespace
}  // namespace osora
