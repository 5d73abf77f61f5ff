// osora detect: whether a series became slower, and where; from a CSV file or from the history.
#include "base/files/files.hpp"
#include "base/text/units.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/history_access.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/detect/detect_history.hpp"
#include "cli/detect/detect_render.hpp"
#include "cli/detect/value_column.hpp"
#include "db/analysis/changepoint/mozilla.hpp"
#include "db/analysis/changepoint/otava.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::cli {
namespace {

using namespace db::analysis::changepoint;
using db::analysis::Finding;

constexpr std::int64_t kSeriesBytesMax = 64 * kMiB;
constexpr int kWindowMax = 1000;

struct Settings {
    std::string method = "robust";
    Direction direction = Direction::higher_is_worse;
    SegmentationOptions robust;
    OtavaOptions otava;
    MozillaOptions mozilla;
};

Result<std::optional<double>> share_option(Arguments const& arguments, std::string_view name,
                                           double max) {
    auto const text = arguments.value(name);
    if (!text) return std::optional<double>();
    OSORA_TRY(double const share, parse_share(name, *text));
    if (share >= 0 && share <= max) return std::optional<double>(share);
    return Error{Errc::invalid_input,
                 fmt::format("{} {}: must be between 0 and {:g}", name, *text, max)};
}

Error only_for(std::string_view option, std::string_view method) {
    return {Errc::invalid_input, fmt::format("{} goes with --method {}", option, method)};
}

Result<Settings> settings_of(Arguments const& arguments) {
    Settings settings;
    settings.method = arguments.value("--method").value_or(settings.method);
    if (arguments.has("--lower-is-worse")) settings.direction = Direction::lower_is_worse;
    OSORA_TRY(auto const effect, share_option(arguments, "--min-effect", 100));
    OSORA_TRY(auto const p, share_option(arguments, "--p-value", 1));
    OSORA_TRY(auto const window, arguments.number("--window", 2, kWindowMax));
    if (p && settings.method != "otava") return only_for("--p-value", "otava");
    if (window && settings.method == "robust") return only_for("--window", "otava or mozilla");
    if (effect) {
        settings.robust.min_effect = *effect;
        settings.otava.min_magnitude = *effect;
        settings.mozilla.min_effect = *effect;
    }
    if (p) settings.otava.max_p = *p;
    if (window) {
        settings.otava.window = *window;
        settings.mozilla.back_min = settings.mozilla.fore = *window;
        settings.mozilla.back_max = 2 * *window;
    }
    return settings;
}

std::vector<int> indices(std::vector<ChangePoint> const& points) {
    std::vector<int> indices;
    for (auto const& point : points) indices.push_back(point.index);
    return indices;
}

CsvDetection detected(std::vector<double> values, Settings const& settings) {
    CsvDetection detection{.method = settings.method,
                           .direction = settings.direction,
                           .values = std::move(values),
                           .answer = {},
                           .verdict = {},
                           .newest = {},
                           .otava = {},
                           .mozilla = {}};
    auto const& series = detection.values;
    detection.answer = robust_change_points(series, settings.robust);
    if (static_cast<int>(series.size()) >= values_needed(settings.robust)) {
        auto otava = otava_change_points(series, settings.otava);
        auto mozilla = mozilla_change_points(series, settings.mozilla);
        detection.otava = indices(otava);
        detection.mozilla = indices(mozilla);
        if (settings.method != "robust") detection.answer.small.clear();
        if (settings.method == "otava") detection.answer.points = std::move(otava);
        if (settings.method == "mozilla") detection.answer.points = std::move(mozilla);
    }
    detection.verdict =
        series_verdict(series, detection.answer, settings.direction, settings.robust);
    auto const& points = detection.answer.points;
    GateOptions gate;
    gate.min_effect = settings.robust.min_effect;
    gate.direction = settings.direction;
    if (!series.empty()) {
        detection.newest = gate_newest(series, points.empty() ? 0 : points.back().index, gate);
    }
    return detection;
}

Result<std::vector<double>> values_of(std::string const& file, Arguments const& arguments) {
    if (file.empty()) return Error{Errc::invalid_input, "--csv: the name of a file is empty"};
    bool const standard_input = file == "-";
    std::string const name = standard_input ? "standard input" : file;
    auto const text = read_file(standard_input ? "/dev/stdin" : file, kSeriesBytesMax);
    if (text.has_error()) return Error{Errc::invalid_input, text.error().message};
    auto values = read_value_column(*text, arguments.value("--column"));
    if (values.has_error()) return std::move(values).error().in(name);
    return values;
}

int detect_csv(std::string const& file, Arguments const& arguments) {
    auto const settings = settings_of(arguments);
    if (settings.has_error()) return fail(kExitUsage, settings.error());
    auto values = values_of(file, arguments);
    if (values.has_error()) return fail(kExitUsage, values.error());
    auto const detection = detected(std::move(*values), *settings);
    if (arguments.has("--json")) {
        print_json("detect", detect_json(detection));
    } else {
        cli::print("{}", detect_text(detection));
    }
    switch (detection.verdict.value) {
        case SeriesState::undecided:
            return kExitUndecided;
        case SeriesState::regressed:
            return kExitBad;
        default:
            return kExitOk;
    }
}

int detect_runs(Context const& context, Arguments const& arguments) {
    for (auto const* option :
         {"--method", "--window", "--p-value", "--column", "--lower-is-worse"}) {
        if (arguments.has(option))
            return fail(kExitUsage, fmt::format("{} goes with --csv", option));
    }
    auto const settings = settings_of(arguments);
    if (settings.has_error()) return fail(kExitUsage, settings.error());
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error());
    auto const history = open_history_or_warn(*state);
    if (history.has_error()) {
        return fail(history.error());
    }
    db::analysis::DetectionOptions options;
    options.robust = settings->robust;
    options.gate.min_effect = settings->robust.min_effect;
    options.metrics = true;
    db::analysis::NodeDriftOptions node_options;
    if (arguments.has("--min-effect")) {
        node_options.robust.min_effect = settings->robust.min_effect;
    }
    auto const wanted = arguments.value("SERIES");
    auto const what = wanted                     ? DetectWhat::series
                      : arguments.has("--nodes") ? DetectWhat::nodes
                                                 : DetectWhat::all;
    auto const all = detect_history(**history, what, wanted, options, node_options);
    if (all.has_error()) return fail(all.error());
    if (arguments.has("--json")) {
        print_json("detect", detect_json(*all));
    } else {
        cli::print("{}", wanted ? detect_text(all->series.front()) : detect_text(*all));
    }
    auto const finding = finding_of(*all);
    if (finding == Finding::bad) return kExitBad;
    return finding == Finding::good ? kExitOk : kExitUndecided;
}

int run_detect(Context const& context, Arguments const& arguments) {
    auto const file = arguments.value("--csv");
    int const named = arguments.has("--csv") + arguments.has("SERIES") + arguments.has("--nodes");
    if (named > 1) {
        return fail(kExitUsage, "name a series, or a file with --csv, or --nodes: one of them");
    }
    return file ? detect_csv(*file, arguments) : detect_runs(context, arguments);
}

}  // namespace

CommandSpec detect_command() {
    return {
        .name = "detect",
        .summary = "whether a series of runs got slower, and where",
        .details =
            "Finds the levels of the median step times of the runs of a series that do the same "
            "work on as many ranks and nodes, and compares the newest run with those before it; "
            "without SERIES all series, a line each, and the nodes. With --csv the values of a "
            "file, one a line. Single slow runs are no change, changes below the least effect are "
            "none, and noise that runs share with their neighbours is taken into account.\n\n"
            "A regression is suspected when the newest run is slow, and confirmed when two runs in "
            "a row are, when that run was repeated and is slow again (bisect.auto = \"run\" does "
            "that), or when a whole level is. It also lists what ranks wait for and memory, where "
            "these became worse.\n\n"
            "--nodes: what each node reached in each probe against the others of that probe, its "
            "network and its reading of storage; names nodes whose newest level is lower than it "
            "was. However many nodes there are, a healthy history names one in 5 of 100 cases at "
            "most.\n\n"
            "With --csv only a level of three values or more is a regression: newest values that "
            "are slow are called suspect, and do not change the exit code.\n\n"
            "Exit code 1 when a regression is confirmed or a node became slower, 3 when a "
            "regression of a series of runs is suspected or there are fewer than 6 values.",
        .example =
            "osora detect stdit3-stage1\n"
            "osora detect --nodes\n"
            "osora detect --csv steps.csv --json\n"
            "osora detect --csv results.csv --column step_s --min-effect 5%",
        .positionals = {{.name = "SERIES",
                         .help = "The run.name of the runs.",
                         .complete = Complete::run,
                         .required = false}},
        .options =
            {{.name = "--csv",
              .value = "FILE",
              .help = "Values, one a line, with or without a header; - is standard input.",
              .complete = Complete::file},
             {.name = "--nodes", .value = {}, .help = "Nodes, over the probes of the history."},
             {.name = "--column",
              .value = "NAME|NUMBER",
              .help = "Which column of the file: its name, or a number from 1 on."},
             {.name = "--min-effect",
              .value = "SHARE",
              .help = "Least change of level that counts, 0.05 or 5% (3 %; nodes: 5 %)."},
             {.name = "--lower-is-worse", .value = {}, .help = "Values are rates, not times."},
             // Other detectors, for comparison: docs/guide/regressions.md.
             {.name = "--method",
              .value = "METHOD",
              .help = "Which detector decides.",
              .choices = "robust|otava|mozilla",
              .hidden = true},
             {.name = "--window",
              .value = "N",
              .help = "Values of otava's window, or on each side of mozilla's.",
              .hidden = true},
             {.name = "--p-value",
              .value = "P",
              .help = "Largest p of otava's points.",
              .hidden = true},
             json_option("Print JSON (osora.detect/1).")},
        .run = run_detect};
}

}  // namespace osora::cli
