// One accessor for each kind of thing, each of which takes every shape that was ever used.
#include "slurm/queue_json.hpp"

#include "protocol/json.hpp"

namespace osora::slurm {
namespace {

namespace json = protocol::json;

json::value const* find(json::object const& job, std::string_view name) {
    return job.if_contains(name);
}

/// 5 | "5" | {"set": true, "infinite": false, "number": 5}
std::optional<std::int64_t> number(json::object const& job, std::string_view name) {
    auto const* value = find(job, name);
    if (value == nullptr) return {};
    if (auto const* object = value->if_object()) {
        auto const* set = object->if_contains("set");
        auto const* infinite = object->if_contains("infinite");
        bool const unset = set != nullptr && set->is_bool() && !set->get_bool();
        bool const endless = infinite != nullptr && infinite->is_bool() && infinite->get_bool();
        if (unset || endless) return {};
        value = object->if_contains("number");
        if (value == nullptr) return {};
    }
    if (auto const* integer = value->if_int64()) return *integer;
    if (auto const* large = value->if_uint64()) {
        return *large > 1ULL << 62 ? std::nullopt : std::optional<std::int64_t>(*large);
    }
    return {};
}

std::optional<std::int64_t> time(json::object const& job, std::string_view name) {
    auto const seconds = number(job, name);
    return seconds && *seconds > 0 ? seconds : std::nullopt;
}

std::string text(json::object const& job, std::string_view name) {
    auto const* value = find(job, name);
    auto const* string = value != nullptr ? value->if_string() : nullptr;
    if (string == nullptr || *string == "None" || *string == "(null)") return "";
    return std::string(*string);
}

/// "RUNNING" | ["RUNNING"] | ["RUNNING", "COMPLETING"]: flags behind the state say more than it.
JobState state(json::object const& job) {
    auto const* value = find(job, "job_state");
    if (value == nullptr) return JobState::unknown;
    if (auto const* word = value->if_string()) return parse_job_state(*word);
    auto const* words = value->if_array();
    if (words == nullptr || words->empty()) return JobState::unknown;
    JobState found = JobState::unknown;
    bool ending = false;
    bool again = false;
    for (json::value const& each : *words) {
        auto const* word = each.if_string();
        if (word == nullptr) continue;
        JobState const one = parse_job_state(*word);
        ending = ending || one == JobState::completing;
        again = again || word->starts_with("REQUEUE");
        if (found == JobState::unknown) found = one;
    }
    if (again) return JobState::pending;
    return ending ? JobState::completing : found;
}

int node_count(json::object const& job) {
    for (char const* name : {"node_count", "nodes_count"}) {
        if (auto const count = number(job, name)) return static_cast<int>(*count);
    }
    return 0;
}

QueuedJob read_job(json::object const& job) {
    QueuedJob read;
    read.job_id = number(job, "job_id").value_or(0);
    read.array_job_id = number(job, "array_job_id").value_or(0);
    if (read.array_job_id > 0) {
        auto const task = number(job, "array_task_id");
        read.array_task = task ? std::to_string(*task) : text(job, "array_task_string");
        if (read.array_task.empty()) read.array_job_id = 0;
    }
    read.state = state(job);
    read.reason = text(job, "state_reason");
    read.submit_time = time(job, "submit_time");
    read.start_time = time(job, "start_time");
    read.end_time = time(job, "end_time");
    if (auto const minutes = number(job, "time_limit")) read.time_limit_s = *minutes * 60;
    read.nodes = node_count(job);
    read.node_list = text(job, "nodes");
    read.name = text(job, "name");
    return read;
}

}  // namespace

Result<std::vector<QueuedJob>> parse_queue_json(std::string_view output) {
    OSORA_TRY(auto const document, protocol::parse_json(output));
    auto const* object = document.if_object();
    auto const* list = object != nullptr ? object->if_contains("jobs") : nullptr;
    auto const* array = list != nullptr ? list->if_array() : nullptr;
    if (array == nullptr) return Error{Errc::invalid_input, "squeue --json: no list of jobs"};
    std::vector<QueuedJob> jobs;
    for (json::value const& each : *array) {
        auto const* job = each.if_object();
        if (job == nullptr) continue;
        QueuedJob read = read_job(*job);
        if (read.job_id > 0) jobs.push_back(std::move(read));
    }
    return jobs;
}

}  // namespace osora::slurm
