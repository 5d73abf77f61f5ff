// Searches each answer for the phrases that have stayed the same over the versions.
#include "slurm/job_facts.hpp"

#include "base/host_list.hpp"
#include "base/text/text.hpp"
#include "slurm/notation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace osora::slurm {
namespace {

using Fields = std::map<std::string, std::string>;

/// Calls `each` for every line.
template <class Each>
void for_lines(std::string_view text, Each each) {
    while (!text.empty()) {
        std::size_t const end = text.find('\n');
        each(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
}

/// The word after `marker`, up to white space or one of `stop`; "" when it is not there.
std::string_view word_after(std::string_view text, std::string_view marker,
                            std::string_view stop = " \t\n") {
    std::size_t const at = text.find(marker);
    if (at == std::string_view::npos) return {};
    text.remove_prefix(at + marker.size());
    return text.substr(0, text.find_first_of(stop));
}

/// Free text: these values run to the end of their line.
bool takes_the_line(std::string_view key) {
    constexpr std::array kKeys{"JobName",  "Command",      "WorkDir",      "StdErr",
                               "StdIn",    "StdOut",       "Comment",      "BatchFlag",
                               "Features", "AdminComment", "SystemComment"};
    return std::ranges::find(kKeys, key) != kKeys.end();
}

bool starts_key(std::string_view text) {
    std::size_t i = 0;
    while (i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 ||
                               text[i] == ':' || text[i] == '/' || text[i] == '_')) {
        ++i;
    }
    return i > 0 && i < text.size() && text[i] == '=' &&
           std::isupper(static_cast<unsigned char>(text[0])) != 0;
}

void read_fields(std::string_view line, Fields& fields) {
    line = trimmed(line);
    while (starts_key(line)) {
        std::size_t const equals = line.find('=');
        std::string const key(line.substr(0, equals));
        line.remove_prefix(equals + 1);
        std::size_t end = line.find(' ');
        if (takes_the_line(key)) end = std::string_view::npos;
        // "Reason=Nodes required for job are DOWN ...": up to the next key.
        while (end != std::string_view::npos && !starts_key(trimmed(line.substr(end)))) {
            end = line.find(' ', end + 1);
        }
        fields.emplace(key, trimmed(line.substr(0, end)));
        line = end == std::string_view::npos ? std::string_view() : trimmed(line.substr(end));
    }
}

std::string const& field(Fields const& fields, std::string const& key) {
    static std::string const none;
    auto const found = fields.find(key);
    if (found == fields.end() || found->second == "(null)" || found->second == "None") return none;
    return found->second;
}

/// "99,121-123"
std::vector<int> read_numbers(std::string_view list) {
    std::vector<int> numbers;
    auto const names = expand_host_list(fmt::format("[{}]", list));
    if (names.has_error()) return numbers;
    for (std::string const& each : *names) {
        numbers.push_back(static_cast<int>(leading_number<std::int64_t>(each).value_or(0)));
    }
    return numbers;
}

/// Numbers that may be the job's, the most certain kind first.
struct SubmittedWords {
    std::vector<JobKey> words;  // "Submitted batch job 12 on cluster north"
    std::vector<JobKey> bare;   // a line "12" or "12;north"
    std::vector<JobKey> loose;  // "Job 12 has been submitted", of wrappers

    void read(std::string_view line) {
        constexpr std::string_view kWords = "Submitted batch job ";
        if (auto const at = line.find(kWords); at != line.npos) {
            auto const cluster = word_after(line, " on cluster ");
            return add(words, line.substr(at + kWords.size()), cluster);
        }
        std::string_view const id = line.substr(0, line.find(';'));
        if (!id.empty() && id.find_first_not_of("0123456789") == id.npos) {
            return add(bare, id, id.size() < line.size() ? line.substr(id.size() + 1) : "");
        }
        std::string const plain = lower(line);
        bool const is_answer =
            plain.find("submitted") != plain.npos && plain.find("job") != plain.npos;
        auto const number = plain.find_first_of("0123456789");
        if (!is_answer || number == plain.npos) return;
        auto const end = plain.find_first_not_of("0123456789", number);
        bool const only =
            plain.find_first_of("0123456789", std::min(end, plain.size())) == plain.npos;
        if (only) add(loose, std::string_view(plain).substr(number, end - number), "");
    }

private:
    static void add(std::vector<JobKey>& into, std::string_view id, std::string_view cluster) {
        JobKey key;
        key.job_id = leading_number<std::int64_t>(id).value_or(0);
        key.cluster = trimmed(cluster);
        while (key.cluster.ends_with('.')) key.cluster.pop_back();
        bool const known = std::ranges::any_of(
            into, [&](JobKey const& each) { return each.job_id == key.job_id; });
        if (key.job_id > 0 && !known) into.push_back(std::move(key));
    }
};

}  // namespace

Result<JobKey> parse_submitted(std::string_view output) {
    SubmittedWords found;
    for_lines(output, [&](std::string_view line) { found.read(trimmed(line)); });
    for (auto const* each : {&found.words, &found.bare, &found.loose}) {
        if (each->size() == 1) return each->front();
        if (each->empty()) continue;
        return Error{Errc::invalid_input,
                     fmt::format("sbatch printed more than one possible job id: {} and {}",
                                 each->front().job_id, each->back().job_id)};
    }
    return Error{Errc::invalid_input,
                 fmt::format("sbatch printed '{}', and no job id", trimmed(output).substr(0, 160))};
}

Result<StartEstimate> parse_test_only(std::string_view output) {
    StartEstimate estimate;
    // "sbatch: Job 13 to start at 2026-11-22T02:30:00 using 32 processors on nodes n[0-3] in
    // partition gpu"; before 20.11 "... processors on n[0-3]".
    auto const start = parse_time(word_after(output, " to start at "));
    if (start) {
        estimate.start_time = *start;
        estimate.node_list = word_after(output, " on nodes ");
        if (estimate.node_list.empty()) estimate.node_list = word_after(output, " processors on ");
        estimate.partition = word_after(output, " in partition ");
        return estimate;
    }
    std::string words;
    for_lines(output, [&](std::string_view line) {
        for (std::string_view const prefix : {"sbatch: error: ", "sbatch: ", "error: "}) {
            if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
        }
        line = trimmed(line);
        if (line.empty() || words.find(line) != std::string::npos) return;
        words += (words.empty() ? "" : "; ") + std::string(line);
    });
    return Error{Errc::invalid_input, words.empty() ? "sbatch --test-only printed nothing" : words};
}

Fields parse_job_fields(std::string_view output) {
    Fields fields;
    bool over = false;
    for_lines(output, [&](std::string_view line) {
        bool const another = trimmed(line).starts_with("JobId=") && fields.contains("JobId");
        over = over || another;
        if (!over) read_fields(line, fields);
    });
    return fields;
}

std::optional<QueuedJob> job_of_fields(Fields const& fields) {
    QueuedJob job;
    job.job_id = leading_number<std::int64_t>(field(fields, "JobId")).value_or(0);
    if (job.job_id <= 0) return {};
    job.array_task = field(fields, "ArrayTaskId");
    if (!job.array_task.empty()) {
        job.array_job_id = leading_number<std::int64_t>(field(fields, "ArrayJobId")).value_or(0);
    }
    job.state = parse_job_state(field(fields, "JobState"));
    job.reason = field(fields, "Reason");
    job.submit_time = parse_time(field(fields, "SubmitTime"));
    job.start_time = parse_time(field(fields, "StartTime"));
    job.end_time = parse_time(field(fields, "EndTime"));
    job.time_limit_s = parse_duration(field(fields, "TimeLimit"));
    job.nodes =
        static_cast<int>(leading_number<std::int64_t>(field(fields, "NumNodes")).value_or(0));
    job.node_list = field(fields, "NodeList");
    job.name = field(fields, "JobName");
    return job;
}

bool was_preempted(Fields const& fields) {
    bool const cancelled = parse_job_state(field(fields, "JobState")) == JobState::cancelled;
    return !cancelled && parse_time(field(fields, "PreemptTime")).has_value();
}

ClusterConfig parse_config(std::string_view output) {
    Fields values;
    for_lines(output, [&](std::string_view line) {
        std::size_t const equals = line.find('=');
        if (equals == std::string_view::npos) return;
        values.emplace(trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1)));
    });
    ClusterConfig config;
    auto const seconds = [&](char const* key, int& into) {
        if (auto const value = leading_number<std::int64_t>(field(values, key)))
            into = static_cast<int>(*value);
    };
    config.cluster = field(values, "ClusterName");
    config.version = field(values, "SLURM_VERSION");
    config.preempt_mode = field(values, "PreemptMode");
    seconds("KillWait", config.kill_wait_s);
    seconds("MinJobAge", config.min_job_age_s);
    seconds("SlurmdTimeout", config.node_down_s);
    // A requeued job has to wait until its credential expires, except with 25.11's own setting.
    auto const expire = word_after(field(values, "AuthInfo"), "cred_expire=", ",");
    if (auto const value = leading_number<std::int64_t>(expire))
        config.requeue_hold_s = static_cast<int>(*value);
    auto const delay = word_after(field(values, "SchedulerParameters"), "requeue_delay=", ",");
    if (auto const value = leading_number<std::int64_t>(delay))
        config.requeue_hold_s = static_cast<int>(*value);
    config.requeue_exit = read_numbers(field(values, "RequeueExit"));
    config.preempt_sends_signal =
        field(values, "SlurmctldParameters").find("preempt_send_user_signal") != std::string::npos;
    return config;
}

}  // namespace osora::slurm
