// Nothing is sent, the token least of all, before the other side has shown the right certificate.
#include "daemon/agent/controller_link.hpp"

#include "base/ids.hpp"
#include "daemon/net/controller_file.hpp"
#include "daemon/net/deadline.hpp"
#include "daemon/net/own_addresses.hpp"
#include "protocol/messages/message.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::daemon {
namespace {

using asio::ip::tcp;
using std::chrono::milliseconds;

constexpr milliseconds kBackoffMin{50}, kBackoffMax{1000};
constexpr milliseconds kControllerConnectLimit{2000}, kControllerHandshakeLimit{5000};

bool same_place(AgentAddress const& a, AgentAddress const& b) {
    return a.addresses == b.addresses && a.port == b.port && a.fingerprint == b.fingerprint;
}

}  // namespace

ControllerLink::ControllerLink(AgentStart start, TaskGroup& tasks, Env& env, Logger& log,
                               Handlers handlers)
    : start_(std::move(start)),
      tasks_(tasks),
      env_(env),
      log_(log),
      handlers_(std::move(handlers)),
      closed_(tasks.executor()) {
    closed_.expires_at(asio::steady_timer::time_point::max());
}

asio::awaitable<void> ControllerLink::run() {
    asio::steady_timer pause(tasks_.executor());
    auto backoff = kBackoffMin;
    while (true) {
        bool const connected = co_await connect_to_any();
        if (connected) backoff = kBackoffMin;
        while (link_) co_await closed_.async_wait(kToken);
        // Half of it is jitter: many agents must not reconnect at the same moment.
        auto const jitter = milliseconds(env_.random() % 1000) * backoff.count() / 2000;
        pause.expires_after(backoff / 2 + jitter);
        backoff = std::min(backoff * 2, kBackoffMax);
        co_await pause.async_wait(kToken);
    }
}

/// A restarted controller may listen elsewhere, with the same key. An agent of a run with TLS never
/// goes back to an address without TLS.
std::vector<AgentAddress> ControllerLink::places() const {
    std::vector<AgentAddress> found;
    protocol::RunPaths const paths{start_.run_dir};
    auto const file = read_controller_file(paths, start_.run_uuid);
    if (file.has_value() && file->fingerprint.empty() == start_.controller.fingerprint.empty()) {
        found.push_back({file->addresses, file->port, file->fingerprint});
    }
    if (found.empty() || !same_place(found.front(), start_.controller)) {
        found.push_back(start_.controller);
    }
    return found;
}

asio::awaitable<bool> ControllerLink::connect_to_any() {
    auto const all = places();
    std::string failure = "no address is known";
    for (AgentAddress const& place : all) {
        for (std::string const& address : place.addresses) {
            auto const connected = co_await connect(place, address);
            if (connected.has_value()) co_return true;
            failure = fmt::format("{} port {}: {}", address, place.port, connected.error().message);
        }
    }
    tell(failure);
    co_return false;
}

void ControllerLink::tell(std::string const& failure) {
    if (std::exchange(last_failure_, failure) == failure) return;
    log_.warning("cannot reach the controller", {{"why", failure}});
}

asio::awaitable<Result<void>> ControllerLink::connect(AgentAddress place, std::string address) {
    boost::system::error_code error;
    auto const host = asio::ip::make_address(address, error);
    if (error) co_return Error{Errc::invalid_input, "not an address"};
    tcp::endpoint const endpoint(host, static_cast<std::uint16_t>(place.port));
    tcp::socket socket(tasks_.executor());
    socket.open(endpoint.protocol(), error);
    if (error) co_return Error{Errc::io, error.message()};
    {
        Deadline const deadline(socket, kControllerConnectLimit);
        auto const [failed] = co_await socket.async_connect(endpoint, kToken);
        if (deadline.expired()) co_return Error{Errc::timed_out, "no answer"};
        if (failed) co_return Error{Errc::unreachable, failed.message()};
    }
    prepare_socket(socket.native_handle());
    local_address_ = socket.local_endpoint(error).address().to_string();
    auto stream = co_await secure(std::move(socket), place.fingerprint);
    if (stream.has_error()) co_return std::move(stream).error();
    adopt(std::move(*stream));
    co_return Result<void>();
}

asio::awaitable<Result<std::unique_ptr<Stream>>> ControllerLink::secure(tcp::socket socket,
                                                                        std::string fingerprint) {
    using Secured = Result<std::unique_ptr<Stream>>;
    if (fingerprint.empty()) co_return Secured(std::make_unique<Stream>(std::move(socket)));
    auto const context = make_client_context();
    if (context.has_error()) co_return context.error();
    auto stream = TlsStream::make(std::move(socket), *context);
    if (stream.has_error()) co_return std::move(stream).error();
    auto shaken = co_await (*stream)->handshake(kControllerHandshakeLimit);
    if (shaken.has_error()) co_return std::move(shaken).error();
    std::string const shown = (*stream)->peer_fingerprint();
    if (!equal_constant_time(shown, fingerprint)) {
        co_return Error{
            Errc::unreachable,
            fmt::format("not the run's controller: its certificate is {:.16}..., that of the "
                        "run's controller {:.16}...",
                        shown, fingerprint)};
    }
    co_return Secured(std::move(*stream));
}

void ControllerLink::adopt(std::unique_ptr<Stream> stream) {
    last_failure_.clear();
    link_ = std::make_shared<FrameConnection>(std::move(stream), tasks_, "controller");
    auto on_frame = [this](std::string const& frame) {
        auto message = protocol::decode_message<protocol::ToAgent>(frame);
        if (message.has_error()) return link_->close(message.error().message);
        handlers_.on_message(std::move(*message));
    };
    auto on_closed = [this](Error const& why) {
        log_.warning("controller disconnected", {{"why", why.message}});
        link_.reset();
        handlers_.on_disconnected();
        closed_.cancel();
    };
    link_->start({.on_frame = std::move(on_frame), .on_closed = std::move(on_closed)});
    handlers_.on_connected();
}

void ControllerLink::send(protocol::FromAgent const& message) {
    if (link_) link_->send(protocol::encode_message(message));
}

}  // namespace osora::daemon
