// The name comes last: it may contain the separator.
#include "slurm/queue_text.hpp"

#include "base/text/text.hpp"
#include "slurm/notation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace osora::slurm {
namespace {

// %A job id, %F array job id, %K array task, %T state, %V submitted, %S start, %e end, %l limit,
// %D nodes, %r reason, %N node list, %j name: all of them as old as squeue's -o.
constexpr char const* kFormat = "%A|%F|%K|%T|%V|%S|%e|%l|%D|%r|%N|%j";
constexpr std::size_t kFields = 12;

constexpr std::array kStates{
    std::pair{"PENDING", JobState::pending},
    std::pair{"CONFIGURING", JobState::pending},
    std::pair{"REQUEUED", JobState::pending},
    std::pair{"REQUEUE_FED", JobState::pending},
    std::pair{"REQUEUE_HOLD", JobState::pending},
    std::pair{"RESV_DEL_HOLD", JobState::pending},
    std::pair{"SPECIAL_EXIT", JobState::pending},  // held after a requeue
    std::pair{"POWER_UP_NODE", JobState::pending},
    std::pair{"RUNNING", JobState::running},
    std::pair{"RESIZING", JobState::running},
    std::pair{"SIGNALING", JobState::running},
    std::pair{"STAGE_OUT", JobState::completing},
    std::pair{"SUSPENDED", JobState::suspended},
    std::pair{"STOPPED", JobState::suspended},
    std::pair{"COMPLETING", JobState::completing},
    std::pair{"COMPLETED", JobState::completed},
    std::pair{"FAILED", JobState::failed},
    std::pair{"LAUNCH_FAILED", JobState::failed},
    std::pair{"RECONFIG_FAIL", JobState::failed},
    std::pair{"CANCELLED", JobState::cancelled},
    std::pair{"REVOKED", JobState::cancelled},
    std::pair{"TIMEOUT", JobState::timeout},
    std::pair{"DEADLINE", JobState::timeout},
    std::pair{"PREEMPTED", JobState::preempted},
    std::pair{"NODE_FAIL", JobState::node_fail},
    std::pair{"BOOT_FAIL", JobState::node_fail},
    std::pair{"OUT_OF_MEMORY", JobState::out_of_memory},
};

std::int64_t number_or_zero(std::string_view text) {
    std::int64_t value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? value : 0;
}

std::string known(std::string_view text) {
    bool const none = text == "None" || text == "(null)" || text == "N/A" || text == "n/a";
    return none ? std::string() : std::string(text);
}

bool read_line(std::string_view line, QueuedJob& job) {
    std::array<std::string_view, kFields> fields;
    for (std::size_t i = 0; i < kFields; ++i) {
        std::size_t const end = i + 1 < kFields ? line.find('|') : line.size();
        if (end == std::string_view::npos) return false;
        fields[i] = line.substr(0, end);
        line.remove_prefix(std::min(line.size(), end + 1));
    }
    job.job_id = number_or_zero(fields[0]);
    if (job.job_id <= 0) return false;
    job.array_task = known(fields[2]);
    job.array_job_id = job.array_task.empty() ? 0 : number_or_zero(fields[1]);
    job.state = parse_job_state(fields[3]);
    job.submit_time = parse_time(fields[4]);
    job.start_time = parse_time(fields[5]);
    job.end_time = parse_time(fields[6]);
    job.time_limit_s = parse_duration(fields[7]);
    job.nodes = static_cast<int>(number_or_zero(fields[8]));
    job.reason = known(fields[9]);
    job.node_list = known(fields[10]);
    job.name = fields[11];
    return true;
}

}  // namespace

JobState parse_job_state(std::string_view word) {
    word = word.substr(0, word.find_first_of(" +"));  // "CANCELLED by 1000", "CANCELLED+"
    auto const* const found =
        std::ranges::find_if(kStates, [&](auto const& each) { return each.first == word; });
    return found == kStates.end() ? JobState::unknown : found->second;
}

std::vector<std::string> squeue_arguments(std::string_view user, std::string_view cluster) {
    std::vector<std::string> arguments{"--noheader", "--states=all", fmt::format("--user={}", user),
                                       "--array", fmt::format("--format={}", kFormat)};
    if (!cluster.empty()) arguments.push_back(fmt::format("--clusters={}", cluster));
    return arguments;
}

bool is_no_answer(std::string_view output, std::string_view errors) {
    if (trimmed(errors).empty()) return false;
    auto const jobs = parse_queue(output);
    return jobs.has_error() || jobs->empty();
}

Result<std::vector<QueuedJob>> parse_queue(std::string_view output) {
    std::vector<QueuedJob> jobs;
    std::string_view first_bad;
    while (!output.empty()) {
        std::size_t const end = output.find('\n');
        std::string_view const line = output.substr(0, end);
        QueuedJob job;
        if (read_line(line, job)) {
            jobs.push_back(std::move(job));
        } else if (!line.empty() && first_bad.empty()) {
            first_bad = line;
        }
        output.remove_prefix(end == std::string_view::npos ? output.size() : end + 1);
    }
    if (jobs.empty() && !first_bad.empty()) {
        return Error{Errc::invalid_input,
                     fmt::format("squeue said '{}'", first_bad.substr(0, 120))};
    }
    return jobs;
}

}  // namespace osora::slurm
