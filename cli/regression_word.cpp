#include "cli/regression_word.hpp"

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/history_access.hpp"
#include "cli/terminal.hpp"
#include "db/queries.hpp"

#include <fmt/format.h>

#include <utility>

namespace osora::cli {
namespace {

using db::analysis::changepoint::GateState;

constexpr int kColumns = 80, kIndent = 9;

std::string block(std::string_view label, std::string const& body) {
    auto const lines = filled(body, kIndent, kColumns);
    return fmt::format("{:<{}}{}", label, kIndent, lines.substr(kIndent));
}

}  // namespace

RegressionWord regression_word(std::vector<db::analysis::SeriesRun> const& runs, int number) {
    RegressionWord word;
    for (auto& group : db::analysis::run_groups(runs)) {
        if (group.numbers.empty() || group.numbers.back() != number) continue;
        auto const detection = db::analysis::detect(std::move(group));
        auto const state = detection.newest.value;
        word.confirmed = state == GateState::confirmed;
        if (state != GateState::suspect && !word.confirmed) return word;
        word.bad = number;
        word.good = db::analysis::last_faster_run(detection.group, number);
        word.text = block(word.confirmed ? "slow" : "slower", detection.newest.reason);
        if (word.good > 0) {
            word.text += block("next", fmt::format("osora bisect {} {}", word.good, word.bad));
        }
    }
    return word;
}

void follow_up(Context const& context, RunFolder const& run, std::string const& series,
               std::string const& auto_mode) {
    if (auto_mode == "off") return;
    auto const state = state_dir(context.environment);
    if (state.has_error()) return;
    RegressionWord word;
    {
        auto const history = open_history(*state);
        if (history.has_error()) return;
        auto const runs = db::load_series(*history->store, series);
        if (runs.has_error()) return;
        word = regression_word(*runs, run.number);
    }
    if (word.text.empty()) return;
    fmt::print("{}", word.text);
    if (auto_mode != "run" || word.good == 0) return;
    fmt::print("\nbisect.auto = \"run\": osora bisect {} {}\n", word.good, word.bad);
    auto const command = bisect_command();
    std::vector<std::string> const words{std::to_string(word.good), std::to_string(word.bad)};
    auto const arguments = parse_arguments(command, words);
    if (arguments.has_value()) (void)command.run(context, *arguments);
}

}  // namespace osora::cli
