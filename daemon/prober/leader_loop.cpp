#include "daemon/prober/leader_loop.hpp"

#include "protocol/journal/framing.hpp"
#include "topology/live/socket_address.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <span>

namespace osora::daemon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTickMs = 50;
constexpr double kGoodbye_s = 2;
constexpr int kStrangersMax = 64;  // in addition to the probers; beyond it the oldest is closed
constexpr double kHelloLimit_s = 5;
constexpr std::size_t kHelloBytesMax = 64 << 10;  // a hello has its prober's addresses

double now_s() {
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

struct Connection {
    Descriptor socket;
    protocol::FrameReader frames;
    double since_s = 0;
    std::size_t bytes = 0;  // received before its hello
    int rank = -1;          // -1: has not said hello
    bool gone = false;
};

class Loop {
public:
    explicit Loop(LeaderLoop loop) : loop_(std::move(loop)), leader_(loop_.options) {}

    void run() {
        carry_out(leader_.tick(now_s()));
        double goodbye_s = 0;
        while (goodbye_s == 0 || (now_s() < goodbye_s && !connections_.empty())) {
            wait();
            if (loop_.stop && !leader_.is_done()) carry_out(leader_.finish());
            carry_out(leader_.tick(now_s()));
            close_silent();
            std::erase_if(connections_, [](Connection const& each) { return each.gone; });
            if (leader_.is_done() && goodbye_s == 0) goodbye_s = now_s() + kGoodbye_s;
        }
    }

private:
    void wait() {
        std::vector<pollfd> waited{{loop_.listener.get(), POLLIN, 0}};
        for (auto const& each : connections_) waited.push_back({each.socket.get(), POLLIN, 0});
        if (::poll(waited.data(), waited.size(), kTickMs) <= 0) return;
        for (std::size_t index = 1; index < waited.size(); ++index) {
            if (waited[index].revents != 0) read(connections_[index - 1]);
        }
        if (waited[0].revents != 0) accept();
    }

    void accept() {
        Descriptor socket(
            ::accept4(loop_.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket.is_open()) return;
        make_room();
        connections_.push_back({.socket = std::move(socket), .frames = {}, .since_s = now_s()});
    }

    static bool is_stranger(Connection const& each) { return each.rank < 0 && !each.gone; }

    /// A prober sends its hello at once, so the connection that waits longest is not one.
    void make_room() {
        auto const most = kStrangersMax + std::max(0, loop_.options.world_size);
        if (std::ranges::count_if(connections_, is_stranger) < most) return;
        std::ranges::find_if(connections_, is_stranger)->gone = true;
    }

    void close_silent() {
        double const since_s = now_s() - kHelloLimit_s;
        for (auto& each : connections_) {
            if (is_stranger(each) && each.since_s < since_s) close(each, "no hello in time");
        }
    }

    void read(Connection& from) {
        std::array<std::byte, 1 << 16> buffer;
        ssize_t const got = ::recv(from.socket.get(), buffer.data(), buffer.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got <= 0) return close(from, "its prober is gone");
        from.bytes += from.rank < 0 ? static_cast<std::size_t>(got) : 0;
        if (from.rank < 0 && from.bytes > kHelloBytesMax) return close(from, "no hello");
        auto frames = from.frames.feed(std::span(buffer).first(static_cast<std::size_t>(got)));
        if (frames.has_error()) return close(from, frames.error().message);
        for (std::string const& frame : *frames) {
            if (from.gone) return;
            hear(from, frame);
        }
    }

    void hear(Connection& from, std::string const& frame) {
        auto message = protocol::decode_message<FromProber>(frame);
        if (message.has_error()) return close(from, message.error().message);
        if (from.rank >= 0) return carry_out(leader_.heard(now_s(), from.rank, *message));
        auto* hello = std::get_if<ProberHello>(&*message);
        if (hello == nullptr) return close(from, "no hello");
        int const rank = hello->rank;
        auto actions =
            leader_.joined(now_s(), std::move(*hello), topology::peer_address(from.socket.get()));
        if (actions.has_error()) return close(from, actions.error().message);
        from.rank = rank;
        carry_out(std::move(*actions));
    }

    void close(Connection& which, std::string const& why) {
        which.gone = true;
        if (which.rank >= 0) carry_out(leader_.lost(now_s(), which.rank, why));
    }

    Connection* connection_of(int rank) {
        auto const at = std::ranges::find_if(
            connections_, [&](Connection const& each) { return each.rank == rank && !each.gone; });
        return at == connections_.end() ? nullptr : &*at;
    }

    void carry_out(LeaderActions actions) {
        for (auto& action : actions) {
            std::visit([&](auto& each) { act(each); }, action);
        }
    }
    void act(TellProber const& tell) {
        auto* to = connection_of(tell.rank);
        if (to == nullptr) return;
        auto const frame = protocol::encode_frame(tell.message);
        // Orders are short: a prober with a full buffer has stopped reading.
        bool const sent = frame.has_value() &&
                          ::send(to->socket.get(), frame->data(), frame->size(), MSG_NOSIGNAL) ==
                              static_cast<ssize_t>(frame->size());
        if (!sent) close(*to, "takes no orders");
    }
    void act(DropProber const& drop) {
        if (auto* which = connection_of(drop.rank)) which->gone = true;
    }
    void act(RoundMeasured const& measured) { loop_.on_part(measured.part); }
    void act(LeaderDone const& done) { loop_.on_result(done.result); }

    LeaderLoop loop_;
    ProbeLeader leader_;
    std::vector<Connection> connections_;
};

}  // namespace

void lead(LeaderLoop loop) {
    Loop(std::move(loop)).run();
}

}  // namespace osora::daemon
