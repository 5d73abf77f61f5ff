#include "db/foreign/logged_run.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace osora::db {
namespace {

using namespace protocol;

constexpr int kStepsPerRecord = 256;
constexpr std::int64_t kMicroseconds = 1'000'000;

std::string name_of(LoggedRun const& run) {
    auto const started = static_cast<std::time_t>(run.started_us / kMicroseconds);
    return fmt::format("{}-{:%Y%m%d-%H%M%S}", run.workload, fmt::gmtime(started));
}

int ranks_of(LoggedRun const& run) {
    return static_cast<int>(run.nodes.size()) * run.ranks_per_node;
}

RunSubmitted submitted(LoggedRun const& run, std::string const& uuid) {
    RunSubmitted event;
    event.run_uuid = uuid;
    event.run_name = name_of(run);
    event.job = "train";
    event.user = run.user;
    event.nodes = static_cast<int>(run.nodes.size());
    event.ranks_per_node = run.ranks_per_node;
    event.restarts_max = 0;
    event.steps = run.steps.empty() ? 0 : run.steps.back().last;
    event.attached = false;
    event.facts = run.facts;
    event.config = json::object{{"run", {{"name", run.workload}, {"job", "train"}}},
                                {"model", {{"arch", run.workload}}},
                                {run.kind, run.settings}};
    event.submitted_us = run.started_us;
    return event;
}

void append(MetricColumn& column, double value) {
    column.mean.push_back(value);
    column.min.push_back(value);
    column.max.push_back(value);
    column.argmax.push_back(0);
}

/// Cuts the steps into records as a controller writes them.
class StepRecords {
public:
    explicit StepRecords(LoggedRun const& run) : run_(run) {}

    std::vector<std::pair<MergedSteps, std::int64_t>> take() {
        for (auto const& each : run_.steps) {
            for (int step = each.first; step < each.last; ++step) add(step, each);
            ended_us_ = each.ended_us;
        }
        flush();
        return std::move(records_);
    }

private:
    void add(int step, LoggedSteps const& each) {
        if (static_cast<int>(steps_.bucket.size()) == kStepsPerRecord) flush();
        if (steps_.bucket.empty()) steps_.step0 = step;
        steps_.ranks.push_back(ranks_of(run_));
        steps_.samples.push_back(run_.samples_per_step);
        steps_.bucket.emplace_back();
        append(steps_.columns["step_time_s"], each.step_time_s);
        append(steps_.columns["loss"], each.loss);
        ended_us_ = each.ended_us;
    }
    void flush() {
        if (steps_.bucket.empty()) return;
        records_.emplace_back(std::exchange(steps_, {}), ended_us_);
    }

    LoggedRun const& run_;
    MergedSteps steps_;
    std::int64_t ended_us_ = 0;
    std::vector<std::pair<MergedSteps, std::int64_t>> records_;
};

}  // namespace

std::vector<JournalRecord> records_of(LoggedRun const& run, std::string const& uuid) {
    std::vector<std::pair<std::int64_t, RunEvent>> events;
    auto const add = [&](std::int64_t at_us, RunEvent event) {
        events.emplace_back(at_us, std::move(event));
    };
    for (auto const& remark : run.remarks) {
        RunNotice notice;
        notice.kind = "imported";
        notice.severity = "info";
        notice.detail = remark;
        add(run.started_us, notice);
    }
    for (std::size_t node = 0; node < run.nodes.size(); ++node) {
        AgentJoined joined;
        joined.node = static_cast<int>(node);
        joined.host = run.nodes[node].host;
        joined.facts = run.nodes[node].facts;
        add(run.started_us, joined);
    }
    add(run.started_us, LaunchOrdered{0, ranks_of(run), "", 0});
    for (auto& [steps, at_us] : StepRecords(run).take()) add(at_us, std::move(steps));
    for (auto const& each : run.evaluations) {
        add(each.ended_us, EvaluationDone{0, each.step, each.loss, each.samples, each.seconds});
    }
    for (std::size_t node = 0; node < run.nodes.size(); ++node) {
        if (run.nodes[node].collectives.empty()) continue;
        CollectiveSums sums;
        sums.node = static_cast<int>(node);
        sums.sums = run.nodes[node].collectives;
        add(run.ended_us, sums);
    }
    std::ranges::stable_sort(events, {}, &std::pair<std::int64_t, RunEvent>::first);
    events.emplace(events.begin(), run.started_us, submitted(run, uuid));
    events.emplace_back(std::max(run.ended_us, events.back().first), run.end);
    std::vector<JournalRecord> records;
    for (auto& [at_us, event] : events)
        records.push_back({records.size(), at_us, std::move(event)});
    return records;
}

}  // namespace osora::db
