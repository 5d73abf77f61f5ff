// Kinds of notices (RunNotice.kind) that more than one process knows by name.
#pragma once

#include "protocol/journal/run_events.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace osora::protocol {

/// What became of a message of [notify]: it was sent, or not, and then why.
inline constexpr std::string_view kNotificationNotice = "notification";
inline constexpr std::string_view kNotificationFailed = "notification_failed";
/// The steps have become slower than at the start of the run, or are as fast again.
inline constexpr std::string_view kThroughputSag = "throughput_sag";
inline constexpr std::string_view kThroughputBack = "throughput_back";
/// Where the controller serves metrics, or why it does not.
inline constexpr std::string_view kMetricsNotice = "metrics";

[[nodiscard]] inline RunNotice make_notice(std::string_view kind, std::string detail,
                                           std::string severity = "warning") {
    RunNotice notice;
    notice.kind = kind;
    notice.severity = std::move(severity);
    notice.detail = std::move(detail);
    return notice;
}

}  // namespace osora::protocol
