// A connection to one host's sshd: the host key is known, the login needs no prompt. libssh is used
// without blocking, so that all of it runs on the controller's loop. Driven by ssh_command.hpp.
// Private to shells (Asio inside).
#pragma once

#include "base/result.hpp"
#include "daemon/net/stream.hpp"
#include "plan/config/ssh_hosts.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

struct ssh_session_struct;

namespace osora::daemon {

struct SshLogin {
    std::string home;  // its .ssh holds keys and known_hosts; "": the user database's home
    std::string identity, known_hosts;  // files; "": those in home
};
struct SshTarget {
    plan::SshHost host;
    SshLogin login;
};

class SshConnection {
public:
    using Clock = std::chrono::steady_clock;

    SshConnection(asio::any_io_executor executor, SshTarget target);
    ~SshConnection();
    SshConnection(SshConnection const&) = delete;
    SshConnection& operator=(SshConnection const&) = delete;

    /// unreachable: no such host, or it does not answer; invalid_input: a key or user is rejected,
    /// which a retry does not change.
    [[nodiscard]] asio::awaitable<Result<void>> open(std::chrono::milliseconds limit);
    /// Pending calls return `cancelled`; the connection is useless after this.
    void interrupt();

    /// Starts the limit now; what is not done by then is `timed_out`.
    void set_limit(std::chrono::milliseconds limit) { deadline_ = Clock::now() + limit; }
    void set_no_limit() { deadline_ = Clock::time_point::max(); }
    /// Calls `step` whenever the socket is ready, until it returns something other than `again`.
    [[nodiscard]] asio::awaitable<Result<int>> settle(std::function<int()> step, int again);
    /// Waits for the socket; cancelled, timed_out.
    [[nodiscard]] asio::awaitable<Result<void>> activity();
    [[nodiscard]] ssh_session_struct* raw() const { return session_.get(); }
    /// The error of `doing`, with libssh's text.
    [[nodiscard]] Error failure(std::string_view doing) const;

private:
    struct Free {
        void operator()(ssh_session_struct* session) const;
    };

    asio::awaitable<Result<void>> connect();
    asio::awaitable<Result<void>> shake_hands();
    [[nodiscard]] Result<void> configure();
    [[nodiscard]] Result<void> check_host_key() const;
    asio::awaitable<Result<void>> log_in();

    SshTarget target_;
    asio::ip::tcp::socket socket_;
    std::unique_ptr<ssh_session_struct, Free> session_;
    Clock::time_point deadline_{};
    bool interrupted_ = false;
    bool waited_for_write_ = false;  // in the last activity()
};

/// The command with which a user logs in by hand, and so checks and accepts a host's key: "ssh -p
/// 2222 eva@n1".
[[nodiscard]] std::string by_hand(SshTarget const& target);

}  // namespace osora::daemon
