// The clocks of machines differ: a job counts as new when it is at most two minutes older than the
// call of sbatch.
#include "slurm/after_sbatch.hpp"

#include "base/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace osora::slurm {

bool may_have_been_taken(std::string_view words) {
    constexpr std::array<std::string_view, 10> kUnheard{
        "timed out", "timeout",  "send/recv",       "zero bytes", "no answer",
        "connect",   "communic", "resource tempor", "slurmctld",  "respond"};
    std::string const plain = lower(words);
    return std::ranges::any_of(
        kUnheard, [&](std::string_view each) { return plain.find(each) != std::string::npos; });
}

JobsOfName jobs_of_name(std::vector<QueuedJob> const& queue, std::string_view name,
                        std::int64_t asked) {
    constexpr std::int64_t kClocksDiffer_s = 120;
    JobsOfName found;
    for (QueuedJob const& job : queue) {
        if (job.name != name || is_final(job.state)) continue;
        bool const fresh = job.submit_time && *job.submit_time >= asked - kClocksDiffer_s;
        (fresh ? found.ours : found.others).push_back(job);
    }
    return found;
}

std::string cluster_asked_for(std::vector<std::string> const& options) {
    std::string cluster;
    for (std::size_t i = 0; i < options.size(); ++i) {
        std::string_view const option = options[i];
        for (std::string_view const name : {"--clusters", "--cluster", "-M"}) {
            if (!option.starts_with(name)) continue;
            std::string_view value = option.substr(name.size());
            bool const longer =
                name.size() > 2 && !value.empty() && value[0] != '=' && value[0] != ' ';
            if (longer) continue;  // --cluster-constraint
            bool const next = value.empty() && i + 1 < options.size();
            if (next) value = options[i + 1];
            if (value.starts_with('=')) value.remove_prefix(1);
            cluster = trimmed(value);
            break;
        }
    }
    return cluster;
}

bool is_one_cluster(std::string_view cluster) {
    return !cluster.empty() && cluster != "all" && cluster.find(',') == cluster.npos;
}

bool is_held(QueuedJob const& job) {
    std::string const reason = lower(job.reason);
    bool const held = reason.find("held") != std::string::npos || reason == "jobholdmaxrequeue" ||
                      reason.find("reservation deleted") != std::string::npos;
    return job.state == JobState::pending && held;
}

namespace {

struct StuckReason {
    std::string_view reason, why;
};

/// Reasons that waiting does not end: squeue(1), "Job reason codes". PartitionNodeLimit is none: it
/// "can also indicate that required nodes are DOWN or DRAINED".
constexpr std::array kStuckReasons{
    StuckReason{"DependencyNeverSatisfied", "the job that it was to follow did not end so"},
    StuckReason{"PartitionTimeLimit", "resources.time_limit is longer than the partition allows"},
    StuckReason{"BadConstraints", "no nodes have what slurm.constraint and extra ask for"},
    StuckReason{"InvalidAccount", "slurm.account may not be used"},
    StuckReason{"InvalidQOS", "slurm.qos may not be used"},
    StuckReason{"PerJob", "it asks for more than one job may have"}};

/// "" = Slurm may start the job by itself.
std::string_view why_stuck(QueuedJob const& job) {
    if (job.state != JobState::pending) return {};
    auto const* const found = std::ranges::find_if(kStuckReasons, [&](StuckReason const& each) {
        return job.reason.find(each.reason) != std::string::npos;
    });
    return found == kStuckReasons.end() ? std::string_view() : found->why;
}

}  // namespace

std::string reason_text(QueuedJob const& job, std::string_view cluster) {
    if (job.reason.empty()) return "";
    if (auto const why = why_stuck(job); !why.empty()) {
        return fmt::format(" ({}: it does not start as it is: {}; cancel it and submit it anew)",
                           job.reason, why);
    }
    if (!is_held(job)) return fmt::format(" ({})", job.reason);
    std::string const where = cluster.empty() ? "" : fmt::format(" --clusters={}", cluster);
    std::string const release = fmt::format("scontrol{} release {}", where, job.job_id);
    if (job.reason.find("Admin") != std::string::npos) {
        return fmt::format(" (held: {}; it does not start by itself: ask an administrator for {})",
                           job.reason, release);
    }
    return fmt::format(" (held: {}; it does not start by itself: {})", job.reason, release);
}

}  // namespace osora::slurm
