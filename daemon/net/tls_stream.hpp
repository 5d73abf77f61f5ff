// TLS 1.3 over a socket (docs/rfc/002). The controller shows its identity; the agent knows the
// fingerprint beforehand and sends nothing to any other peer. Private to shells (Asio inside).
#pragma once

#include "base/result.hpp"
#include "daemon/net/stream.hpp"
#include "daemon/net/tls_identity.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <string>

using SSL = struct ssl_st;  // as in OpenSSL's headers
using SSL_CTX = struct ssl_ctx_st;

namespace osora::daemon {

struct FreeTlsContext {
    void operator()(SSL_CTX* context) const;
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTlsContext>;

/// For connections that are accepted; `identity` may be destroyed afterwards.
[[nodiscard]] Result<TlsContext> make_server_context(TlsIdentity const& identity);
[[nodiscard]] Result<TlsContext> make_client_context();

class TlsStream final : public Stream {
    struct FreeSsl {
        void operator()(SSL* ssl) const;
    };
    struct Pass {};  // only make() can construct one

public:
    /// `context` decides which side this is, and may be destroyed afterwards.
    [[nodiscard]] static Result<std::unique_ptr<TlsStream>> make(Socket socket,
                                                                 TlsContext const& context);
    /// Before anything is read or written. timed_out; unreachable: the peer closed the connection;
    /// io: it does not speak TLS 1.3, or refuses this side.
    [[nodiscard]] asio::awaitable<Result<void>> handshake(std::chrono::milliseconds limit);
    /// The fingerprint of the peer's certificate; "" without one.
    [[nodiscard]] std::string peer_fingerprint() const;

    std::size_t read_some(std::span<std::byte> into, boost::system::error_code& error) override;
    std::size_t write_some(std::string_view bytes, boost::system::error_code& error) override;
    [[nodiscard]] bool has_buffered() const override;

    TlsStream(Pass pass, Socket socket, std::unique_ptr<SSL, FreeSsl> ssl);

private:
    /// The outcome of an operation that gave `result`.
    [[nodiscard]] boost::system::error_code error_of(int result) const;

    std::unique_ptr<SSL, FreeSsl> ssl_;
};

}  // namespace osora::daemon
