// osora data index: reads the headers of all clips with osora-clips, once.
#include "cli/command/commands.hpp"

#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/command/worker_output.hpp"
#include "cli/data/new_file_option.hpp"
#include "plan/buckets/clip_columns.hpp"
#include "protocol/clip_index.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace osora::cli {
namespace {

constexpr int kIndexDeadlineMax = 86'400, kIndexWorkersMax = 1024;
constexpr std::size_t kFailuresShown = 20, kKindsShown = 4;

Result<protocol::ClipIndexRequest> index_request(Arguments const& arguments) {
    protocol::ClipIndexRequest request;
    auto const manifest = arguments.value("--manifest");
    if (!manifest) return invalid("give --manifest CSV, the clips to index");
    request.manifest = *manifest;
    request.index = arguments.value("--index").value_or(*manifest + ".index");
    OSORA_TRY_VOID(check_new_file("--index", request.index));
    if (auto const out = arguments.value("--out")) {
        request.out = *out;
        OSORA_TRY_VOID(check_new_file("--out", request.out));
    }
    OSORA_TRY(request.columns, plan::columns_of_words(arguments.all("--columns")));
    OSORA_TRY(auto const deadline, arguments.number("--deadline", 1, kIndexDeadlineMax));
    OSORA_TRY(auto const workers, arguments.number("--workers", 0, kIndexWorkersMax));
    request.deadline_s = deadline.value_or(30);
    auto const cores = static_cast<int>(std::thread::hardware_concurrency());
    request.workers = workers.value_or(std::clamp(cores, 1, kIndexWorkersMax));
    request.progress = ::isatty(STDERR_FILENO) == 1;
    return request;
}

/// "h264 12, hevc 3": the most frequent ones.
std::string most_frequent(std::map<std::string, std::int64_t> const& counts) {
    std::vector<std::pair<std::int64_t, std::string>> sorted;
    for (auto const& [name, count] : counts)
        sorted.emplace_back(count, name.substr(0, name.find(',')));
    std::ranges::stable_sort(sorted, std::greater<>(), [](auto const& each) { return each.first; });
    std::string text;
    for (std::size_t i = 0; i < std::min(kKindsShown, sorted.size()); ++i)
        text += fmt::format("{}{} {}", i == 0 ? "" : ", ", sorted[i].second, sorted[i].first);
    if (sorted.size() > kKindsShown)
        text += fmt::format(", {} others", sorted.size() - kKindsShown);
    return text;
}

std::string advice_text(protocol::ClipIndex const& index) {
    std::string text;
    if (index.long_gops > 0) {
        text += fmt::format(
            "{} less than one keyframe in 10 s: decoding starts far before a\n"
            "  window; encode with a keyframe every 1 to 2 s (ffmpeg -g 48)\n",
            index.long_gops == 1 ? "1 clip has" : counted(index.long_gops, "clip") + " have");
    }
    if (index.variable_rate > 0) {
        text +=
            fmt::format("{} a variable frame rate; fps is the average\n",
                        index.variable_rate == 1 ? "1 clip has"
                                                 : counted(index.variable_rate, "clip") + " have");
    }
    return text;
}

std::string failures_text(protocol::ClipIndex const& index) {
    if (index.failures.empty()) return {};
    auto const failures = static_cast<std::int64_t>(index.failures.size());
    std::string text = fmt::format("{} could not be read\n", counted(failures, "row"));
    for (std::size_t i = 0; i < std::min(kFailuresShown, index.failures.size()); ++i) {
        auto const& clip = index.failures[i];
        text += fmt::format("  line {:<5} {}\n    {}: {}\n", clip.line, printable(clip.path),
                            printable(clip.kind), printable(clip.reason));
    }
    if (index.failures.size() > kFailuresShown)
        text += fmt::format("  and {} more; --json lists all\n",
                            index.failures.size() - kFailuresShown);
    return text;
}

std::string index_text(protocol::ClipIndex const& index) {
    std::string text = fmt::format(
        "{} indexed in {}: {} read, {} as before\n", counted(index.read + index.kept, "clip"),
        format_seconds(index.seconds), format_count(index.read), format_count(index.kept));
    if (index.read + index.kept > 0) {
        text += fmt::format(
            "  frames      {}, {} of video\n  codecs      {}\n  containers  {}\n"
            "  sizes       {}\n  keyframes   every {} frames (median), at most {} or {}\n"
            "  decoding    {:.2f} ms of CPU time a frame (median)\n",
            format_count(index.frames), format_seconds(index.duration_s),
            most_frequent(index.codecs), most_frequent(index.containers),
            most_frequent(index.resolutions), index.gop_frames_median, index.gop_frames_max,
            format_seconds(index.gop_s_max), index.decode_ms_per_frame);
    }
    if (index.damaged_lines > 0)
        text += fmt::format("{} of the index dropped, the clips read again\n",
                            counted(index.damaged_lines, "damaged line"));
    text += advice_text(index) + failures_text(index);
    text += fmt::format("index  {}\n", printable(index.index));
    if (!index.out.empty()) {
        std::int64_t cells = 0;
        for (auto const& [column, count] : index.filled) cells += count;
        text +=
            fmt::format("list   {} ({} filled)\n", printable(index.out), counted(cells, "cell"));
    }
    return text;
}

int run_data_index(Context const& context, Arguments const& arguments) {
    auto const request = index_request(arguments);
    if (request.has_error()) return fail(kExitUsage, request.error());
    auto const answer =
        answer_of_helper(context, {"index", protocol::encode(*request)}, kClipsProgram);
    if (answer.exit_code != kExitOk) return answer.exit_code;
    auto const index = protocol::decode<protocol::ClipIndex>(answer.text);
    if (index.has_error()) return fail(kExitInternal, index.error());
    cli::print("{}", arguments.has("--json") ? answer.text : index_text(*index));
    return index->failures.empty() ? kExitOk : kExitBad;
}

}  // namespace

CommandSpec data_index_command() {
    return {
        .name = "data index",
        .summary = "read sizes, frames, rates and keyframes of all clips once",
        .details =
            "Reads headers and packet tables of the clips of a manifest (mkv and ts: all packets), "
            "decodes four frames of each for the cost, and adds a line for each clip to the "
            "index. A second run reads only clips that are new, or whose file has another size or "
            "modification time; a run that was stopped continues. --out writes the manifest with "
            "the missing numbers filled in; numbers that a row has stay, and other columns are "
            "left out. Runs in osora-clips. Exit code 1: some rows could not be read; clips among "
            "them have empty cells in --out.",
        .example =
            "osora data index --manifest clips.csv --out filled.csv\n"
            "osora data index --manifest clips.csv --workers 8 --json",
        .positionals = {},
        .options = {manifest_option(),
                    columns_option(),
                    {.name = "--out",
                     .value = "CSV",
                     .help = "Write path, text, num_frames, height, width, aspect_ratio, "
                             "resolution, fps of every clip to this file.",
                     .complete = Complete::file},
                    {.name = "--index",
                     .value = "FILE",
                     .help = "The index. Default: the manifest's name with .index added.",
                     .complete = Complete::file},
                    deadline_option("Seconds for each clip. Default: 30."),
                    workers_option(),
                    json_option("Print the summary as JSON (osora.data_index/1).")},
        .run = run_data_index};
}

}  // namespace osora::cli
