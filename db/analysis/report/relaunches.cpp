#include "db/analysis/report/relaunches.hpp"

#include "protocol/messages/message.hpp"
#include "protocol/run_status.hpp"

#include <algorithm>

namespace osora::db::analysis {

std::vector<Relaunch> relaunches_of(std::vector<EventRecord> const& events) {
    using namespace protocol;
    std::vector<Relaunch> relaunches;
    RunStatus status;
    std::int64_t fault_us = 0;
    bool asked = false;
    for (auto const& record : events) {
        if (record.sequence < 0) continue;
        auto const event = decode_message<RunEvent>(record.body);
        if (event.has_error()) continue;  // written by a newer version
        bool const was_up =
            status.state == RunState::running || status.state == RunState::launching;
        std::string const cause = status.cause;
        int const asks = status.asked_relaunches, faults = status.restarts + status.free_retries;
        fold(status, *event);
        if (status.asked_relaunches > asks) asked = true;
        if (status.restarts + status.free_retries > faults) asked = false;
        bool const is_up = status.state == RunState::running || status.state == RunState::launching;
        if (was_up && !is_up) fault_us = record.wall_us;
        if (auto const* launch = std::get_if<LaunchOrdered>(&*event)) {
            if (launch->attempt > 0)
                relaunches.push_back({.attempt = launch->attempt, .cause = cause, .asked = asked});
            asked = false;
        }
        auto const* started = std::get_if<RankStarted>(&*event);
        if (started != nullptr && !relaunches.empty() &&
            relaunches.back().attempt == started->attempt) {
            auto& last = relaunches.back();
            last.start_step = started->start_step;
            double const down_s = static_cast<double>(record.wall_us - fault_us) / 1e6;
            if (fault_us == 0 || down_s < 0) continue;
            last.down_s = down_s;
            last.back_us = record.wall_us;
        }
    }
    return relaunches;
}

}  // namespace osora::db::analysis
