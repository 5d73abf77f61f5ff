// osora exec-steps: the steps that a run of job = "exec" would find in a log, tested without a run.
#include "base/files/regular_file.hpp"
#include "base/text/line_splitter.hpp"
#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/text/terminal.hpp"
#include "cli/text/text_table.hpp"
#include "plan/steps/step_finder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace osora::cli {
namespace {

constexpr std::size_t kShownFirst = 10, kShownLast = 5;
constexpr std::size_t kStepsInJson = 100'000;
constexpr std::size_t kAlmostShown = 3, kAlmostBytes = 100;
constexpr char const* kExamplePattern =
    R"(step (?<step>\d+) .*?took (?<time_s>[\d.]+) s.*?loss (?<loss>[\d.]+))";

struct StepsInLog {
    std::string pattern;
    std::int64_t lines = 0;
    std::vector<plan::StepFigures> steps;  // the first kStepsInJson
    std::int64_t count = 0;
    std::int64_t counted_anew = 0;
    plan::StepFigures last;
    std::vector<std::string> almost;  // lines with a count that are not steps
};

class LogReading {
public:
    LogReading(StepsInLog& found, std::optional<plan::StepPattern> pattern)
        : found_(found), pattern_(std::move(pattern)) {}

    void read(std::string_view line) {
        ++found_.lines;
        auto figures = pattern_ ? pattern_->match(line) : finder_.find(line);
        while (auto before = finder_.earlier()) take(std::move(*before));
        if (figures) return take(std::move(*figures));
        if (found_.almost.size() < kAlmostShown && plan::may_be_step(line)) {
            found_.almost.push_back(printable(line.substr(0, kAlmostBytes)));
        }
    }
    void end() {
        if (auto figures = finder_.end()) take(std::move(*figures));
    }

private:
    void take(plan::StepFigures figures) {
        double const step = figures.at("step");
        bool const again = found_.count > 0 && step == found_.last.at("step");
        if (again) return;  // a repeated step is skipped, as the agent does
        found_.counted_anew += found_.count > 0 && step < found_.last.at("step");
        ++found_.count;
        if (found_.steps.size() < kStepsInJson) found_.steps.push_back(figures);
        found_.last = std::move(figures);
    }
    StepsInLog& found_;
    std::optional<plan::StepPattern> pattern_;
    plan::StepFinder finder_;
};

Result<void> read_log(std::string const& path, LogReading& reading) {
    Descriptor opened;
    if (path != "-") {
        OSORA_TRY(opened, open_regular(path));
    }
    int const fd = path == "-" ? STDIN_FILENO : opened.get();
    LineSplitter splitter;
    auto const take = [&](std::string_view line) { reading.read(line); };
    std::array<char, 1 << 16> bytes;
    while (true) {
        ssize_t const got = ::read(fd, bytes.data(), bytes.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return Error{Errc::io, fmt::format("{}: read: {}", path, std::strerror(errno))};
        splitter.feed(std::string_view(bytes.data(), static_cast<std::size_t>(got)), take);
        if (got == 0) break;
    }
    splitter.feed("\n", take);
    reading.end();
    return {};
}

std::string shown_figure(plan::StepFigures const& figures, char const* name) {
    auto const at = figures.find(name);
    if (at == figures.end()) return std::string_view(name) == "time_s" ? "clock" : "-";
    return std::string_view(name) == "time_s" ? format_seconds(at->second)
                                              : fmt::format("{:.6g}", at->second);
}

std::string table_of(StepsInLog const& found) {
    TextTable table;
    table.columns = {{"step", "step"},
                     {"time of a step", "time_s"},
                     {"loss", "loss"},
                     {"lr", "lr"},
                     {"grad norm", "grad_norm"}};
    std::size_t const size = found.steps.size();
    for (std::size_t i = 0; i < size; ++i) {
        if (i >= kShownFirst && i + kShownLast < size) continue;
        std::vector<TableCell> row{text_cell(fmt::format("{:.0f}", found.steps[i].at("step")))};
        for (auto const* name : {"time_s", "loss", "lr", "grad_norm"}) {
            row.push_back(text_cell(shown_figure(found.steps[i], name)));
        }
        table.rows.push_back(std::move(row));
    }
    return draw_text(table);
}

std::string how_to_write_a_pattern(StepsInLog const& found) {
    std::string text = fmt::format("no steps found in {} lines\n", format_count(found.lines));
    if (!found.almost.empty())
        text += "\nlines that count, but show no loss and no time of a step:\n";
    for (auto const& line : found.almost) text += "    " + line + "\n";
    text += fmt::format(
        "\nwrite an expression with a group for each figure (step, time_s or time_ms, loss,\n"
        "grad_norm, lr, samples), and try it on this log:\n"
        "    osora exec-steps LOG --pattern '{0}'\n"
        "then put it in the run file:\n"
        "    [worker]\n    step_pattern = '{0}'\n",
        kExamplePattern);
    return text;
}

std::string text_of(StepsInLog const& found) {
    if (found.count == 0) return how_to_write_a_pattern(found);
    std::string text = fmt::format("{} found in {} lines\n\n", counted(found.count, "step"),
                                   format_count(found.lines)) +
                       table_of(found);
    if (found.steps.size() > kShownFirst + kShownLast) {
        text += fmt::format("\nthe first {} and the last {} of them\n", kShownFirst, kShownLast);
    }
    if (found.counted_anew > 0) {
        text += fmt::format(
            "\nthe count restarts {}: a run continues counting there\n",
            found.counted_anew == 1 ? "once" : fmt::format("{} times", found.counted_anew));
    }
    bool const timed = found.last.contains("time_s");
    if (!timed) text += "\nno time of a step is shown: a run takes it from the clock\n";
    return text;
}

protocol::json::object json_of(StepsInLog const& found) {
    protocol::json::array steps;
    for (auto const& each : found.steps) {
        protocol::json::object figures;
        for (auto const& [name, value] : each) figures[name] = protocol::to_json(value);
        steps.push_back(std::move(figures));
    }
    return {{"pattern", found.pattern},
            {"lines", found.lines},
            {"count", found.count},
            {"counted_anew", found.counted_anew},
            {"steps", std::move(steps)}};
}

int run_exec_steps(Context const&, Arguments const& arguments) {
    StepsInLog found;
    found.pattern = arguments.value("--pattern").value_or(std::string(plan::kStepPatternAuto));
    std::optional<plan::StepPattern> pattern;
    if (found.pattern != plan::kStepPatternAuto) {
        auto made = plan::StepPattern::make(found.pattern);
        if (made.has_error()) return fail(std::move(made).error().in("--pattern"));
        pattern = std::move(*made);
    }
    LogReading reading(found, std::move(pattern));
    auto const done = read_log(arguments.value("FILE").value_or("-"), reading);
    if (done.has_error()) return fail(kExitUsage, done.error());
    if (arguments.has("--json")) {
        print_json("exec_steps", json_of(found));
    } else {
        cli::print("{}", text_of(found));
    }
    return found.count > 0 ? kExitOk : kExitUndecided;
}

}  // namespace

CommandSpec exec_steps_command() {
    return {
        .name = "exec-steps",
        .summary = "the training steps that a run would find in a program's output",
        .details =
            "Reads a log of a trainer as a run with job = \"exec\" would read it while it "
            "grows, and shows each step with its time, loss, learning rate and gradient norm. "
            "\"clock\" is shown where the output has no time of a step: the run then takes the "
            "time between lines. With --pattern it shows what worker.step_pattern would find.\n\n"
            "Exit code 3 when no step is found; what it prints then says how to write a "
            "pattern.",
        .example =
            "osora exec-steps train.log\n"
            "osora exec-steps run.log --pattern "
            "'it (?<step>\\d+) .* (?<time_ms>\\d+) ms'",
        .positionals = {{.name = "FILE",
                         .help = "The log; - is standard input.",
                         .complete = Complete::file}},
        .options = {{.name = "--pattern",
                     .value = "EXPRESSION",
                     .help = "As worker.step_pattern: Perl, with named groups."},
                    json_option("Print JSON (osora.exec_steps/1).")},
        .run = run_exec_steps};
}

}  // namespace osora::cli
