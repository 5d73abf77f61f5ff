#include "db/foreign/mlperf_log.hpp"

#include "base/text/text.hpp"
#include "protocol/journal/event_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

namespace osora::db {
namespace {

using namespace protocol;

constexpr std::string_view kMark = ":::MLLOG ";
constexpr std::string_view kSystem = ":::SYSJSON ";
constexpr std::int64_t kMicrosecondsPerMs = 1000;
constexpr int kStepsMax = 50'000'000;
/// eval_accuracy is a loss in these.
constexpr std::array<std::string_view, 6> kMeasuredByLoss{
    "flux1", "gpt3", "llama2_70b_lora", "llama31_405b", "llama31_8b", "stable_diffusion"};

/// What follows `mark` in a line that starts with it, perhaps after "12: ".
std::optional<std::string_view> after(std::string_view mark, std::string_view line) {
    auto const at = line.find(mark);
    if (at == line.npos) return std::nullopt;
    bool const prefix_is_rank =
        line.substr(0, at).find_first_not_of("0123456789: ") == std::string_view::npos;
    if (!prefix_is_rank) return std::nullopt;  // the echo of a command
    return line.substr(at + mark.size());
}

std::optional<double> number(json::object const& object, std::string_view key) {
    auto const* value = object.if_contains(key);
    if (value == nullptr || !value->is_number()) return std::nullopt;
    return value->to_number<double>();
}

std::string text_of(json::value const& value) {
    return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

std::optional<int> count_of(json::object const& object, std::string_view key) {
    auto const* value = object.if_contains(key);
    if (value == nullptr) return std::nullopt;
    auto const parsed = parse_json(value->is_string() ? std::string_view(value->get_string())
                                                      : std::string_view(""));
    auto const* found = value->is_number() ? value : parsed.has_value() ? &*parsed : nullptr;
    if (found == nullptr || !found->is_number()) return std::nullopt;
    double const is = found->to_number<double>();
    if (!(is >= 1 && is <= kStepsMax)) return std::nullopt;
    return static_cast<int>(is);
}

struct Event {
    std::int64_t at_us = 0;
    std::string key;
    json::value value;
    json::object metadata;
};

Result<Event> event_of(std::string_view text) {
    OSORA_TRY(auto const parsed, parse_json(text));
    auto const* object = parsed.if_object();
    if (object == nullptr) return type_error("an object", parsed);
    auto const at_ms = number(*object, "time_ms");
    auto const* key = object->if_contains("key");
    if (!at_ms || *at_ms < 0 || *at_ms > 4e15 || key == nullptr || !key->is_string())
        return Error{Errc::invalid_input, "neither time_ms nor key"};
    Event event;
    event.at_us = static_cast<std::int64_t>(*at_ms) * kMicrosecondsPerMs;
    event.key = std::string(key->get_string());
    if (auto const* value = object->if_contains("value")) event.value = *value;
    if (auto const* metadata = object->if_contains("metadata"); metadata && metadata->is_object())
        event.metadata = metadata->get_object();
    return event;
}

class Reading {
public:
    void skip(int line, std::string const& why) {
        if (skipped_++ == 0) first_skipped_ = fmt::format("line {}: {}", line, why);
    }
    void take_system(std::string_view text) {
        auto const parsed = parse_json(text);
        if (parsed.has_error() || !parsed->is_object()) return;
        system_ = parsed->get_object();
    }
    void take(Event const& event);
    /// srun's prefix of a line: "12".
    void take_rank(std::string_view digits) {
        int rank = 0;
        auto const end = digits.data() + digits.size();
        auto const read = std::from_chars(digits.data(), end, rank);
        if (read.ec == std::errc() && read.ptr == end) last_rank_ = std::max(last_rank_, rank);
    }
    Result<LoggedRun> result() &&;

private:
    struct Mark {
        int step = 0;
        std::int64_t at_us = 0;
    };
    [[nodiscard]] std::optional<int> step_of(Event const& event) const;
    void pass(int step, std::int64_t at_us, double loss, std::optional<double> step_time_s);
    void take_stats(Event const& event);
    void take_setting(Event const& event);
    [[nodiscard]] std::int64_t eval_samples() const {
        auto const samples = number(run_.settings, "eval_samples");
        return samples && *samples >= 0 && *samples < 1e15 ? static_cast<std::int64_t>(*samples)
                                                           : 0;
    }
    void take_system_facts();

    LoggedRun run_;
    json::object system_;
    std::optional<Mark> mark_;
    std::optional<std::int64_t> evaluation_us_;  // since when one is in progress
    std::optional<std::int64_t> first_us_;
    std::int64_t last_us_ = 0;
    std::optional<std::string> status_;  // of run_stop
    std::set<std::string> measures_;     // of evaluations that are no losses
    int last_rank_ = 0;
    int skipped_ = 0;  // lines that are damaged
    std::string first_skipped_;
    bool started_ = false;
};

std::optional<int> Reading::step_of(Event const& event) const {
    if (auto const step = count_of(event.metadata, "step")) return step;
    auto const samples = number(event.metadata, "samples_count");
    if (!samples || run_.samples_per_step == 0) return std::nullopt;
    double const steps = *samples / run_.samples_per_step;
    if (!(steps >= 1 && steps <= kStepsMax)) return std::nullopt;
    return static_cast<int>(steps);
}

/// `step` steps were done at `at_us`.
void Reading::pass(int step, std::int64_t at_us, double loss, std::optional<double> step_time_s) {
    if (!mark_ || evaluation_us_) return;
    if (step <= mark_->step) return;
    double const seconds = static_cast<double>(at_us - mark_->at_us) * 1e-6;
    double const mean_s = step_time_s.value_or(seconds / (step - mark_->step));
    if (mean_s > 0) run_.steps.push_back({mark_->step, step, mean_s, loss, at_us});
    mark_ = Mark{step, at_us};
}

void Reading::take_stats(Event const& event) {
    auto const* stats = event.value.if_object();
    auto const step = step_of(event);
    if (stats == nullptr || !step) return;
    auto const loss = number(*stats, "train_loss");
    auto time_s = number(*stats, "train_step_time");
    if (!loss && !time_s) return;  // of validation steps, which count from 0 again
    // Without a step it is the mean of a block, which other marks divide.
    if (time_s && !(*time_s > 0 && event.metadata.contains("step"))) time_s.reset();
    if (mark_ && *step == mark_->step && !run_.steps.empty()) {  // the other figure of the same
        if (loss) run_.steps.back().loss = *loss;
        if (time_s) run_.steps.back().step_time_s = *time_s;
        return;
    }
    pass(*step, event.at_us, loss.value_or(std::nan("")), time_s);
}

void Reading::take_setting(Event const& event) {
    if (event.key.starts_with("submission_") || event.value.is_null()) return;
    if (event.value.is_object() || event.value.is_array()) return;
    run_.settings[event.key] = event.value;
    if (event.key != "global_batch_size") return;
    if (auto const size = number(run_.settings, "global_batch_size"); size && *size >= 1)
        run_.samples_per_step = static_cast<int>(std::min(*size, 1e9));
}

void Reading::take(Event const& event) {
    auto const& key = event.key;
    if (!first_us_) first_us_ = event.at_us;
    last_us_ = std::max(last_us_, event.at_us);
    if (key == "submission_benchmark") run_.workload = text_of(event.value);
    if (key == "submission_org") run_.user = text_of(event.value);
    if (key == "submission_platform") run_.facts["mlperf.platform"] = text_of(event.value);
    if (key == "run_start") {
        started_ = true;
        mark_ = Mark{step_of(event).value_or(0), event.at_us};
    } else if (key == "eval_start") {
        if (auto const step = step_of(event)) pass(*step, event.at_us, std::nan(""), {});
        evaluation_us_ = event.at_us;
    } else if (key == "eval_stop") {
        evaluation_us_.reset();
        if (mark_) mark_->at_us = event.at_us;
    } else if (key == "eval_accuracy" || key == "eval_loss") {
        auto const* value = event.value.is_number() ? &event.value : nullptr;
        if (value == nullptr || !mark_) return;
        bool const is_loss =
            key == "eval_loss" ||
            std::ranges::find(kMeasuredByLoss, run_.workload) != kMeasuredByLoss.end();
        double const seconds =
            evaluation_us_ ? static_cast<double>(event.at_us - *evaluation_us_) * 1e-6 : 0;
        if (is_loss)
            run_.evaluations.push_back(
                {mark_->step, value->to_number<double>(), seconds, eval_samples(), event.at_us});
        else
            measures_.insert(
                fmt::format("{} {} after step {}", key, json::serialize(*value), mark_->step));
    } else if (key == "tracked_stats") {
        take_stats(event);
    } else if (key == "block_start" || key == "epoch_start") {
        if (mark_ && !evaluation_us_ && step_of(event).value_or(0) <= mark_->step)
            mark_->at_us = event.at_us;
    } else if (key == "block_stop" || key == "epoch_stop" || key == "run_stop") {
        if (auto const step = count_of(event.metadata, "step"))
            pass(*step, event.at_us, std::nan(""), {});
        if (key != "run_stop") return;
        auto const* status = event.metadata.if_contains("status");
        status_ = status != nullptr ? text_of(*status) : "success";
        run_.ended_us = event.at_us;
    } else if (!started_) {
        take_setting(event);
    }
}

void Reading::take_system_facts() {
    int const nodes = count_of(system_, "number_of_nodes").value_or(1);
    run_.ranks_per_node = count_of(system_, "accelerators_per_node").value_or(1);
    if (system_.empty()) {
        run_.ranks_per_node = std::min(last_rank_ + 1, kRunRanksPerNodeMax);
        run_.remarks.push_back(fmt::format(
            "the log does not say (:::SYSJSON) on what it ran: one node with {}, the ranks whose "
            "lines it has, is assumed",
            counted(run_.ranks_per_node, "GPU")));
    }
    run_.nodes.resize(static_cast<std::size_t>(std::min(nodes, kRunNodesMax)));
    for (std::size_t i = 0; i < run_.nodes.size(); ++i)
        run_.nodes[i].host = fmt::format("node{}", i);
    for (auto const& [key, value] : system_) {
        if (auto const* more = value.if_object()) {
            for (auto const& [name, version] : *more)
                if (auto const text = text_of(version); !text.empty()) run_.facts[name] = text;
            continue;
        }
        auto const text = text_of(value);
        bool const hardware = key.starts_with("accelerator") || key.starts_with("host_");
        if (text.empty() || text.starts_with("UNKNOWN")) continue;
        if (hardware || key == "framework" || key == "operating_system")
            run_.facts[(hardware ? "host." : "") + std::string(key)] = text;
    }
}

Result<LoggedRun> Reading::result() && {
    if (run_.workload.empty())
        return Error{Errc::invalid_input, "no submission_benchmark: not a training log of MLPerf"};
    if (run_.steps.empty())
        return Error{Errc::invalid_input,
                     "no step can be timed: there are no two marks with a step (tracked_stats, "
                     "block_stop) after run_start"};
    run_.kind = "mlperf";
    run_.started_us = *first_us_;
    if (run_.ended_us == 0) run_.ended_us = last_us_;
    take_system_facts();
    if (!status_) {
        run_.end = {Verdict::controller_lost, 1, "the log ends without run_stop"};
    } else if (*status_ != "success") {
        run_.end = {Verdict::no_progress, 1, "run_stop: " + *status_};
    } else {
        run_.end = {Verdict::ok, 0, ""};
    }
    int const last = run_.steps.back().last;
    auto const intervals = static_cast<int>(run_.steps.size());
    if (intervals < last)
        run_.remarks.push_back(fmt::format(
            "{} steps were logged as {} means: steps of one interval are equal", last, intervals));
    if (skipped_ > 0)
        run_.remarks.push_back(
            fmt::format("{} damaged and left out, {}", counted(skipped_, "line"), first_skipped_));
    for (auto const& each : measures_) run_.remarks.push_back(each);
    return std::move(run_);
}

}  // namespace

bool is_mlperf_log(std::string_view text) {
    return text.find(kMark) != std::string_view::npos;
}

Result<LoggedRun> read_mlperf_log(std::string_view text) {
    Reading reading;
    int line_number = 0;
    while (!text.empty()) {
        auto const end = text.find('\n');
        auto const line = text.substr(0, end);
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
        ++line_number;
        auto const word = trimmed(line.substr(0, line.find(':')));
        if (!word.empty() && word.size() < 7) reading.take_rank(word);
        if (auto const system = after(kSystem, line)) reading.take_system(*system);
        auto const entry = after(kMark, line);
        if (!entry) continue;
        auto const event = event_of(*entry);
        if (event.has_value()) {
            reading.take(*event);
        } else {
            reading.skip(line_number, event.error().message);
        }
    }
    return std::move(reading).result();
}

}  // namespace osora::db
