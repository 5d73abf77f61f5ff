// Kinds of notices (RunNotice.kind) that more than one process knows by name.
#pragma once

#include <string_view>

namespace osora::protocol {

/// What became of a message of [notify]: it was sent, or not, and then why.
inline constexpr std::string_view kNotificationNotice = "notification";
inline constexpr std::string_view kNotificationFailed = "notification_failed";

}  // namespace osora::protocol
