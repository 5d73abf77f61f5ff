#include "db/analysis/report/run_spans.hpp"

#include "db/analysis/report/relaunches.hpp"
#include "protocol/journal/run_events.hpp"
#include "protocol/messages/message.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace osora::db::analysis {
namespace {

using namespace protocol;

/// -1 for an invalid time.
std::int64_t micros(double seconds) {
    constexpr double kMax_s = 1e9;
    return seconds >= 0 && seconds < kMax_s ? std::llround(1e6 * seconds) : -1;
}

/// Iterates over a run's events.
class Spans {
public:
    explicit Spans(std::vector<LaunchTimes> const& launches) : launches_(launches) {}

    void take(std::int64_t wall_us, RunEvent const& event) {
        if (auto const* submitted = std::get_if<RunSubmitted>(&event)) {
            submitted_us_ = submitted->submitted_us;
        } else if (auto const* controller = std::get_if<ControllerStarted>(&event)) {
            if (controller_us_ == 0) take(wall_us, *controller);
        } else if (std::holds_alternative<AgentJoined>(event)) {
            if (ordered_.empty()) agents_us_ = wall_us;
        } else if (auto const* launch = std::get_if<LaunchOrdered>(&event)) {
            take(wall_us, *launch);
        } else if (auto const* rank = std::get_if<RankStarted>(&event)) {
            take(wall_us, *rank);
        } else if (auto const* checkpoint = std::get_if<CheckpointCompleted>(&event)) {
            add("checkpoint", wall_us - micros(checkpoint->seconds), wall_us, checkpoint->attempt,
                checkpoint->step);
        } else if (std::holds_alternative<RunEnded>(event)) {
            ended_us_ = wall_us;
        }
    }

    std::vector<RunSpan> finish(std::vector<EventRecord> const& events) {
        if (controller_us_ > 0 && agents_us_ > 0) add("agents", controller_us_, agents_us_);
        for (auto const& each : relaunches_of(events)) {
            if (each.back_us == 0) continue;
            add("relaunch", each.back_us - micros(each.down_s), each.back_us, each.attempt,
                each.start_step);
        }
        auto const last = std::ranges::max_element(launches_, {}, &LaunchTimes::last_step_us);
        if (ended_us_ > 0 && last != launches_.end() && last->last_step_us > 0) {
            add("end", last->last_step_us, ended_us_, last->attempt);
        }
        std::ranges::stable_sort(spans_, {}, &RunSpan::from_us);
        return std::move(spans_);
    }

private:
    struct Ordered {
        std::int64_t wall_us = 0;
        std::size_t ranks = 0;
        std::set<int> ready = {};
    };

    void take(std::int64_t wall_us, ControllerStarted const& controller) {
        controller_us_ = wall_us;
        auto const probed_us = std::max<std::int64_t>(0, micros(controller.probed_s));
        if (probed_us > 0) add("probe", wall_us - probed_us, wall_us);
        if (submitted_us_ > 0) add("queue", submitted_us_, wall_us - probed_us);
    }

    void take(std::int64_t wall_us, LaunchOrdered const& launch) {
        ordered_[launch.attempt] = {wall_us,
                                    static_cast<std::size_t>(std::max(1, launch.world_size))};
        ended_us_ = 0;  // a run that had ended is resumed
    }

    void take(std::int64_t wall_us, RankStarted const& rank) {
        auto const found = ordered_.find(rank.attempt);
        if (found == ordered_.end()) return;
        auto& [ordered_us, ranks, ready] = found->second;
        if (!ready.insert(rank.rank).second || ready.size() != ranks) return;
        add("start", ordered_us, wall_us, rank.attempt, rank.start_step);
        auto const own = std::ranges::find(launches_, rank.attempt, &LaunchTimes::attempt);
        if (own == launches_.end() || own->first_step_us == 0) return;
        add("first_step", wall_us, own->first_step_us, rank.attempt, rank.start_step);
    }

    void add(char const* name, std::int64_t from_us, std::int64_t to_us, int attempt = -1,
             int step = -1) {
        if (to_us >= from_us) spans_.push_back({name, from_us, to_us, attempt, step});
    }

    std::vector<LaunchTimes> const& launches_;
    std::map<int, Ordered> ordered_;  // by attempt
    std::vector<RunSpan> spans_;
    std::int64_t submitted_us_ = 0, controller_us_ = 0, agents_us_ = 0, ended_us_ = 0;
};

}  // namespace

std::vector<RunSpan> run_spans(std::vector<EventRecord> const& events,
                               std::vector<LaunchTimes> const& launches) {
    Spans spans(launches);
    for (auto const& record : events) {
        if (record.sequence < 0) continue;
        auto const event = decode_message<RunEvent>(record.body);
        if (event.has_value())
            spans.take(record.wall_us, *event);  // else written by a newer
                                                 // version
    }
    return spans.finish(events);
}

}  // namespace osora::db::analysis
