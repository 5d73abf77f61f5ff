// What nodes report all the time: figures of steps, ranks, collectives, of health, of probes. They
// decide nothing and change no state, so they are not synced, and they are dropped first when there
// are too many.
#pragma once

#include "protocol/journal/run_events.hpp"

#include <type_traits>
#include <variant>

namespace osora::protocol {

template <class T>
inline constexpr bool is_measurement =
    std::is_same_v<T, MetricChunk> || std::is_same_v<T, RankMatrix> ||
    std::is_same_v<T, NodeHealth> || std::is_same_v<T, ProbePart> ||
    std::is_same_v<T, MergedSteps> || std::is_same_v<T, CollectiveSums>;

/// Of a RunEvent, or of any message.
template <class... T>
[[nodiscard]] bool holds_measurement(std::variant<T...> const& message) {
    return std::visit([]<class Each>(Each const&) { return is_measurement<Each>; }, message);
}

}  // namespace osora::protocol
