// Every event struct uses the same names for its attempt, node, rank and step, so they are found by
// name.
#include "db/ingest/event_row.hpp"

#include "protocol/messages/message.hpp"

#include <string_view>
#include <type_traits>
#include <variant>

namespace osora::db {
namespace {

using namespace protocol;

template <class Event>
std::string severity_of(Event const& event) {
    if constexpr (std::is_same_v<Event, RunNotice>) {
        return event.severity;
    } else if constexpr (std::is_same_v<Event, RunEnded>) {
        if (event.verdict == Verdict::ok) return "info";
        return event.verdict == Verdict::cancelled ? "warning" : "error";
    } else if constexpr (std::is_same_v<Event, NodeStopped>) {
        return event.processes_left > 0 ? "error" : "info";
    } else if constexpr (std::is_same_v<Event, RankFailed> || std::is_same_v<Event, NodeLost> ||
                         std::is_same_v<Event, HangDetected>) {
        return "error";
    } else {
        return "info";
    }
}

}  // namespace

EventRecord event_row(JournalRecord const& record) {
    EventRecord row;
    row.sequence = static_cast<std::int64_t>(record.sequence);
    row.wall_us = record.wall_us;
    std::visit(
        [&]<class Event>(Event const& event) {
            row.kind = Event::kType;
            row.severity = severity_of(event);
            if constexpr (requires { event.attempt; }) row.attempt = event.attempt;
            if constexpr (requires { event.node; }) row.node = event.node;
            if constexpr (requires { event.rank; }) row.rank = event.rank;
            if constexpr (requires { event.step; }) row.step = event.step;
            if constexpr (std::is_same_v<Event, RankStarted>) {
                RankStarted bare = event;
                bare.facts.clear();
                row.body = encode_message(RunEvent(bare));
            } else {
                row.body = encode_message(RunEvent(event));
            }
        },
        record.event);
    return row;
}

}  // namespace osora::db
