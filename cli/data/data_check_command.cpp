// osora data check: finds damaged clips with osora-clips, and lists them.
#include "base/files/files.hpp"
#include "base/text/csv.hpp"
#include "base/text/printable.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/command/worker_output.hpp"
#include "cli/data/new_file_option.hpp"
#include "plan/buckets/clip_columns.hpp"
#include "protocol/clip_requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>

namespace osora::cli {
namespace {

constexpr int kDeadlineMax = 86'400, kCheckWorkersMax = 1024;
constexpr std::size_t kShownMax = 20;

Result<protocol::ClipCheckRequest> check_request(Arguments const& arguments) {
    protocol::ClipCheckRequest request;
    auto const manifest = arguments.value("--manifest");
    if (!manifest) return Error{Errc::invalid_input, "give --manifest CSV, the clips to check"};
    request.manifest = *manifest;
    OSORA_TRY(request.columns, plan::columns_of_words(arguments.all("--columns")));
    request.full = arguments.has("--full");
    OSORA_TRY(auto const deadline, arguments.number("--deadline", 1, kDeadlineMax));
    OSORA_TRY(auto const workers, arguments.number("--workers", 0, kCheckWorkersMax));
    request.deadline_s = deadline.value_or(request.full ? 600 : 30);
    auto const cores = static_cast<int>(std::thread::hardware_concurrency());
    request.workers = workers.value_or(std::clamp(cores, 1, kCheckWorkersMax));
    return request;
}

Result<void> check_quarantine(std::string const& file, std::string const& manifest) {
    OSORA_TRY_VOID(check_new_file("--quarantine", file));
    std::error_code ignored;
    if (std::filesystem::equivalent(file, manifest, ignored))
        return invalid("--quarantine " + file + ": is the manifest itself; give another file");
    return {};
}

std::string quarantine_csv(protocol::ClipCheck const& check) {
    std::string csv = "path,line,kind,reason\n";
    for (auto const& clip : check.damaged) {
        csv += fmt::format("{},{},{},{}\n", csv_field(clip.path), clip.line, clip.kind,
                           csv_field(clip.reason));
    }
    return csv;
}

std::string check_text(protocol::ClipCheck const& check, std::string const& quarantine) {
    std::string const what = check.mode == "full"
                                 ? "every frame decoded"
                                 : "first, middle and last frame; --full decodes all";
    if (check.damaged.empty()) return fmt::format("{} clips are fine ({})\n", check.checked, what);
    std::string text = fmt::format("{} of {} clips cannot be used ({})\n", check.damaged.size(),
                                   check.checked, what);
    for (std::size_t i = 0; i < std::min(kShownMax, check.damaged.size()); ++i) {
        auto const& clip = check.damaged[i];
        text += fmt::format("  line {:<5} {}\n    {}: {}\n", clip.line, printable(clip.path),
                            printable(clip.kind), printable(clip.reason));
    }
    if (check.damaged.size() > kShownMax) {
        text += fmt::format("  and {} more{}\n", check.damaged.size() - kShownMax,
                            quarantine.empty() ? "; --quarantine FILE lists all" : "");
    }
    if (std::ranges::any_of(check.damaged, [](auto& each) { return each.kind == "size"; }))
        text +=
            "sizes of the list: correct them, or leave them out: [data] columns = { height = "
            "\"\", width = \"\" }, --columns height= --columns width=\n";
    if (!quarantine.empty()) text += fmt::format("list  {}\n", printable(quarantine));
    return text;
}

int run_data_check(Context const& context, Arguments const& arguments) {
    auto const request = check_request(arguments);
    if (request.has_error()) return fail(kExitUsage, request.error());
    auto const quarantine = arguments.value("--quarantine");
    if (quarantine) {
        auto const place = check_quarantine(*quarantine, request->manifest);
        if (place.has_error()) return fail(kExitUsage, place.error());
    }
    auto const answer =
        answer_of_helper(context, {"check", protocol::encode(*request)}, kClipsProgram);
    if (answer.exit_code != kExitOk) return answer.exit_code;
    auto const check = protocol::decode<protocol::ClipCheck>(answer.text);
    if (check.has_error()) return fail(kExitInternal, check.error());
    auto const written =
        quarantine ? write_file_atomic(*quarantine, quarantine_csv(*check)) : Result<void>();
    std::string const listed = written.has_error() ? "" : quarantine.value_or("");
    cli::print("{}", arguments.has("--json") ? answer.text : check_text(*check, listed));
    if (written.has_error()) return fail(kExitBad, written.error());
    return check->damaged.empty() ? kExitOk : kExitBad;
}

}  // namespace

CommandSpec data_check_command() {
    return {
        .name = "data check",
        .summary = "find clips that training could not use",
        .details =
            "Opens every clip of a manifest and decodes its first, middle and last frame, or "
            "all frames. A clip cannot be used when its row cannot be read (row), its file is "
            "missing, empty, unreadable, damaged, too_large or slow (not done by the deadline),"
            " or has fewer frames than the row says (short), or another size on the screen "
            "(size), or when it crashes FFmpeg, twice (crash). What is listed does not depend on "
            "the number of workers. Runs in osora-clips. Exit code 1: some clips cannot be "
            "used.",
        .example =
            "osora data check --manifest clips.csv\n"
            "osora data check --manifest clips.csv --full --quarantine bad.csv --json",
        .positionals = {},
        .options = {manifest_option(),
                    columns_option(),
                    {.name = "--full", .value = {}, .help = "Decode every frame."},
                    {.name = "--quarantine",
                     .value = "CSV",
                     .help =
                         "Write the clips that cannot be used to this file, also when there are "
                         "none: path, line, kind, reason.",
                     .complete = Complete::file},
                    deadline_option("Seconds for each clip. Default: 30; with --full 600."),
                    workers_option(),
                    json_option("Print what was found as JSON (osora.data_check/1).")},
        .run = run_data_check};
}

}  // namespace osora::cli
