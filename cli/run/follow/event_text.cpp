// Lines of events: only what a person must know. Secondary failures (ranks that lost their peers)
// and repeated notices are counted, not shown.
#include "base/text/text.hpp"
#include "cli/run/follow/follow_text.hpp"

#include "base/text/units.hpp"
#include "cli/text/terminal.hpp"
#include "protocol/verdicts.hpp"

#include <fmt/format.h>

#include <ctime>
#include <utility>

namespace osora::cli {
namespace {

using protocol::RunState;
using protocol::RunView;

constexpr int kNoticesSaid = 3;   // of one kind
constexpr int kClockColumns = 8;  // "14:31:01"

bool is_running(RunView const& view) {
    return view.status.state == RunState::running;
}

std::string from_checkpoint(RunView const& view) {
    if (view.status.exec) return "";
    int const step = view.status.checkpoint_step;
    return step < 0 ? " from the start (no checkpoint yet)"
                    : " from checkpoint " + format_count(step);
}

/// In the layout of the plan's lines.
std::string probe_line(protocol::RunNotice const& event) {
    constexpr int kIndent = kLabelColumns;
    auto const text = filled(printable(event.detail), kIndent, kColumns);
    return "probe    " + text.substr(kIndent, text.size() - kIndent - 1);
}

}  // namespace

std::string EventText::at(std::int64_t wall_us, std::string const& text) const {
    std::time_t const seconds = wall_us / 1'000'000;
    std::tm parts{};
    (utc_ ? ::gmtime_r : ::localtime_r)(&seconds, &parts);
    return fmt::format("{:02}:{:02}:{:02}  {}", parts.tm_hour, parts.tm_min, parts.tm_sec,
                       printable(text));
}

std::string EventText::running(RunView const& after, std::int64_t wall_us) {
    int const ranks = after.nodes * after.ranks_per_node;
    double const took_s = static_cast<double>(wall_us - down_since_us_) / 1e6;
    std::string const took = format_seconds(std::max(took_s, 0.0));
    if (after.status.attempt == 0) {
        return fmt::format("{:<8} {} in {}", "launch", counted(ranks, "rank"), took);
    }
    std::string text = fmt::format("{} running again after {}", counted(ranks, "rank"), took);
    int const repeated = steps_at_fault_ - after.start_step;
    if (repeated > 0 && !after.status.exec) text += " · " + counted(repeated, "step") + " repeated";
    return at(wall_us, text);
}

void EventText::notice(std::vector<std::string>& lines, protocol::JournalRecord const& record,
                       protocol::RunNotice const& event) {
    if (event.kind == "probe") return lines.push_back(probe_line(event));
    int const said = ++notices_[event.kind];
    if (said > kNoticesSaid) return;
    std::string text = event.severity == "info" ? "" : event.severity + ": ";
    text += event.detail.empty() ? event.kind : event.detail;
    if (event.rank >= 0) text += fmt::format(" (rank {})", event.rank);
    if (said == kNoticesSaid) text += " · further ones are counted: osora report";
    std::string line = at(record.wall_us, text);
    if (event.severity == "info") {  // advice may be long; a warning stays one line
        line = block(line.substr(0, kClockColumns), text, kClockColumns + 2);
        line.pop_back();
    }
    lines.push_back(std::move(line));
}

std::vector<std::string> EventText::lines(RunView const& before,
                                          protocol::JournalRecord const& record,
                                          RunView const& after) {
    std::vector<std::string> lines;
    auto const say = [&](std::string const& text) { lines.push_back(at(record.wall_us, text)); };
    bool const changed = before.status.state != after.status.state;
    bool const exec = after.status.exec;
    if (auto const* failed = std::get_if<protocol::RankFailed>(&record.event)) {
        if (changed || !protocol::classify_failure(*failed, exec).secondary)
            say(describe(*failed, exec));
    } else if (auto const* lost = std::get_if<protocol::NodeLost>(&record.event)) {
        if (before.status.state != RunState::done) say(describe(*lost));
    } else if (auto const* hang = std::get_if<protocol::HangDetected>(&record.event)) {
        say(describe(*hang));
    } else if (auto const* event = std::get_if<protocol::RunNotice>(&record.event)) {
        notice(lines, record, *event);
    } else if (auto const* stop = std::get_if<protocol::StopRequested>(&record.event)) {
        say(fmt::format("{}: {}",
                        stop->now ? "stopping now"
                        : exec    ? "stopping"
                                  : "stopping after this step",
                        stop->reason));
    } else if (auto const* ask = std::get_if<protocol::RelaunchAsked>(&record.event)) {
        bool const hurry = before.status.asked_to_save && !after.status.asked_to_save;
        if (hurry) say("stopping now: " + (ask->reason.empty() ? describe(*ask) : ask->reason));
        if (after.status.asked_relaunches > before.status.asked_relaunches) {
            say(describe(*ask) + (ask->now || exec ? "" : " · stopping after this step"));
        }
    } else if (auto const* stopped = std::get_if<protocol::NodeStopped>(&record.event)) {
        if (stopped->processes_left > 0) {
            say(fmt::format("warning: {} left on node {}",
                            counted(stopped->processes_left, "process"), stopped->node));
        }
    } else if (auto const* joined = std::get_if<protocol::AgentJoined>(&record.event)) {
        auto const found = joined->facts.find("preflight");
        if (found != joined->facts.end() && found->second != "ok") {
            say(fmt::format("warning: node {} ({}): {}", joined->node, joined->host,
                            found->second));
        }
    } else if (auto const* started = std::get_if<protocol::ControllerStarted>(&record.event)) {
        if (started->incarnation > 0)
            say(fmt::format("controller {} takes over", started->incarnation + 1));
    }
    if (is_running(before) && !is_running(after)) {
        down_since_us_ = record.wall_us;
        steps_at_fault_ = before.steps_done;
    }
    if (down_since_us_ == 0) down_since_us_ = record.wall_us;
    if (after.status.asked_relaunches > before.status.asked_relaunches) asked_ = true;
    if (asked_ && after.status.attempt > before.status.attempt) {
        asked_ = false;
        say(fmt::format("relaunch{}, as asked", from_checkpoint(after)));
    }
    if (after.status.restarts > before.status.restarts) {
        asked_ = false;  // a fault came in between
        say(fmt::format("relaunch {} of {}{}", after.status.restarts, after.status.restarts_max,
                        from_checkpoint(after)));
    }
    if (after.status.free_retries > before.status.free_retries) {
        say("started again on another port; no restart is counted");
    }
    if (!is_running(before) && is_running(after)) lines.push_back(running(after, record.wall_us));
    return lines;
}

}  // namespace osora::cli
