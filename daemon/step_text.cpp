// The expressions are a table: one row for each figure, in the order they are tried. A program may
// write a million lines a second, so a row is tried only on lines that hold its word.
#include "daemon/step_text.hpp"

#include <fmt/format.h>
#include <boost/regex.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace osora::daemon {
namespace {

using plan::parse_figure;
using plan::StepFigures;

// Repeats are bounded: a line of a thousand digits must not cost more than another one.
#define OSORA_NUMBER \
    R"(([-+]?(?:\d[\d,]{0,40}(?:\.\d{0,40})?(?:e[-+]?\d{1,9})?|\.\d{1,40}|nan|inf(?:inity)?)))"
#define OSORA_IS R"(["']?\s*[:=]?\s*\[?\(?)"

enum class Form { value, milliseconds, per_second };
struct Row {
    char const* figure;
    std::string_view word;   // lines without it do not match
    char const* expression;  // of a line in lower case; its first group is the number
    Form form = Form::value;
};
constexpr std::array kRows{
    Row{"step", "",
        R"(\b(?:global[ _]?)?(?:steps?|iter(?:ation)?s?)\b["']?\s*[:=#]?\s*\[?\s*(\d[\d,]{0,40}))"},
    Row{"loss", "loss", R"(\b(?:[a-z_]{0,40}_)?loss\b)" OSORA_IS OSORA_NUMBER},
    Row{"lr", "l", R"(\b(?:lr|learning[ _]rate)\b)" OSORA_IS OSORA_NUMBER},
    Row{"grad_norm", "norm", R"(\b(?:grad(?:ient)?[ _]?norm|gnorm)\b)" OSORA_IS OSORA_NUMBER},
    Row{"time_s", "(ms)", R"(\btime[a-z _]{0,60}\(ms\)\s*[:=]?\s*)" OSORA_NUMBER,
        Form::milliseconds},
    Row{"time_s", "(s", R"(\btime[a-z _]{0,60}\(s(?:ec)?\)\s*[:=]?\s*)" OSORA_NUMBER},
    Row{"time_s", "time_ms", R"(\b(?:[a-z]{1,40}_)?time_ms\b)" OSORA_IS OSORA_NUMBER,
        Form::milliseconds},
    Row{"time_s", "time",
        R"(\b(?:(?:[a-z]{1,40}_)?time_s|(?:step|iter(?:ation)?|batch)[ _]time)\b)" OSORA_IS
            OSORA_NUMBER R"((?!\s*(?:ms|:|\d)))"},
    Row{"time_s", "time", R"(\b[a-z_]{0,40}time\b)" OSORA_IS OSORA_NUMBER R"(\s*ms\b)",
        Form::milliseconds},
    Row{"time_s", "time", R"(\b[a-z_]{0,40}time\b)" OSORA_IS OSORA_NUMBER R"(\s*s(?:ec)?\b)"},
    Row{"time_s", "/", OSORA_NUMBER R"(\s*ms\s*/\s*(?:it|iter|step)\b)", Form::milliseconds},
    Row{"time_s", "/", OSORA_NUMBER R"(\s*s(?:ec)?\s*/\s*(?:it|iter|step)\b)"},
    Row{"time_s", "/", OSORA_NUMBER R"(\s*(?:it|iters?|steps?)\s*/\s*s(?:ec)?\b)",
        Form::per_second},
};
#undef OSORA_NUMBER
#undef OSORA_IS
constexpr char const* kBar = R"(\|\s*(\d{1,20})/(\d{1,20})\s*\[[^\]]{0,200}(?:it/s|s/it))";

std::vector<boost::regex> compile_all() {
    std::vector<boost::regex> all;
    auto const flags = boost::regex::perl;
    for (Row const& row : kRows) all.emplace_back(row.expression, flags);
    all.emplace_back(kBar, flags);
    return all;
}

std::vector<boost::regex> const& expressions() {
    static std::vector<boost::regex> const all = compile_all();
    return all;
}

bool holds(std::string_view line, std::string_view word) {
    return line.find(word) != std::string_view::npos;
}

/// A line in lower case, as far as it is looked at.
class Lowered {
public:
    explicit Lowered(std::string_view line) : size_(std::min(line.size(), text_.size())) {
        auto const lower = [](char each) {
            return each >= 'A' && each <= 'Z' ? static_cast<char>(each + ('a' - 'A')) : each;
        };
        std::transform(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(size_),
                       text_.begin(), lower);
    }
    [[nodiscard]] std::string_view view() const { return {text_.data(), size_}; }

private:
    std::array<char, plan::StepPattern::kLineMax> text_;
    std::size_t size_;
};

bool shows_progress(std::string_view lowered) {
    return holds(lowered, "it/s") || holds(lowered, "s/it");
}

/// Both a count and a figure may be in it.
bool may_tell(std::string_view lowered) {
    bool const counts = holds(lowered, "step") || holds(lowered, "iter") || shows_progress(lowered);
    if (!counts || lowered.find_first_of("0123456789") == std::string_view::npos) return false;
    return holds(lowered, "loss") || holds(lowered, "time") || holds(lowered, "/");
}

std::optional<double> number_of(std::string_view line, boost::regex const& expression) {
    boost::cmatch found;
    if (!boost::regex_search(line.data(), line.data() + line.size(), found, expression)) {
        return std::nullopt;
    }
    std::string text(found[1].first, found[1].second);
    if (text.starts_with('+')) text.erase(0, 1);
    while (text.ends_with(',') || text.ends_with('.')) text.pop_back();
    return parse_figure(text);
}

void read_row(std::string_view line, std::size_t index, StepFigures& figures) {
    Row const& row = kRows[index];
    if (figures.contains(row.figure) || !holds(line, row.word)) return;
    auto const value = number_of(line, expressions()[index]);
    if (!value) return;
    if (row.form == Form::per_second && *value <= 0) return;
    figures[row.figure] = row.form == Form::value          ? *value
                          : row.form == Form::milliseconds ? *value / 1000
                                                           : 1 / *value;
}

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
        if (!value) return Error{Errc::invalid_input, fmt::format("'{}': no number", word)};
        figures[std::string(word.substr(0, equals))] = *value;
    }
    if (!figures.contains("step")) return Error{Errc::invalid_input, "no step=N"};
    return figures;
}

bool may_be_step(std::string_view line) {
    return may_tell(Lowered(line).view());
}

std::optional<StepFigures> find_step(std::string_view line) {
    Lowered const lowered(line);
    std::string_view const text = lowered.view();
    if (!may_tell(text)) return std::nullopt;
    StepFigures figures;
    try {
        read_row(text, 0, figures);
        if (figures.empty() && !shows_progress(text)) return std::nullopt;
        for (std::size_t i = 1; i < kRows.size(); ++i) read_row(text, i, figures);
        if (!figures.contains("step") && figures.contains("loss")) {
            if (auto const count = number_of(text, expressions().back())) figures["step"] = *count;
        }
    } catch (std::exception const&) {
        return std::nullopt;  // too complex: no line of a trainer
    }
    bool const told = figures.contains("loss") || figures.contains("time_s");
    if (!figures.contains("step") || !told) return std::nullopt;
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

}  // namespace osora::daemon
