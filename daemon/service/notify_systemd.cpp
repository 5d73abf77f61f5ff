#include "daemon/service/notify_systemd.hpp"

#include "base/files/descriptor.hpp"
#include "base/files/files.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace osora::daemon {

Result<void> notify_systemd(std::string const& socket, std::string_view state) {
    if (socket.empty()) return {};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket.size() >= sizeof address.sun_path) {
        return Error{Errc::invalid_input, socket + ": too long for a socket"};
    }
    std::memcpy(address.sun_path, socket.data(), socket.size());
    if (socket.front() == '@') address.sun_path[0] = '\0';
    Descriptor const sender(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!sender.is_open()) return file_error(errno, "socket", socket);
    auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket.size());
    ssize_t const sent =
        ::sendto(sender.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                 reinterpret_cast<sockaddr const*>(&address), size);
    if (sent < 0) return file_error(errno, "send", socket);
    return {};
}

}  // namespace osora::daemon
