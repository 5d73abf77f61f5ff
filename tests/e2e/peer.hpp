// A plain client for the sockets of a controller: sends anything, well-formed or not.
#pragma once

#include "base/files/descriptor.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace osora::e2e {

class Peer {
public:
    /// The test fails when nobody listens.
    static Peer connect_tcp(int port);
    static Peer connect_unix(std::string const& path);

    void send_bytes(std::string_view bytes) const;
    void send_frame(std::string_view body) const;
    /// The next frame; nullopt when the other side closed the connection, or after kPatience_s.
    [[nodiscard]] std::optional<std::string> receive_frame() const;
    /// Whether the other side closes the connection within kPatience_s, whatever it sends before.
    [[nodiscard]] bool is_dropped() const;

private:
    explicit Peer(int fd) : socket_(fd) {}
    [[nodiscard]] std::optional<std::string> receive_exactly(std::size_t bytes) const;
    Descriptor socket_;
};

/// Listens on a port of 127.0.0.1 and never accepts.
class Listener {
public:
    explicit Listener(int port);

private:
    Descriptor socket_;
};

/// A unix datagram socket at `path`, as systemd creates for services.
class DatagramListener {
public:
    explicit DatagramListener(std::string const& path);
    /// The next one; "" after kPatience_s.
    [[nodiscard]] std::string receive() const;

private:
    Descriptor socket_;
};

}  // namespace osora::e2e
