// This class owns the socket: its connect has a limit, and the kernel detects a silent peer within
// seconds. libssh gets a duplicate of its descriptor, which libssh closes.
#include "daemon/backends/ssh/ssh_connection.hpp"

#include "base/files/descriptor.hpp"
#include "base/text/shell_word.hpp"
#include "daemon/net/deadline.hpp"
#include "daemon/net/own_addresses.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <libssh/libssh.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace osora::daemon {
namespace {

using asio::ip::tcp;
using std::chrono::milliseconds;

constexpr milliseconds kSshConnectLimit{5000};  // for each address of a host
constexpr milliseconds kLongestWait = std::chrono::hours(1);
constexpr milliseconds kPauseOfWrites{5};

/// Also while nothing is sent: a host without power sends no reset.
void notice_silence(int socket) {
    prepare_socket(socket);
    int const yes = 1, idle_s = 2, between_s = 1, probes = 3;
    ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &between_s, sizeof between_s);
    ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

struct FreeSshKey {
    void operator()(ssh_key_struct* key) const { ssh_key_free(key); }
};

/// "SHA256:..." of the key that the server has shown.
std::string fingerprint_of(ssh_session session) {
    ssh_key raw = nullptr;
    if (ssh_get_server_publickey(session, &raw) != SSH_OK) return "no key";
    std::unique_ptr<ssh_key_struct, FreeSshKey> const key(raw);
    unsigned char* hash = nullptr;
    std::size_t length = 0;
    if (ssh_get_publickey_hash(key.get(), SSH_PUBLICKEY_HASH_SHA256, &hash, &length) != SSH_OK) {
        return "no fingerprint";
    }
    char* const text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, length);
    std::string const shown =
        fmt::format("{} {}", ssh_key_type_to_char(ssh_key_type(key.get())), text ? text : "?");
    ssh_string_free_char(text);
    ssh_clean_pubkey_hash(&hash);
    return shown;
}

std::string methods_of(ssh_session session) {
    int const list = ssh_userauth_list(session, nullptr);
    std::vector<std::string_view> names;
    if ((list & SSH_AUTH_METHOD_PUBLICKEY) != 0) names.emplace_back("publickey");
    if ((list & SSH_AUTH_METHOD_PASSWORD) != 0) names.emplace_back("password");
    if ((list & SSH_AUTH_METHOD_INTERACTIVE) != 0) names.emplace_back("keyboard-interactive");
    if ((list & SSH_AUTH_METHOD_GSSAPI_MIC) != 0) names.emplace_back("gssapi");
    return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
}

/// libssh replaces "%h" and the like.
std::string without_expansion(std::string_view path) {
    std::string made;
    for (char const each : path) made.append(each == '%' ? 2 : 1, each);
    return made;
}

}  // namespace

std::string by_hand(SshTarget const& target) {
    auto const& [host, login] = target;
    std::string const key =
        login.identity.empty() ? "" : fmt::format("-i {} ", shell_word(login.identity));
    std::string const known =
        login.known_hosts.empty()
            ? ""
            : fmt::format("-o {} ", shell_word("UserKnownHostsFile=" + login.known_hosts));
    return fmt::format("ssh {}{}{}{}", key, known,
                       host.port == 22 ? "" : fmt::format("-p {} ", host.port),
                       shell_word((host.user.empty() ? "" : host.user + "@") + host.host));
}

void SshConnection::Free::operator()(ssh_session_struct* session) const {
    ssh_silent_disconnect(session);  // no disconnect message: the peer may not answer
    ssh_free(session);
}

SshConnection::SshConnection(asio::any_io_executor executor, SshTarget target)
    : target_(std::move(target)), socket_(std::move(executor)), session_(ssh_new()) {}
SshConnection::~SshConnection() = default;

void SshConnection::interrupt() {
    interrupted_ = true;
    boost::system::error_code ignored;
    socket_.cancel(ignored);
}

Error SshConnection::failure(std::string_view doing) const {
    std::string why = ssh_get_error(session_.get());
    std::ranges::replace(why, '\n', ' ');
    bool const said = !why.empty() && why.size() < 400;
    return Error{Errc::unreachable,
                 fmt::format("{}: {}", doing, said ? why : "the connection was lost")};
}

asio::awaitable<Result<void>> SshConnection::activity() {
    Clock::duration const left = deadline_ - Clock::now();
    if (interrupted_) co_return Error{Errc::cancelled, "not wanted any more"};
    if (left <= Clock::duration::zero()) co_return Error{Errc::timed_out, "no answer in time"};
    // What libssh has not written yet. Its poll flags wait for a writable socket even when there is
    // nothing to write. While it waits for room, an answer may have to be read first.
    bool const wants = (ssh_get_status(session_.get()) & SSH_WRITE_PENDING) != 0;
    bool const writes = wants && !waited_for_write_;
    waited_for_write_ = writes;
    milliseconds const longest = wants && !writes ? kPauseOfWrites : kLongestWait;
    auto const limit = std::chrono::ceil<milliseconds>(std::min<Clock::duration>(left, longest));
    auto const direction = writes ? tcp::socket::wait_write : tcp::socket::wait_read;
    Deadline const deadline(socket_, limit);
    auto const [error] = co_await socket_.async_wait(direction, kToken);
    if (interrupted_) co_return Error{Errc::cancelled, "not wanted any more"};
    if (error && !deadline.expired()) co_return Error{Errc::unreachable, error.message()};
    co_return Result<void>();
}

asio::awaitable<Result<int>> SshConnection::settle(std::function<int()> step, int again) {
    while (true) {
        int const result = step();
        if (result != again) co_return result;
        auto const news = co_await activity();
        if (news.has_error()) co_return news.error();
    }
}

asio::awaitable<Result<void>> SshConnection::open(milliseconds limit) {
    set_limit(limit);
    if (session_ == nullptr) co_return Error{Errc::out_of_memory, "libssh: no session"};
    auto connected = co_await connect();
    if (connected.has_error()) co_return std::move(connected).error().in("connect");
    auto shaken = co_await shake_hands();
    if (shaken.has_error()) co_return std::move(shaken).error().in("ssh handshake");
    auto known = check_host_key();
    if (known.has_error()) co_return known;
    auto accepted = co_await log_in();
    if (accepted.has_error()) co_return std::move(accepted).error().in("log in");
    co_return Result<void>();
}

asio::awaitable<Result<void>> SshConnection::connect() {
    tcp::resolver resolver(socket_.get_executor());
    std::string const port = std::to_string(target_.host.port);
    auto const [unknown, found] = co_await resolver.async_resolve(target_.host.host, port, kToken);
    if (unknown) co_return Error{Errc::unreachable, "no address: " + unknown.message()};
    std::string failure = "it has no address";
    for (auto const& entry : found) {
        tcp::endpoint const endpoint = entry.endpoint();
        boost::system::error_code error;
        socket_.close(error);
        socket_.open(endpoint.protocol(), error);
        if (error) co_return Error{Errc::io, error.message()};
        notice_silence(socket_.native_handle());
        Deadline const deadline(socket_, kSshConnectLimit);
        auto const [failed] = co_await socket_.async_connect(endpoint, kToken);
        if (interrupted_) co_return Error{Errc::cancelled, "not wanted any more"};
        if (!failed) co_return Result<void>();
        failure = fmt::format("{} port {}: {}", endpoint.address().to_string(), port,
                              deadline.expired() ? "no answer" : failed.message());
    }
    co_return Error{Errc::unreachable, failure};
}

Result<void> SshConnection::configure() {
    int const descriptor = ::fcntl(socket_.native_handle(), F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) return Error{Errc::io, "dup: the descriptors are used up"};
    ssh_session const session = session_.get();
    bool const no_config = false;  // a user's ~/.ssh/config must not send agents elsewhere
    auto const port = static_cast<unsigned>(target_.host.port);
    bool good = ssh_options_set(session, SSH_OPTIONS_PROCESS_CONFIG, &no_config) == SSH_OK &&
                ssh_options_set(session, SSH_OPTIONS_HOST, target_.host.host.c_str()) == SSH_OK &&
                ssh_options_set(session, SSH_OPTIONS_PORT, &port) == SSH_OK &&
                ssh_options_set(session, SSH_OPTIONS_FD, &descriptor) == SSH_OK;
    if (good && !target_.host.user.empty()) {
        good = ssh_options_set(session, SSH_OPTIONS_USER, target_.host.user.c_str()) == SSH_OK;
    }
    SshLogin const& login = target_.login;
    if (good && !login.home.empty()) {
        std::string const folder = login.home + "/.ssh";
        good = ssh_options_set(session, SSH_OPTIONS_SSH_DIR, folder.c_str()) == SSH_OK;
    }
    auto const set_file = [&](ssh_options_e option, std::string_view path) {
        if (path.empty() || !good) return;
        std::string const text = without_expansion(path);
        good = ssh_options_set(session, option, text.c_str()) == SSH_OK;
    };
    set_file(SSH_OPTIONS_IDENTITY, login.identity);
    set_file(SSH_OPTIONS_KNOWNHOSTS, login.known_hosts);
    ssh_set_blocking(session, 0);
    if (!good) return failure("options");
    return {};
}

asio::awaitable<Result<void>> SshConnection::shake_hands() {
    auto configured = configure();
    if (configured.has_error()) co_return configured;
    std::function<int()> const step = [this] { return ssh_connect(session_.get()); };
    auto const done = co_await settle(step, SSH_AGAIN);
    if (done.has_error()) co_return done.error();
    if (*done != SSH_OK) co_return failure(target_.host.host);
    co_return Result<void>();
}

Result<void> SshConnection::check_host_key() const {
    plan::SshHost const& host = target_.host;
    auto const state = ssh_session_is_known_server(session_.get());
    if (state == SSH_KNOWN_HOSTS_OK) return {};
    std::string const shown = fingerprint_of(session_.get());
    if (state == SSH_KNOWN_HOSTS_CHANGED) {
        return Error{Errc::invalid_input,
                     fmt::format("its host key has changed ({}): another machine may pose as it; "
                                 "if the host was reinstalled: ssh-keygen -R {}",
                                 shown,
                                 shell_word(host.port == 22
                                                ? host.host
                                                : fmt::format("[{}]:{}", host.host, host.port)))};
    }
    if (state == SSH_KNOWN_HOSTS_ERROR) return failure("known_hosts");
    return Error{Errc::invalid_input,
                 fmt::format("its host key is unknown ({}); check and accept it with: {}", shown,
                             by_hand(target_))};
}

asio::awaitable<Result<void>> SshConnection::log_in() {
    std::function<int()> const ask = [this] { return ssh_userauth_none(session_.get(), nullptr); };
    auto const asked = co_await settle(ask, SSH_AUTH_AGAIN);
    if (asked.has_error()) co_return asked.error();
    if (*asked == SSH_AUTH_SUCCESS) co_return Result<void>();
    if (*asked == SSH_AUTH_ERROR) co_return failure("refused");
    std::function<int()> const show = [this] {
        return ssh_userauth_publickey_auto(session_.get(), nullptr, nullptr);
    };
    auto const shown = co_await settle(show, SSH_AUTH_AGAIN);
    if (shown.has_error()) co_return shown.error();
    if (*shown == SSH_AUTH_SUCCESS) co_return Result<void>();
    SshLogin const& login = target_.login;
    std::string const who = target_.host.user.empty() ? "" : "user " + target_.host.user + ": ";
    co_return Error{Errc::invalid_input,
                    fmt::format("{}no key of the ssh agent or of {} was accepted (it takes: "
                                "{}); this must work without a prompt: {} true",
                                who, login.identity.empty() ? "~/.ssh" : "ssh.identity",
                                methods_of(session_.get()), by_hand(target_))};
}

}  // namespace osora::daemon
