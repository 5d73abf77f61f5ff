// osora data score: scores of clips, by osora-clips.
#include "base/text/nearest.hpp"
#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/command/worker_output.hpp"
#include "cli/data/new_file_option.hpp"
#include "cli/text/terminal.hpp"
#include "cli/text/text_table.hpp"
#include "plan/buckets/clip_columns.hpp"
#include "protocol/clip_score.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <thread>

namespace osora::cli {
namespace {

using protocol::kClipScores;
using protocol::kScoreFramesMax;

constexpr std::string_view kScoredList = "CLIPS.csv";
constexpr int kScoreDeadlineMax = 86'400, kScoreWorkersMax = 1024;
constexpr std::size_t kUnscoredShown = 20;

Result<std::vector<std::string>> score_names(std::string_view list) {
    std::vector<std::string> names;
    for (std::string_view const part : split(list, ',')) {
        std::string const name(trimmed(part));
        if (std::ranges::find(kClipScores, name) != kClipScores.end()) {
            names.push_back(name);
            continue;
        }
        std::string const available =
            "available: motion, blur, cuts, brightness, text, aesthetic, flow";
        auto const near = nearest_name(name, kClipScores);
        return invalid(fmt::format("--scores {}: unknown; {}{}", printable(name), available,
                                   near ? fmt::format("; did you mean {}?", *near) : ""));
    }
    return names;
}

/// Files by score.
Result<std::map<std::string, std::string>> model_options(Arguments const& arguments,
                                                         std::vector<std::string> const& scores) {
    std::map<std::string, std::string> models;
    for (std::string_view const score : protocol::kModelScores) {
        std::string const name(score), option = "--" + name;
        auto const file = arguments.value(option);
        if (file) {
            models[name] = *file;
        } else if (std::ranges::find(scores, name) != scores.end()) {
            return invalid(
                fmt::format("--scores {0}: needs a TorchScript file: {1} FILE", name, option));
        }
    }
    return models;
}

/// Nothing that is there is lost without a word.
Result<void> check_score_out(Arguments const& arguments, std::string const& out) {
    OSORA_TRY_VOID(check_new_file("--out", out));
    if (arguments.has("--resume") && arguments.has("--force"))
        return invalid("--resume keeps what is there and --force does not: give one of them");
    if (arguments.has("--resume") || arguments.has("--force")) return {};
    std::error_code ignored;
    if (std::filesystem::exists(out, ignored)) {
        return invalid("--out " + out +
                       ": is there already; --resume keeps its rows, --force replaces it");
    }
    if (std::filesystem::exists(out + ".part", ignored)) {
        return invalid("--out " + out + ": " + out +
                       ".part is of a run that was stopped; --resume continues it, --force "
                       "begins again");
    }
    return {};
}

Result<protocol::ClipScoreRequest> score_request(Arguments const& arguments) {
    protocol::ClipScoreRequest request;
    request.manifest = arguments.value(kScoredList).value_or("");
    OSORA_TRY(request.scores,
              score_names(arguments.value("--scores").value_or("motion,blur,cuts,brightness")));
    OSORA_TRY(request.models, model_options(arguments, request.scores));
    request.out = arguments.value("--out").value_or("scores.csv");
    OSORA_TRY_VOID(check_score_out(arguments, request.out));
    request.resume = arguments.has("--resume");
    OSORA_TRY(request.columns, plan::columns_of_words(arguments.all("--columns")));
    OSORA_TRY(auto const frames, arguments.number("--frames", 1, kScoreFramesMax));
    OSORA_TRY(auto const deadline, arguments.number("--deadline", 1, kScoreDeadlineMax));
    OSORA_TRY(auto const workers, arguments.number("--workers", 0, kScoreWorkersMax));
    request.frames = frames.value_or(request.frames);
    request.deadline_s =
        deadline
            ? static_cast<double>(*deadline)
            : protocol::score_deadline_s(protocol::asked_names(request.scores, request.models));
    auto const cores = static_cast<int>(std::thread::hardware_concurrency());
    request.workers = workers.value_or(std::clamp(cores, 1, kScoreWorkersMax));
    request.progress = ::isatty(STDERR_FILENO) == 1;
    return request;
}

std::string unscored_text(protocol::ClipScores const& scores) {
    if (scores.damaged.empty()) return {};
    auto const count = static_cast<std::int64_t>(scores.damaged.size());
    std::string text = fmt::format("{} could not be scored\n", counted(count, "row"));
    std::size_t const shown = std::min(kUnscoredShown, scores.damaged.size());
    for (std::size_t i = 0; i < shown; ++i) {
        auto const& clip = scores.damaged[i];
        text += fmt::format("  line {:<5} {}\n", clip.line, printable(clip.path));
        text += filled(clip.kind + ": " + printable(clip.reason), 4, kColumns);
    }
    if (scores.damaged.size() > shown)
        text += fmt::format("  and {} more; --json lists all\n", scores.damaged.size() - shown);
    return text;
}

std::string scores_text(protocol::ClipScores const& scores) {
    std::string text =
        fmt::format("{} scored in {}, {} as before\n", counted(scores.scored, "clip"),
                    format_seconds(scores.seconds), format_count(scores.kept));
    TextTable table{.columns = {{.title = "score", .key = {}, .right = false},
                                {.title = "clips", .key = {}},
                                {.title = "least", .key = {}},
                                {.title = "median", .key = {}},
                                {.title = "most", .key = {}}},
                    .rows = {}};
    for (auto const& [name, range] : scores.scores) {
        table.rows.push_back({text_cell(name), count_cell(range.clips),
                              text_cell(fmt::format("{:.4g}", range.least)),
                              text_cell(fmt::format("{:.4g}", range.median)),
                              text_cell(fmt::format("{:.4g}", range.most))});
    }
    if (!table.rows.empty()) text += draw_text(table);
    return text + unscored_text(scores) + fmt::format("list  {}\n", scores.out);
}

int run_data_score(Context const& context, Arguments const& arguments) {
    auto const request = score_request(arguments);
    if (request.has_error()) return fail(kExitUsage, request.error());
    auto const answer =
        answer_of_helper(context, {"score", protocol::encode(*request)}, kClipsProgram);
    if (answer.exit_code != kExitOk) return answer.exit_code;
    auto const scores = protocol::decode<protocol::ClipScores>(answer.text);
    if (scores.has_error()) return fail(kExitInternal, scores.error());
    cli::print("{}", arguments.has("--json") ? answer.text : scores_text(*scores));
    return scores->damaged.empty() ? kExitOk : kExitBad;
}

}  // namespace

CommandSpec data_score_command() {
    return {
        .name = "data score",
        .summary = "motion, blur, cuts, brightness, text, aesthetic and flow of clips",
        .details =
            "Writes a row for each clip of a list, in its order: path, the scores, frames, "
            "size_bytes, mtime_ns, error. motion: mean difference of luma between neighbouring "
            "sampled "
            "frames, 0 to 1. blur: variance of the Laplacian of luma; the lower, the more blurred. "
            "cuts: number of hard cuts, and cut_frames, the first frame after each; decodes every "
            "frame. brightness: mean luma, 0 to 1, and black, the share of black frames. text "
            "(needs Tesseract): share of the picture covered by words, and text_boxes, their "
            "number. aesthetic and flow: by TorchScript files, each followed by the hash of its "
            "file "
            "(the guide says what they get and return). A run that was stopped continues with "
            "--resume. Runs in osora-clips; a run "
            "file with run.job = \"score\" does the same on many ranks. Exit code 1: some clips "
            "could not be scored; their cells are empty, and error says why.",
        .example =
            "osora data score clips.csv --out scores.csv\n"
            "osora data score clips.csv --scores motion,blur --frames 8 --resume --json\n"
            "osora data score clips.csv --scores aesthetic --aesthetic aesthetic.pt",
        .positionals = {{.name = kScoredList,
                         .help = "The clips (CSV or JSON lines), with Open-Sora's columns; path "
                                 "alone will do.",
                         .complete = Complete::file}},
        .options =
            {{.name = "--scores",
              .value = "NAME,...",
              .help = "Some of motion, blur, cuts, brightness, text, aesthetic, flow. Default: "
                      "the first four."},
             {.name = "--aesthetic",
              .value = "FILE",
              .help = "TorchScript file of the score aesthetic, which is then made, too.",
              .complete = Complete::file},
             {.name = "--flow",
              .value = "FILE",
              .help = "Likewise of the score flow.",
              .complete = Complete::file},
             {.name = "--frames",
              .value = "N",
              .help = "Frames sampled of each clip, evenly spread. Default: 16."},
             {.name = "--out",
              .value = "CSV",
              .help = "The file to write. Default: scores.csv.",
              .complete = Complete::file},
             {.name = "--resume",
              .value = {},
              .help = "Keep the rows of the file, and of a run that was stopped, whose clips "
                      "have not changed."},
             {.name = "--force", .value = {}, .help = "Replace the file if it is there."},
             columns_option(),
             deadline_option("Seconds for each clip. Default: 30; with cuts, text or a model 600."),
             workers_option(),
             json_option("Print the summary as JSON (osora.data_score/1).")},
        .run = run_data_score};
}

}  // namespace osora::cli
