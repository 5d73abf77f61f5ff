// The one notification that systemd expects from a service with Type=notify.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace osora::daemon {

/// Sends `state` ("READY=1") as one datagram to `socket` ($NOTIFY_SOCKET; "@NAME" is an abstract
/// one). Nothing when `socket` is empty.
[[nodiscard]] Result<void> notify_systemd(std::string const& socket, std::string_view state);

}  // namespace osora::daemon
