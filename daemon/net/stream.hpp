// A connected socket that is read and written without blocking: plain here, with TLS in
// tls_stream.hpp. Driven by FrameConnection. Private to shells (Asio inside).
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace osora::daemon {

namespace asio = boost::asio;

/// Completion token of the shells: errors are values, cancellation ends the coroutine.
inline constexpr auto kToken = asio::as_tuple(asio::use_awaitable);

class Stream {
public:
    using Socket = asio::generic::stream_protocol::socket;

    explicit Stream(Socket socket) : socket_(std::move(socket)) {}
    virtual ~Stream() = default;
    Stream(Stream const&) = delete;
    Stream& operator=(Stream const&) = delete;

    /// What can be read now; at least a byte, or an error: would_block (wait for the socket), eof.
    virtual std::size_t read_some(std::span<std::byte> into, boost::system::error_code& error) {
        return socket_.read_some(asio::buffer(into.data(), into.size()), error);
    }
    virtual std::size_t write_some(std::string_view bytes, boost::system::error_code& error) {
        return socket_.write_some(asio::buffer(bytes), error);
    }
    /// Whether read_some() will return bytes that have already been taken from the socket.
    [[nodiscard]] virtual bool has_buffered() const { return false; }

    Socket& socket() { return socket_; }

private:
    Socket socket_;
};

}  // namespace osora::daemon
