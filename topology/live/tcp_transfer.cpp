// Non-blocking sockets with poll(); reads steady_clock once per wake-up.
#include "topology/live/tcp_transfer.hpp"

#include "base/robust.hpp"
#include "base/text/seconds.hpp"
#include "topology/live/socket_address.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace osora::topology {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kTokenBytes = 64, kSendBytes = 256 << 10;
constexpr int kPings = 11;
/// A side that started first continues this long for the other side's window.
constexpr double kTail_s = 0.05;

Clock::duration seconds(double value) {
    return duration_of<Clock::duration>(value);
}

int milliseconds_until(Clock::time_point when) {
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(when - Clock::now()).count();
    return static_cast<int>(std::max<std::int64_t>(0, left));
}

Error failed(int error, std::string_view what) {
    return {Errc::unreachable, fmt::format("{}: {}", what, std::strerror(error))};
}

/// True: ready; false: `until` has come.
bool wait_for(int socket, short events, Clock::time_point until) {
    while (true) {
        pollfd waited{.fd = socket, .events = events, .revents = 0};
        int const ready = ::poll(&waited, 1, milliseconds_until(until));
        if (ready > 0) return true;
        if (ready == 0 || errno != EINTR) return false;
    }
}

Result<void> send_all(int socket, std::string_view bytes, Clock::time_point until) {
    while (!bytes.empty()) {
        ssize_t const sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        } else if (errno != EAGAIN && errno != EINTR) {
            return failed(errno, "send");
        } else if (!wait_for(socket, POLLOUT, until)) {
            return Error{Errc::timed_out, "send: the other side does not read"};
        }
    }
    return {};
}

Result<std::string> receive_all(int socket, std::size_t count, Clock::time_point until) {
    std::string bytes(count, '\0');
    std::size_t have = 0;
    while (have < count) {
        ssize_t const got = ::recv(socket, bytes.data() + have, count - have, 0);
        if (got > 0) {
            have += static_cast<std::size_t>(got);
        } else if (got == 0) {
            return Error{Errc::unreachable, "receive: the other side closed the connection"};
        } else if (errno != EAGAIN && errno != EINTR) {
            return failed(errno, "receive");
        } else if (!wait_for(socket, POLLIN, until)) {
            return Error{Errc::timed_out, "receive: the other side sends nothing"};
        }
    }
    return bytes;
}

std::string padded(StreamToken const& token) {
    std::string bytes = token;
    bytes.resize(kTokenBytes, '\0');
    return bytes;
}

void prepare(int socket) {
    int const yes = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    // Data still queued at the end is discarded: the next round needs the link.
    linger const drop{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &drop, sizeof drop);
}

Result<Descriptor> connect_one(SocketAddress const& to, std::string const& from,
                               Clock::time_point until) {
    Descriptor socket(
        ::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
    if (!socket.is_open()) return failed(errno, "socket");
    if (!from.empty()) {
        OSORA_TRY(auto const own, parse_address(from, 0));
        if (::bind(socket.get(), own.get(), own.size()) != 0) {
            return failed(errno, "bind to " + from);
        }
    }
    if (::connect(socket.get(), to.get(), to.size()) == 0) return socket;
    if (errno != EINPROGRESS) return failed(errno, "connect");
    if (!wait_for(socket.get(), POLLOUT, until)) {
        return Error{Errc::unreachable, "connect: no answer"};
    }
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return failed(error, "connect");
    return socket;
}

/// The side with `pings` sends a byte and waits for it to come back.
Result<double> round_trip_us(int socket, bool pings, Clock::time_point until) {
    std::vector<double> times;
    for (int ping = 0; ping < kPings; ++ping) {
        auto const begin = Clock::now();
        if (pings) OSORA_TRY_VOID(send_all(socket, "p", until));
        OSORA_TRY(auto const byte, receive_all(socket, 1, until));
        if (!pings) OSORA_TRY_VOID(send_all(socket, byte, until));
        times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    return pings ? median(std::move(times)) : 0.0;
}

constexpr std::size_t kNewcomersMax = 64;

/// A connection that has not shown its whole token yet: strangers may never show one.
struct Newcomer {
    Descriptor socket;
    std::string shown;

    /// Reads more; true when the token is complete, or the peer is gone.
    bool has_shown_all() {
        std::array<char, kTokenBytes> buffer{};
        ssize_t const got = ::recv(socket.get(), buffer.data(), kTokenBytes - shown.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
        if (got <= 0) return true;
        shown.append(buffer.data(), static_cast<std::size_t>(got));
        return shown.size() == kTokenBytes;
    }
    Descriptor give() { return std::move(socket); }
};

struct Window {
    Clock::time_point begin, end, stop;
};

struct StreamCount {
    std::int64_t bytes = 0;
    Clock::time_point last;  // when it ended; before window.end: the peer disconnected
};

/// Runs until window.stop, or until the peer is gone.
StreamCount pump(int socket, Window const& window) {
    std::vector<char> in(kSendBytes), out(kSendBytes);
    StreamCount count;
    while (true) {
        pollfd waited{.fd = socket, .events = POLLIN | POLLOUT, .revents = 0};
        int const ready = ::poll(&waited, 1, milliseconds_until(window.stop));
        auto const now = Clock::now();
        count.last = now;
        if (now >= window.stop || (ready < 0 && errno != EINTR)) return count;
        if ((waited.revents & (POLLIN | POLLERR | POLLHUP)) != 0) {
            ssize_t const got = ::recv(socket, in.data(), in.size(), 0);
            if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return count;
            if (got > 0 && now >= window.begin && now < window.end) count.bytes += got;
        }
        if ((waited.revents & POLLOUT) != 0) {
            ssize_t const sent = ::send(socket, out.data(), out.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno != EAGAIN && errno != EINTR) return count;
        }
    }
}

}  // namespace

Result<std::vector<Descriptor>> connect_streams(std::string const& address, int port,
                                                std::string const& bind_address,
                                                StreamToken const& token,
                                                TransferOptions const& options) {
    auto const until = Clock::now() + seconds(options.connect_limit_s);
    OSORA_TRY(auto const to, parse_address(address, port));
    std::vector<Descriptor> streams;
    for (int stream = 0; stream < options.streams; ++stream) {
        auto socket = connect_one(to, bind_address, until);
        if (socket.has_error()) {
            return std::move(socket).error().in(fmt::format("{}:{}", address, port));
        }
        prepare(socket->get());
        OSORA_TRY_VOID(send_all(socket->get(), padded(token), until));
        streams.push_back(std::move(*socket));
    }
    return streams;
}

Result<StreamListener> StreamListener::open() {
    StreamListener listener;
    // An IPv6 socket also accepts IPv4; a kernel without IPv6 gets an IPv4 socket.
    for (auto const* any : {"::", "0.0.0.0"}) {
        OSORA_TRY(auto const address, parse_address(any, 0));
        Descriptor socket(
            ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
        int const no = 0;
        if (address.family() == AF_INET6) {
            ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
        }
        bool const bound = socket.is_open() &&
                           ::bind(socket.get(), address.get(), address.size()) == 0 &&
                           ::listen(socket.get(), 64) == 0;
        if (!bound) continue;
        listener.port_ = bound_port(socket.get());
        listener.socket_ = std::move(socket);
        return listener;
    }
    return failed(errno, "listen");
}

Result<std::vector<Descriptor>> StreamListener::accept(StreamToken const& token,
                                                       TransferOptions const& options) {
    auto const until = Clock::now() + seconds(options.connect_limit_s);
    auto const wanted = static_cast<std::size_t>(std::max(0, options.streams));
    std::vector<Descriptor> streams;
    std::vector<Newcomer> newcomers;  // oldest first
    while (streams.size() < wanted) {
        std::vector<pollfd> waited{{.fd = socket_.get(), .events = POLLIN, .revents = 0}};
        for (auto const& each : newcomers) waited.push_back({each.socket.get(), POLLIN, 0});
        int const ready = ::poll(waited.data(), waited.size(), milliseconds_until(until));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) {
            return Error{Errc::timed_out,
                         fmt::format("accept: {} of {} streams came", streams.size(), wanted)};
        }
        for (std::size_t i = 0; i < newcomers.size() && streams.size() < wanted; ++i) {
            if (waited[i + 1].revents == 0 || !newcomers[i].has_shown_all()) continue;
            if (newcomers[i].shown == padded(token)) streams.push_back(newcomers[i].give());
            newcomers[i].socket.reset();
        }
        std::erase_if(newcomers, [](Newcomer const& each) { return !each.socket.is_open(); });
        if (waited[0].revents == 0) continue;
        Descriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket.is_open()) continue;
        prepare(socket.get());
        if (newcomers.size() >= kNewcomersMax) newcomers.erase(newcomers.begin());
        newcomers.push_back({std::move(socket), {}});
    }
    return streams;
}

Result<TransferResult> run_transfer(std::vector<Descriptor> streams, bool pings,
                                    TransferOptions const& options) {
    if (streams.empty()) return Error{Errc::invalid_input, "a transfer without streams"};
    TransferResult result;
    auto const until = Clock::now() + seconds(options.connect_limit_s);
    OSORA_TRY(result.latency_us, round_trip_us(streams.front().get(), pings, until));
    Window window;
    window.begin = Clock::now() + seconds(options.warm_s);
    window.end = window.begin + seconds(options.window_s);
    window.stop = window.end + seconds(kTail_s);
    std::vector<StreamCount> counts(streams.size());
    std::vector<std::thread> threads;
    for (std::size_t stream = 0; stream < streams.size(); ++stream) {
        threads.emplace_back([&, stream] { counts[stream] = pump(streams[stream].get(), window); });
    }
    for (auto& thread : threads) thread.join();
    auto last = window.end;
    for (auto const& count : counts) {
        result.received_bytes += count.bytes;
        last = std::min(last, count.last);
    }
    result.seconds = std::chrono::duration<double>(last - window.begin).count();
    if (result.seconds <= 0) {
        return Error{Errc::unreachable, "the other side ended the transfer before it was measured"};
    }
    return result;
}

}  // namespace osora::topology
