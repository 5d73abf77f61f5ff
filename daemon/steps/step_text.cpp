// Figures get their members by name, so that a new metric needs nothing here.
#include "daemon/steps/step_text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace osora::daemon {
namespace {

using plan::parse_figure;
using plan::StepFigures;

/// Sets member `name` of `metrics`; false when it has none, or none that is a number.
bool set_member(protocol::StepMetrics& metrics, std::string_view name, double value) {
    using Members =
        boost::describe::describe_members<protocol::StepMetrics, boost::describe::mod_any_access>;
    bool done = false;
    boost::mp11::mp_for_each<Members>([&](auto member) {
        using Value = std::remove_cvref_t<decltype(metrics.*member.pointer)>;
        if constexpr (std::is_arithmetic_v<Value>) {
            if (name != member.name) return;
            bool const fits = std::is_floating_point_v<Value> ||
                              (std::isfinite(value) && std::abs(value) < 2e9) ||
                              (sizeof(Value) == 8 && std::abs(value) < 9e18);
            if (!fits) return;
            metrics.*member.pointer = static_cast<Value>(value);
            done = true;
        }
    });
    return done;
}

}  // namespace

Result<StepFigures> parse_step_record(std::string_view line) {
    StepFigures figures;
    while (true) {
        auto const begin = line.find_first_not_of(" \t\r");
        if (begin == std::string_view::npos) break;
        line.remove_prefix(begin);
        std::string_view const word = line.substr(0, line.find_first_of(" \t\r"));
        line.remove_prefix(word.size());
        auto const equals = word.find('=');
        if (equals == std::string_view::npos) {
            return Error{Errc::invalid_input, fmt::format("'{}': expected name=number", word)};
        }
        auto const value = parse_figure(word.substr(equals + 1));
        if (!value) return Error{Errc::invalid_input, fmt::format("'{}': not a number", word)};
        figures[std::string(word.substr(0, equals))] = *value;
    }
    if (!figures.contains("step")) return Error{Errc::invalid_input, "no step=N"};
    return figures;
}

std::optional<SaidStep> said_step(StepFigures const& figures) {
    constexpr double kStepsMax = 1e9;
    auto const step = figures.find("step");
    if (step == figures.end() || !(step->second >= 0 && step->second < kStepsMax)) {
        return std::nullopt;
    }
    SaidStep result;
    for (auto const& [name, value] : figures) {
        bool const seconds = name.ends_with("_s");
        if (seconds && !(value >= 0 && value < 1e6)) return std::nullopt;
        std::string const member = name == "time_s" ? "step_time_s" : name;
        if (set_member(result.metrics, member, value)) result.said.insert(member);
    }
    return result;
}

std::string how_steps_are_found() {
    return "osora exec-steps LOG shows what is found in a log, and worker.step_pattern says how "
           "they are written, for instance 'step (?<step>\\d+) .*took (?<time_s>[\\d.]+) s .*loss "
           "(?<loss>[\\d.]+)' (\"none\": not looked for)";
}

}  // namespace osora::daemon
