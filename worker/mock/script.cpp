// Parsing only; pure.
#include "worker/mock/script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

namespace osora::mock {
namespace {

template <class T>
Result<T> parse_number(std::string_view text) {
    T number{};
    auto const* const end = text.data() + text.size();
    if (text.empty() || std::from_chars(text.data(), end, number).ptr != end) {
        return Error{Errc::invalid_input, fmt::format("'{}' is not a number", text)};
    }
    return number;
}

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    while (true) {
        auto const end = text.find(at);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

Result<void> read_fault(Environment const& environment, std::string_view name,
                        std::optional<Fault>& into) {
    if (!has_variable(environment, name)) return {};
    auto fault = parse_fault(variable_or(environment, name, ""));
    if (fault.has_error()) return std::move(fault).error().in(name);
    into = *fault;
    return {};
}

Result<void> read_seconds(Environment const& environment, std::string_view name, double& into) {
    if (!has_variable(environment, name)) return {};
    auto number = parse_number<double>(variable_or(environment, name, ""));
    if (number.has_error()) return std::move(number).error().in(name);
    into = *number;
    return {};
}

Result<void> read_hold(Environment const& environment, std::optional<int>& into) {
    constexpr std::string_view kName = "OSORA_MOCK_HOLD";
    if (!has_variable(environment, kName)) return {};
    auto step = parse_number<int>(variable_or(environment, kName, ""));
    if (step.has_error()) return std::move(step).error().in(kName);
    into = *step;
    return {};
}

Result<void> read_clock(Environment const& environment, bool& scripted) {
    std::string const clock = variable_or(environment, "OSORA_MOCK_CLOCK", "wall");
    if (clock != "wall" && clock != "steps") {
        return Error{Errc::invalid_input,
                     fmt::format("OSORA_MOCK_CLOCK: '{}': expected wall or steps", clock)};
    }
    scripted = clock == "steps";
    return {};
}

bool is_on(Environment const& environment, std::string_view name) {
    return variable_or(environment, name, "0") == "1";
}

}  // namespace

Result<Fault> parse_fault(std::string_view text) {
    Fault fault;
    if (auto const at = text.find('@'); at != std::string_view::npos) {
        OSORA_TRY(fault.attempt, parse_number<int>(text.substr(at + 1)));
        text = text.substr(0, at);
    }
    auto const parts = split(text, ':');
    if (parts.size() != 2 && parts.size() != 3) {
        return Error{Errc::invalid_input,
                     fmt::format("'{}': expected RANK:STEP[:VALUE][@ATTEMPT]", text)};
    }
    if (parts[0] != "*") {
        OSORA_TRY(fault.rank, parse_number<int>(parts[0]));
    }
    OSORA_TRY(fault.step, parse_number<int>(parts[1]));
    if (parts.size() == 3) {
        OSORA_TRY(fault.value, parse_number<int>(parts[2]));
    }
    return fault;
}

double work_s(Script const& script, int rank, int attempt, int step) {
    auto const& slow = script.slow;
    bool const held_up = slow && step >= slow->step && slow->is_at(rank, attempt, slow->step);
    return script.step_s + script.own_s + (held_up ? slow->value / 1000.0 : 0);
}

double slowest_work_s(Script const& script, int world_size, int attempt, int step) {
    double slowest = 0;
    for (int rank = 0; rank < world_size; ++rank) {
        slowest = std::max(slowest, work_s(script, rank, attempt, step));
    }
    return slowest;
}

Result<Script> read_script(Environment const& environment) {
    Script script;
    OSORA_TRY_VOID(read_seconds(environment, "OSORA_MOCK_STEP_S", script.step_s));
    OSORA_TRY_VOID(read_seconds(environment, "OSORA_MOCK_OWN_S", script.own_s));
    OSORA_TRY_VOID(read_seconds(environment, "OSORA_MOCK_LOAD_S", script.load_s));
    OSORA_TRY_VOID(read_fault(environment, "OSORA_MOCK_FAIL", script.fail));
    OSORA_TRY_VOID(read_fault(environment, "OSORA_MOCK_KILL", script.kill));
    OSORA_TRY_VOID(read_fault(environment, "OSORA_MOCK_HANG", script.hang));
    OSORA_TRY_VOID(read_fault(environment, "OSORA_MOCK_OOM", script.oom));
    OSORA_TRY_VOID(read_fault(environment, "OSORA_MOCK_GARBAGE", script.garbage));
    OSORA_TRY_VOID(read_fault(environment, "OSORA_MOCK_SLOW", script.slow));
    script.says = variable_or(environment, "OSORA_MOCK_SAYS", script.says);
    OSORA_TRY_VOID(read_hold(environment, script.hold));
    OSORA_TRY_VOID(read_clock(environment, script.scripted_clock));
    script.ignore_term = is_on(environment, "OSORA_MOCK_IGNORE_TERM");
    script.ignore_stop = is_on(environment, "OSORA_MOCK_IGNORE_STOP");
    script.leave_child = is_on(environment, "OSORA_MOCK_LEAVE_CHILD");
    script.print = is_on(environment, "OSORA_MOCK_PRINT");
    return script;
}

}  // namespace osora::mock
