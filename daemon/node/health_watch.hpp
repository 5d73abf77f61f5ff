// Which health samples of a node to report: those with news, at most one a minute unless it is an
// alarm, and a few an hour. Pure; part of the agent core.
#pragma once

#include "daemon/clock.hpp"
#include "protocol/node_health.hpp"

#include <map>
#include <optional>
#include <string>

namespace osora::daemon {

struct HealthWatchOptions {
    int node = 0;                                    // nodes report at different times
    MonotonicTime every = std::chrono::seconds(10);  // between samples
    MonotonicTime regular = std::chrono::minutes(10);
    MonotonicTime pause = std::chrono::minutes(1);  // between records without an alarm
};

class HealthWatch {
public:
    struct Report {
        protocol::NodeHealth record;
        std::string alarm;  // what a user must see at once; "" = nothing
        std::string fault;  // of it, what a program cannot cause: another host would do
    };

    explicit HealthWatch(HealthWatchOptions options) : options_(options) {}

    /// Sets node, number and why of the record.
    [[nodiscard]] std::optional<Report> take(MonotonicTime now, protocol::NodeHealth sample);

private:
    void add_alarms(protocol::NodeHealth const& sample, Report& report) const;
    [[nodiscard]] std::string change_of(protocol::NodeHealth const& sample) const;

    HealthWatchOptions options_;
    std::optional<protocol::NodeHealth> reported_;
    MonotonicTime reported_at_{};
    MonotonicTime next_regular_ = kNever;  // kNever: no sample yet
    std::map<int, std::int64_t> ecc_;      // by GPU, highest so far
    std::size_t gpus_ = 0;                 // highest count so far
    bool lost_reported_ = false;
    std::int64_t number_ = 0;
};

}  // namespace osora::daemon
