#include "protocol/journal/event_limits.hpp"

#include <fmt/format.h>

#include <string_view>
#include <type_traits>

namespace osora::protocol {
namespace {

/// Calls use(name, number, least, most) for each number that others are computed from.
template <class Event, class Use>
void each_number(Event& event, Use const& use) {
    using Plain = std::remove_const_t<Event>;
    if constexpr (std::is_same_v<Plain, RunSubmitted>) {
        use("nodes", event.nodes, 1, kRunNodesMax);
        use("ranks_per_node", event.ranks_per_node, 1, kRunRanksPerNodeMax);
        use("steps", event.steps, 0, kNumberMax);
        use("number", event.number, 0, kNumberMax);
        use("restarts_max", event.restarts_max, 0, kNumberMax);
    } else if constexpr (std::is_same_v<Plain, ControllerStarted>) {
        use("incarnation", event.incarnation, 0, kNumberMax);
    } else if constexpr (std::is_same_v<Plain, RankStarted>) {
        use("start_step", event.start_step, 0, kNumberMax);
    } else if constexpr (std::is_same_v<Plain, RankMatrix>) {
        use("step0", event.step0, 0, kNumberMax);
        use("steps", event.steps, 0, kNumberMax);
        use("first_rank", event.first_rank, 0, kNumberMax);
        use("ranks", event.ranks, 0, kNumberMax);
    } else if constexpr (std::is_same_v<Plain, CollectiveSums>) {
        use("number", event.number, 0, kNumberMax);
    } else if constexpr (requires { event.step0; }) {
        use("step0", event.step0, 0, kNumberMax);
    }
    if constexpr (requires { event.attempt; }) use("attempt", event.attempt, -1, kNumberMax);
    if constexpr (requires { event.node; }) use("node", event.node, -1, kRunNodesMax);
    if constexpr (requires { event.rank; }) use("rank", event.rank, -1, kNumberMax);
    if constexpr (requires { event.step; }) use("step", event.step, -1, kNumberMax);
}

template <class Event>
constexpr bool kIsFigures =
    std::is_same_v<Event, MetricChunk> || std::is_same_v<Event, MergedSteps> ||
    std::is_same_v<Event, RankMatrix> || std::is_same_v<Event, CollectiveSums>;

std::string problem_in(auto const& event) {
    std::string problem;
    each_number(event, [&](std::string_view name, auto number, int least, int most) {
        if ((number >= least && number <= most) || !problem.empty()) return;
        problem =
            fmt::format("{}: {} is {}, expected {} to {}",
                        std::remove_cvref_t<decltype(event)>::kType, name, number, least, most);
    });
    return problem;
}

template <class Event>
Event limited_event(Event event) {
    if constexpr (kIsFigures<Event>) return problem_in(event).empty() ? event : Event{};
    each_number(event, [](std::string_view, auto& number, int least, int most) {
        if (number < least || number > most) number = least;
    });
    return event;
}

}  // namespace

std::string problem_of(RunEvent const& event) {
    return std::visit([](auto const& each) { return problem_in(each); }, event);
}

RunEvent limited(RunEvent event) {
    return std::visit([](auto& each) { return RunEvent(limited_event(std::move(each))); }, event);
}

}  // namespace osora::protocol
