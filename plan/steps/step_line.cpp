// Counts are a table, tried in this order: a count over all epochs is better than one within an
// epoch. A percentage, a rounded figure ("12k", "1e+03"), a time ("step: 30.12" of a timer) or a
// setting ("max steps") is not a count.
#include "plan/steps/step_line.hpp"

#include "base/text/text.hpp"
#include "plan/steps/plain_line.hpp"
#include "plan/steps/progress_bar.hpp"
#include "plan/steps/search_at.hpp"
#include "plan/steps/step_figures.hpp"

#include <fmt/format.h>
#include <boost/regex.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <vector>

namespace osora::plan {
namespace {

#define OSORA_COUNT                                                                      \
    R"(["']? ?[:=#]? ?["']?\[? ?((?>[1-9]\d{0,2}(?:,\d{3}){1,6}(?!\d)|\d{1,20}(?!\d))))" \
    R"((?!\.\d|[a-z_]| ?%| ?(?:ms|s|sec|seconds|minutes|hours)\b))"
enum class CountForm { count, in_epoch_from_0, in_epoch_from_1, of_total };
struct CountRow {
    std::string_view word;   // lines without it do not match
    char const* expression;  // the count is group 1; in an epoch: 1 epoch, 2 count, 3 total
    CountForm form = CountForm::count;
};
constexpr std::array kCounts{
    CountRow{"global_step/max_steps", R"(\bglobal_step/max_steps["']? ?[:=] ?["']?(\d{1,15})/\d)"},
    CountRow{"global", R"(\bglobal[ _]?steps?)" OSORA_COUNT},
    CountRow{"epoch", R"(\bepoch(?:\(train\))? ?\[ ?(\d{1,9})\] ?\[ ?(\d{1,12})/ ?(\d{1,12}))",
             CountForm::in_epoch_from_1},
    CountRow{"epoch", R"(\bepoch: \[ ?(\d{1,9})\] ?\[ ?(\d{1,12})/ ?(\d{1,12}))",
             CountForm::in_epoch_from_0},
    CountRow{"train: ", R"(\btrain: (\d{1,9}) \[ ?(\d{1,12})/ ?(\d{1,12}) )",
             CountForm::in_epoch_from_0},
    CountRow{"num_updates", R"(\bnum_updates=(\d{1,12})\b)"},
    CountRow{"", R"(\b(?:steps?|iter(?:ation)?s?)\b(?:\(train\))?)" OSORA_COUNT},
    CountRow{"loss", R"(^ ?(\d{1,12})/(\d{1,12}) .{0,400}(?:eta: |/step\b).{0,200}loss: )",
             CountForm::of_total},
};
#undef OSORA_COUNT
constexpr char const* kEvaluated =
    R"(\b(?:val|valid|validate|validation|validating|eval|evaluate|evaluation)"
    R"(|evaluating)\b|\btest(?:ing)?[:\] ]|\(val\))";
constexpr char const* kEvaluatedLoss =
    R"((?<![a-z0-9])(?:val|eval|valid|validation|test)[ _/.](?:[a-z0-9]{1,20}_)?loss)";

std::vector<boost::regex> compiled_counts() {
    std::vector<boost::regex> all;
    for (CountRow const& row : kCounts) all.emplace_back(row.expression, boost::regex::perl);
    return all;
}

/// "max steps: 1000", "skipped iterations: 0": settings and sums.
bool is_of_something_else(std::string_view before) {
    constexpr std::array<std::string_view, 8> kWords{"max ", "total ",        "skipped ", "warmup ",
                                                     "num ", "accumulation ", "of ",      "every "};
    return before.ends_with(' ') && std::ranges::any_of(kWords, [&](std::string_view word) {
               return before.ends_with(word);
           });
}

bool search_row(std::string_view plain, CountRow const& row, boost::regex const& expression,
                boost::cmatch& found) {
    if (row.word.empty()) {
        return search_at(plain, {"step", "iter"}, expression, found, [&](std::size_t at) {
            return !is_of_something_else(plain.substr(0, at));
        });
    }
    char const* const end = plain.data() + plain.size();
    bool const at_start = row.form == CountForm::of_total;
    return boost::regex_search(plain.data(), end, found, expression,
                               at_start ? boost::match_continuous : boost::match_default);
}

bool finds(std::string_view text, boost::regex const& expression) {
    return boost::regex_search(text.data(), text.data() + text.size(), expression);
}

std::optional<double> group(boost::cmatch const& found, int index) {
    return parse_figure(std::string_view(found[index].first, found[index].second));
}

/// Sets the count; false when there is none.
bool read_count(std::string_view plain, FoundStep& step) {
    static std::vector<boost::regex> const all = compiled_counts();
    for (std::size_t i = 0; i < kCounts.size(); ++i) {
        boost::cmatch found;
        if (!holds(plain, kCounts[i].word)) continue;
        if (!search_row(plain, kCounts[i], all[i], found)) continue;
        auto const first = group(found, 1);
        if (!first) return false;
        step.counter = "text";
        if (kCounts[i].form == CountForm::count) {
            step.figures["step"] = *first;
        } else if (kCounts[i].form == CountForm::of_total) {
            step.figures["step"] = *first;
            step.counter = fmt::format("of {}", group(found, 2).value_or(0));
        } else {
            bool const from_1 = kCounts[i].form == CountForm::in_epoch_from_1;
            double const epochs = std::max(0.0, *first - (from_1 ? 1 : 0));
            step.figures["step"] =
                epochs * group(found, 3).value_or(0) + group(found, 2).value_or(0);
        }
        return true;
    }
    return false;
}

/// An evaluation has separate steps and losses.
bool is_evaluation(std::string_view plain, StepFigures const& figures) {
    static boost::regex const evaluated(kEvaluated), loss(kEvaluatedLoss);
    if (!holds(plain, "val") && !holds(plain, "test")) return false;
    bool const trains = holds(plain, "train");
    if (finds(plain, loss) && !figures.contains("loss")) return true;
    if (!finds(plain, evaluated)) return false;
    return !trains || !figures.contains("time_s");
}

std::optional<FoundStep> step_of_bar(ProgressBar const& bar) {
    auto const kind = kind_of(bar);
    if (kind == BarKind::other || bar.count == 0) return std::nullopt;
    FoundStep step;
    step.is_bar = true;
    read_losses(bar.notes, step.figures);
    if (!step.figures.contains("loss")) read_losses(bar.label, step.figures);
    step.sure = step.figures.contains("loss");
    if (!step.sure && kind != BarKind::training && !holds(bar.notes, "v_num=")) return std::nullopt;
    step.figures["step"] = static_cast<double>(bar.count);
    if (bar.time_s) step.figures["time_s"] = *bar.time_s;
    step.counter = kind == BarKind::training ? "bar" : fmt::format("bar of {}", bar.total);
    return step;
}

std::optional<FoundStep> step_of_text(std::string_view plain) {
    FoundStep step;
    if (!read_count(plain, step)) return std::nullopt;
    read_losses(plain, step.figures);
    read_times(plain, step.figures);
    bool const engine = holds(plain, "skipped=") && holds(plain, "mom=");
    bool const has_figures = step.figures.contains("loss") || step.figures.contains("time_s") ||
                             step.figures.contains(kMaybeTime) || engine;
    if (!has_figures || is_evaluation(plain, step.figures)) return std::nullopt;
    step.sure = true;
    step.bare = !step.figures.contains("loss") && !step.figures.contains("time_s") &&
                !step.figures.contains(kMaybeTime);
    return step;
}

}  // namespace

/// It may have both a count and a figure.
bool may_tell_step(std::string_view plain) {
    bool const counts = holds(plain, "step") || holds(plain, "iter") || holds(plain, "it/s") ||
                        holds(plain, "s/it") || holds(plain, "epoch") ||
                        holds(plain, "num_updates") || holds(plain, "train: ") ||
                        holds(plain, "eta: ") || holds(plain, "/s,") || holds(plain, "s/ba");
    if (!counts || plain.find_first_of("0123456789") == std::string_view::npos) return false;
    return holds(plain, "loss") || holds(plain, "time") || holds(plain, "/") ||
           holds(plain, "skipped=");
}

bool may_be_step(std::string_view line) {
    return may_tell_step(PlainLine(line).view());
}

std::optional<FoundStep> find_step_in_plain(std::string_view plain) {
    try {
        if (auto const bar = last_bar(plain)) return step_of_bar(*bar);
        return step_of_text(plain);
    } catch (std::exception const&) {
        return std::nullopt;  // too complex: not a line of a trainer
    }
}

std::optional<FoundStep> find_step_in(std::string_view line) {
    PlainLine const plain(line);
    return may_tell_step(plain.view()) ? find_step_in_plain(plain.view()) : std::nullopt;
}

std::optional<StepFigures> find_step(std::string_view line) {
    auto found = find_step_in(line);
    if (!found) return std::nullopt;
    if (auto const maybe = found->figures.find(kMaybeTime); maybe != found->figures.end()) {
        found->figures.erase(maybe);
    }
    return std::move(found->figures);
}

}  // namespace osora::plan
