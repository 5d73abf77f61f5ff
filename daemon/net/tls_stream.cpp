// OpenSSL uses the descriptor directly, which never blocks; Asio waits.
#include "daemon/net/tls_stream.hpp"

#include "daemon/net/deadline.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace osora::daemon {
namespace {

using boost::system::error_code;

constexpr std::size_t kIntMax = std::numeric_limits<int>::max();

Result<TlsContext> make_context(SSL_METHOD const* method) {
    TlsContext context(SSL_CTX_new(method));
    if (!context) return tls_error("make a TLS context");
    SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
    SSL_CTX_set_mode(context.get(),
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context.get(), 0);
    return context;
}

}  // namespace

void FreeTlsContext::operator()(SSL_CTX* context) const {
    SSL_CTX_free(context);
}

void TlsStream::FreeSsl::operator()(SSL* ssl) const {
    SSL_free(ssl);
}

Result<TlsContext> make_server_context(TlsIdentity const& identity) {
    OSORA_TRY(auto context, make_context(TLS_server_method()));
    bool const good = SSL_CTX_use_certificate(context.get(), identity.certificate()) == 1 &&
                      SSL_CTX_use_PrivateKey(context.get(), identity.key()) == 1;
    if (!good) return tls_error("use the controller's key");
    return context;
}

Result<TlsContext> make_client_context() {
    OSORA_TRY(auto context, make_context(TLS_client_method()));
    // Accept any certificate: its fingerprint decides, once the handshake has proved who holds its
    // key.
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
    return context;
}

TlsStream::TlsStream(Pass, Socket socket, std::unique_ptr<SSL, FreeSsl> ssl)
    : Stream(std::move(socket)), ssl_(std::move(ssl)) {}

Result<std::unique_ptr<TlsStream>> TlsStream::make(Socket socket, TlsContext const& context) {
    error_code error;
    socket.native_non_blocking(true, error);
    if (error) return Error{Errc::io, "TLS: " + error.message()};
    std::unique_ptr<SSL, FreeSsl> ssl(SSL_new(context.get()));
    if (!ssl || SSL_set_fd(ssl.get(), socket.native_handle()) != 1) return tls_error("TLS");
    if (SSL_is_server(ssl.get()) == 1) {
        SSL_set_accept_state(ssl.get());
    } else {
        SSL_set_connect_state(ssl.get());
    }
    return std::make_unique<TlsStream>(Pass(), std::move(socket), std::move(ssl));
}

error_code TlsStream::error_of(int result) const {
    int const saved = errno;
    switch (SSL_get_error(ssl_.get(), result)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE:
            return asio::error::would_block;
        case SSL_ERROR_ZERO_RETURN:
            return asio::error::eof;
        case SSL_ERROR_SYSCALL:
            if (saved == 0) return asio::error::eof;
            return {saved, boost::system::system_category()};
        default:
            break;
    }
    unsigned long const code = ERR_peek_error();
    ERR_clear_error();
    if (ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING) return asio::error::eof;
    return {static_cast<int>(code), asio::error::get_ssl_category()};
}

asio::awaitable<Result<void>> TlsStream::handshake(std::chrono::milliseconds limit) {
    Deadline const deadline(socket(), limit);
    while (true) {
        ERR_clear_error();
        errno = 0;
        int const result = SSL_do_handshake(ssl_.get());
        if (result == 1) co_return Result<void>();
        bool const writes = SSL_want_write(ssl_.get());
        error_code const error = error_of(result);
        if (error == asio::error::eof) {
            co_return Error{Errc::unreachable, "TLS: closed by the peer"};
        }
        if (error != asio::error::would_block) {
            co_return Error{Errc::io, "TLS: " + error.message()};
        }
        if (!deadline.expired()) {
            auto const wanted = writes ? Socket::wait_write : Socket::wait_read;
            co_await socket().async_wait(wanted, kToken);
        }
        if (deadline.expired()) co_return Error{Errc::timed_out, "TLS: no handshake in time"};
    }
}

std::string TlsStream::peer_fingerprint() const {
    TlsCertificate const certificate(SSL_get1_peer_certificate(ssl_.get()));
    return certificate ? fingerprint_of(certificate.get()) : "";
}

std::size_t TlsStream::read_some(std::span<std::byte> into, error_code& error) {
    ERR_clear_error();
    errno = 0;
    int const size = static_cast<int>(std::min(into.size(), kIntMax));
    int const got = SSL_read(ssl_.get(), into.data(), size);
    error = got > 0 ? error_code() : error_of(got);
    return got > 0 ? static_cast<std::size_t>(got) : 0;
}

std::size_t TlsStream::write_some(std::string_view bytes, error_code& error) {
    ERR_clear_error();
    errno = 0;
    int const size = static_cast<int>(std::min(bytes.size(), kIntMax));
    int const sent = SSL_write(ssl_.get(), bytes.data(), size);
    error = sent > 0 ? error_code() : error_of(sent);
    return sent > 0 ? static_cast<std::size_t>(sent) : 0;
}

bool TlsStream::has_buffered() const {
    return SSL_pending(ssl_.get()) > 0;
}

}  // namespace osora::daemon
