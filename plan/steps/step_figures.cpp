// A program may write a million lines per second, so a row is tried only on lines that contain its
// word. The first matching row of a figure wins: the most reliable come first. Times since the
// start ("train_time", "elapsed") are not step times.
#include "plan/steps/step_figures.hpp"

#include "plan/steps/search_at.hpp"

#include <boost/regex.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace osora::plan {
namespace {

// Repeats are bounded: a line of a thousand digits must not cost more than others.
#define OSORA_FIGURE \
    R"(([-+]?(?:\d[\d,]{0,40}(?:\.\d{0,40})?(?:e[-+]?\d{1,9})?|\.\d{1,40}|nan|inf(?:inity)?)))"
#define OSORA_IS R"(["']? ?[:=]? ?["']?[\[(]{0,2} ?)"
#define OSORA_NOT_TRAINED \
    R"((?<!val )(?<!valid )(?<!validation )(?<!eval )(?<!test )(?<!aux )(?<!balancing ))"
#define OSORA_NOT_SUMMED R"((?<![a-z_] )(?<![\w./-]))"
#define OSORA_OF_STEP R"((?<![a-z0-9_])(?:train_)?(?:step|iter(?:ation)?|batch))"
#define OSORA_TIME_OF_STEP \
    R"((?:)" OSORA_OF_STEP R"([ _]time|\btime(?:[ _]per[ _]|/)(?:step|iter(?:ation)?)\b))"
#define OSORA_UNIT R"((?:it|iter|iters|iteration|step|steps|batch|batches)\b)"

enum class Form { value, milliseconds, microseconds, per_second };
struct FigureRow {
    std::string_view figure;
    std::string_view word;   // lines without it do not match
    char const* expression;  // of a plain line; its first group is the number
    Form form = Form::value;
    std::string_view start = "";  // start of a match, after its look-behinds; "": unknown
};
constexpr std::array kLossRows{
    FigureRow{"loss", "loss",
              R"((?<![a-z] )(?<!_\d )(?<![\w./-])loss(?:_step)?["']?)" OSORA_IS OSORA_FIGURE,
              Form::value, "loss"},
    FigureRow{"loss", "loss",
              OSORA_NOT_TRAINED
              R"((?<![\w./-])loss(?:_step)?["']?(?: train)?(?: ?\((?:curr|avg)\))?)" OSORA_IS
                  OSORA_FIGURE,
              Form::value, "loss"},
    FigureRow{"loss", "loss",
              R"((?<![\w./-])(?:reduced_train|total|train|training|avg|avr|avg_train|lm)[_/. ])"
              R"((?:[a-z]{1,20}_)?loss(?:_step)?)" OSORA_IS OSORA_FIGURE},
    FigureRow{"loss", "loss",
              R"((?<![\w./-])(?!(?:val|eval|valid|validation|test|aux)[_/.]))"
              R"((?!(?:[a-z0-9_]{1,20}[/.])?(?:entropy|kl|vf)_loss))"
              R"([a-z][a-z0-9_./]{0,60}?)"
              R"(loss(?:_step)?)" OSORA_IS OSORA_FIGURE},
    FigureRow{"loss", "_step",
              R"((?<![\w./-])train[_/][a-z0-9_]{1,40}_step)" OSORA_IS OSORA_FIGURE},
    FigureRow{"lr", "lr", R"(\blr\b)" OSORA_IS OSORA_FIGURE, Form::value, "lr"},
    FigureRow{"lr", "learning", R"(\blearning[ _]rate\b)" OSORA_IS OSORA_FIGURE, Form::value,
              "learning"},
    FigureRow{"grad_norm", "norm", R"(\b(?:grad(?:ient)?[ _]?norm|gnorm)\b)" OSORA_IS OSORA_FIGURE,
              Form::value, "g"},
};
constexpr std::array kTimeRows{
    FigureRow{"time_s", "(ms)",
              R"((?:)" OSORA_OF_STEP
              R"([ _]time|\btime per [a-z]{1,20}) ?\(ms\) ?[:=]? ?)" OSORA_FIGURE,
              Form::milliseconds},
    FigureRow{"time_s", "(s",
              R"((?:)" OSORA_OF_STEP
              R"([ _]time|\btime per [a-z]{1,20}) ?\(s(?:ec)?\) ?[:=]? ?)" OSORA_FIGURE},
    FigureRow{"time_s", "step_avg", R"(\bstep_avg ?[:=] ?)" OSORA_FIGURE R"( ?ms\b)",
              Form::milliseconds},
    FigureRow{"time_s", "step_avg", R"(\bstep_avg ?[:=] ?)" OSORA_FIGURE R"( ?s\b)"},
    FigureRow{"time_s", "step_timing",
              R"(\b(?:train_)?step_timing(?: in s)? ?[:=] ?)" OSORA_FIGURE},
    FigureRow{"time_s", "timing_s/step", R"(\btiming_s/step ?[:=] ?)" OSORA_FIGURE},
    FigureRow{"time_s", "time_ms",
              R"((?<![a-z0-9_])(?:(?:train_)?(?:step|iter(?:ation)?|batch)_)?time_ms\b)" OSORA_IS
                  OSORA_FIGURE,
              Form::milliseconds},
    FigureRow{"time_s", "time_s",
              R"((?<![a-z0-9_])(?:(?:train_)?(?:step|iter(?:ation)?|batch)_)?time_s\b)" OSORA_IS
                  OSORA_FIGURE},
    FigureRow{"time_s", "time", OSORA_TIME_OF_STEP OSORA_IS OSORA_FIGURE R"( ?ms\b)",
              Form::milliseconds},
    FigureRow{"time_s", "time",
              OSORA_TIME_OF_STEP OSORA_IS OSORA_FIGURE R"((?! ?(?:ms|us|m\b|min|h\b|:|\d|\.\d)))"},
    FigureRow{"time_s", "dt", R"(\b(?:iter_|step_)?dt)" OSORA_IS OSORA_FIGURE R"( ?ms\b)",
              Form::milliseconds},
    FigureRow{"time_s", "/", OSORA_FIGURE R"( ?ms ?/ ?)" OSORA_UNIT, Form::milliseconds},
    FigureRow{"time_s", "/", OSORA_FIGURE R"( ?us ?/ ?)" OSORA_UNIT, Form::microseconds},
    FigureRow{"time_s", "/", OSORA_FIGURE R"( ?s(?:ec)? ?/ ?)" OSORA_UNIT},
    FigureRow{"time_s", "/s",
              R"(\b(?:its?|iters?|steps?|batch(?:es)?)/s(?:ec(?:ond)?)?\)?["']?)"
              R"( ?[:=]? ?["']?)" OSORA_FIGURE R"((?![\d.]))",
              Form::per_second},
    FigureRow{
        "time_s", "/",
        R"(\b(?:s|sec|seconds?)/(?:it|iter(?:ation)?|step)\)?["']? ?[:=] ?["']?)" OSORA_FIGURE},
    FigureRow{"time_s", "/s", OSORA_FIGURE R"( ?(?:it|iters?|steps?) ?/ ?s(?:ec)?\b)",
              Form::per_second},
    FigureRow{"time_s", "completed step", R"(\bseconds: ?)" OSORA_FIGURE},
    FigureRow{"time_s", "num_updates", R"(\bups=)" OSORA_FIGURE, Form::per_second},
    FigureRow{"time_s", "data",
              R"(\btime:? ?)" OSORA_FIGURE
              R"((?: ?\([^)]{1,20}\))?,? (?:last_time: [\d.]{1,12} )?data)"},
    FigureRow{"time_s", "time", OSORA_NOT_SUMMED R"(time)" OSORA_IS OSORA_FIGURE R"( ?ms\b)",
              Form::milliseconds},
    FigureRow{"time_s", "(ms)", OSORA_NOT_SUMMED R"(time \(ms\) ?[:=] ?)" OSORA_FIGURE,
              Form::milliseconds},
    FigureRow{"time_s", "loss", R"(\btook )" OSORA_FIGURE R"( ?ms\b)", Form::milliseconds, "took "},
    FigureRow{"time_s", " ms |", R"(\| )" OSORA_FIGURE R"( ms \|)", Form::milliseconds},
    FigureRow{kMaybeTime, "time",
              OSORA_NOT_SUMMED R"(time)" OSORA_IS OSORA_FIGURE R"( ?s(?:ec(?:onds?)?)?\b)"},
    FigureRow{kMaybeTime, "loss", R"(\btook )" OSORA_FIGURE R"( ?s(?:ec(?:onds?)?)?\b)",
              Form::value, "took "},
};
#undef OSORA_FIGURE
#undef OSORA_IS
#undef OSORA_NOT_TRAINED
#undef OSORA_NOT_SUMMED
#undef OSORA_OF_STEP
#undef OSORA_TIME_OF_STEP
#undef OSORA_UNIT

std::optional<double> first_figure(std::string_view line, FigureRow const& row,
                                   boost::regex const& expression) {
    boost::cmatch found;
    bool const is_there =
        row.start.empty()
            ? boost::regex_search(line.data(), line.data() + line.size(), found, expression)
            : search_at(line, {row.start, ""}, expression, found);
    if (!is_there) return std::nullopt;
    std::string text(found[1].first, found[1].second);
    if (text.starts_with('+')) text.erase(0, 1);
    while (text.ends_with(',') || text.ends_with('.')) text.pop_back();
    bool const may_be_thousands = row.form == Form::milliseconds || row.form == Form::microseconds;
    bool const one_comma = std::ranges::count(text, ',') == 1 && !holds(text, ".");
    if (one_comma && !may_be_thousands) text[text.find(',')] = '.';  // "loss 2,354" of a locale
    return parse_figure(text);
}

double in_seconds_or_as_is(double value, Form form) {
    if (form == Form::milliseconds) return value / 1e3;
    if (form == Form::microseconds) return value / 1e6;
    return form == Form::per_second ? 1 / value : value;
}

template <std::size_t N>
std::vector<boost::regex> compiled(std::array<FigureRow, N> const& rows) {
    std::vector<boost::regex> all;
    for (FigureRow const& row : rows) all.emplace_back(row.expression, boost::regex::perl);
    return all;
}

/// Whether any row of kTimeRows can match: most lines of most programs have no time.
bool may_hold_time(std::string_view line) {
    constexpr std::array<std::string_view, 9> kParts{"tim",     "/",    "ms",    "(s",      "dt",
                                                     "seconds", "ups=", "took ", "step_avg"};
    return std::ranges::any_of(kParts, [&](std::string_view part) { return holds(line, part); });
}

void read_row(std::string_view line, FigureRow const& row, boost::regex const& expression,
              StepFigures& figures) {
    if (figures.contains(row.figure) || !holds(line, row.word)) return;
    auto const value = first_figure(line, row, expression);
    if (!value || (row.form == Form::per_second && *value <= 0)) return;
    figures[std::string(row.figure)] = in_seconds_or_as_is(*value, row.form);
}

}  // namespace

bool holds(std::string_view line, std::string_view word) {
    return line.find(word) != std::string_view::npos;
}

void read_losses(std::string_view plain, StepFigures& figures) {
    static std::vector<boost::regex> const all = compiled(kLossRows);
    for (std::size_t i = 0; i < kLossRows.size(); ++i) {
        read_row(plain, kLossRows[i], all[i], figures);
    }
}

void read_times(std::string_view plain, StepFigures& figures) {
    static std::vector<boost::regex> const all = compiled(kTimeRows);
    if (!may_hold_time(plain)) return;
    for (std::size_t i = 0; i < kTimeRows.size(); ++i) {
        if (figures.contains("time_s")) return;
        read_row(plain, kTimeRows[i], all[i], figures);
    }
}

}  // namespace osora::plan
