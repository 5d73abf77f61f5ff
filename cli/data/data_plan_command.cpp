// osora data plan: what training makes of each clip of a run's list, by the code that training
// uses; no clip is opened.
#include "base/files/files.hpp"
#include "base/text/csv.hpp"
#include "base/text/printable.hpp"
#include "base/text/shell_word.hpp"
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "base/text/utf8.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/data/clip_config.hpp"
#include "cli/data/new_file_option.hpp"
#include "cli/text/terminal.hpp"
#include "cli/text/text_table.hpp"
#include "plan/buckets/clip_plan.hpp"
#include "plan/clip_statistics.hpp"
#include "plan/config/config_files.hpp"
#include "plan/model/trained_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace osora::cli {
namespace {

constexpr std::size_t kLeftOutShown = 20;
constexpr double kSecondsPerHour = 3600;
constexpr std::string_view kPlanCsvHeader =
    "path,line,resolution,num_frames,height,width,crop_x,crop_y,crop_width,crop_height,share,"
    "others,kind,reason\n";

struct LeftOutClip {
    int line = 0;
    std::string path, kind, reason;
};

struct DataPlan {
    std::filesystem::path list;
    std::vector<plan::BucketSection> entries;
    plan::ClipPlanSummary summary;
    std::vector<LeftOutClip> left_out;  // in the order of the list
    std::string csv;                    // the file of --csv; empty: none
};

std::string bucket_name(plan::BucketSection const& entry) {
    return fmt::format("{} x {}", entry.resolution, counted(entry.num_frames, "frame"));
}

/// "360p x 51 frames 0.25; ...": what --csv says of further buckets of a clip.
std::string other_places(plan::ClipPlan const& planned,
                         std::vector<plan::BucketSection> const& entries) {
    std::string text;
    for (std::size_t i = 1; i < planned.places.size(); ++i) {
        auto const& place = planned.places[i];
        text += fmt::format("{}{} {:.4g}", i == 1 ? "" : "; ", bucket_name(entries[place.entry]),
                            place.share);
    }
    return text;
}

std::string csv_line(plan::ListRow const& row, plan::ClipPlan const& planned,
                     std::vector<plan::BucketSection> const& entries) {
    std::string cells = ",,,,,,,,";
    if (!planned.places.empty()) {
        auto const& place = planned.places.front();
        cells = fmt::format("{},{},{},{},{},{},{},{},{:.4g}", entries[place.entry].resolution,
                            place.key.num_frames, place.key.height, place.key.width, place.crop.x,
                            place.crop.y, place.crop.width, place.crop.height, place.share);
    }
    return fmt::format("{},{},{},{},{},{}\n", csv_field(row.name), row.line, cells,
                       csv_field(other_places(planned, entries)), planned.kind,
                       csv_field(planned.reason));
}

/// JSON cannot hold bytes that are not UTF-8.
std::string json_text(std::string const& text) {
    return is_utf8(text) ? text : printable(text);
}

/// Why training could not open the file; empty: it may be able to.
std::string absent(std::string const& path) {
    std::error_code error;
    auto const type = std::filesystem::status(path, error).type();
    if (type == std::filesystem::file_type::not_found) return "no such file";
    if (type == std::filesystem::file_type::regular) return {};
    return error ? error.message() : "not a regular file";
}

Result<DataPlan> plan_clips(plan::RunConfig const& config, std::filesystem::path const& base_dir,
                            bool list_only, std::string const& csv) {
    OSORA_TRY_VOID(check_reads_clips(config));
    DataPlan made{.list = (base_dir / config.data.manifest).lexically_normal(),
                  .entries = config.bucket,
                  .summary = {},
                  .left_out = {},
                  .csv = csv};
    std::error_code ignored;
    if (!csv.empty() && std::filesystem::equivalent(csv, made.list, ignored))
        return invalid("--csv " + csv + ": is the list itself; give another file");
    OSORA_TRY(auto const shape, plan::sample_shape(config));
    OSORA_TRY(auto const table, plan::bucket_table(config, shape));
    auto const text = read_file(made.list, plan::kListBytesMax);
    if (text.has_error()) return Error(text.error()).in("data.manifest");
    std::optional<NewFile> out;
    if (!csv.empty()) {
        OSORA_TRY(auto fresh, NewFile::create(csv));
        out.emplace(std::move(fresh));
        OSORA_TRY_VOID(out->write(kPlanCsvHeader));
    }
    plan::ClipPlanTotals totals;
    Result<void> written;
    auto const take = [&](plan::ListRow const& row) {
        auto planned = plan::plan_clip(table, row);
        std::string gone = list_only || !row.fault.empty() ? std::string() : absent(row.path);
        if (!gone.empty())
            planned = {.places = {}, .kind = plan::kLeftOutMissing, .reason = std::move(gone)};
        totals.add(row, planned);
        if (out && written) written = out->write(csv_line(row, planned, made.entries));
        if (planned.places.empty()) {
            made.left_out.push_back({.line = row.line,
                                     .path = row.name,
                                     .kind = std::string(planned.kind),
                                     .reason = std::move(planned.reason)});
        }
    };
    auto const folder = std::filesystem::absolute(folder_of(made.list));
    auto const read = plan::read_list_rows(*text, folder, config.data.columns, take);
    if (read.has_error()) return Error(read.error()).in(made.list.string());
    OSORA_TRY_VOID(written);
    if (out) OSORA_TRY_VOID(out->replace());
    made.summary = totals.summary(made.entries.size());
    return made;
}

TextTable buckets_table(DataPlan const& made) {
    TextTable table{.columns = {{.title = "bucket", .key = {}, .right = false},
                                {.title = "width x height", .key = {}},
                                {.title = "clips", .key = {}},
                                {.title = "clips a pass", .key = {}},
                                {.title = "video", .key = {}}},
                    .rows = {}};
    for (auto const& bucket : made.summary.buckets) {
        table.rows.push_back(
            {text_cell(bucket_name(made.entries[bucket.entry])),
             text_cell(fmt::format("{} x {}", bucket.key.width, bucket.key.height)),
             count_cell(bucket.clips), text_cell(three_digits(bucket.weight)),
             text_cell(bucket.seconds > 0 ? format_seconds(bucket.seconds) : "-")});
    }
    return table;
}

std::string left_out_text(DataPlan const& made) {
    if (made.left_out.empty()) return {};
    std::string text = "left out\n";
    for (auto const& [kind, count] : made.summary.left_out)
        text += fmt::format("  {:<9} {}\n", kind, counted(count, "clip"));
    std::size_t const shown = std::min(kLeftOutShown, made.left_out.size());
    for (std::size_t i = 0; i < shown; ++i) {
        auto const& clip = made.left_out[i];
        text += fmt::format("  line {:<5} {}\n{}", clip.line, printable(clip.path),
                            filled(clip.kind + ": " + printable(clip.reason), 4, kColumns));
    }
    if (made.left_out.size() > shown) {
        text += fmt::format("  and {} more{}\n", made.left_out.size() - shown,
                            made.csv.empty() ? "; --csv FILE lists all" : "");
    }
    return text;
}

std::string data_plan_text(DataPlan const& made, plan::ColumnNames const& columns) {
    auto const& summary = made.summary;
    std::string text =
        fmt::format("{} of {} in a bucket, {} left out\n", format_count(summary.used),
                    counted(summary.rows, "clip"), format_count(summary.rows - summary.used));
    if (!summary.buckets.empty()) {
        text += draw_text(buckets_table(made));
        text += fmt::format("all: {} clips a pass, {} of video\n", three_digits(summary.weight),
                            format_seconds(summary.seconds));
    }
    if (summary.without_rate > 0) {
        text += fmt::format("{} without fps: their time is not counted\n",
                            counted(summary.without_rate, "clip"));
    }
    for (std::size_t const entry : summary.empty_entries)
        text += fmt::format("bucket {}: no clip is in it\n", bucket_name(made.entries[entry]));
    text += left_out_text(made);
    if (summary.left_out.contains(std::string(plan::kLeftOutUnknown))) {
        std::string command = "osora data index --manifest " + shell_word(made.list.string());
        for (auto const& [name, column] : columns)
            command += " --columns " + shell_word(name + "=" + column);
        text += "numbers that rows do not say: fill them in, and name the new list in [data]\n  " +
                command + " --out filled.csv\n";
    }
    if (!made.csv.empty()) text += fmt::format("list  {}\n", made.csv);
    return text;
}

protocol::json::object data_plan_json(DataPlan const& made) {
    auto const& summary = made.summary;
    protocol::json::array buckets, empty, clips;
    protocol::json::object kinds;
    for (auto const& bucket : summary.buckets) {
        buckets.push_back({{"resolution", made.entries[bucket.entry].resolution},
                           {"num_frames", bucket.key.num_frames},
                           {"height", bucket.key.height},
                           {"width", bucket.key.width},
                           {"clips", bucket.clips},
                           {"clips_per_pass", bucket.weight},
                           {"hours", bucket.seconds / kSecondsPerHour}});
    }
    for (std::size_t const entry : summary.empty_entries) {
        empty.push_back({{"resolution", made.entries[entry].resolution},
                         {"num_frames", made.entries[entry].num_frames}});
    }
    for (auto const& [kind, count] : summary.left_out) kinds[kind] = count;
    for (auto const& clip : made.left_out) {
        clips.push_back({{"path", json_text(clip.path)},
                         {"line", clip.line},
                         {"kind", clip.kind},
                         {"reason", json_text(clip.reason)}});
    }
    return {{"manifest", json_text(made.list.string())},
            {"rows", summary.rows},
            {"used", summary.used},
            {"clips_per_pass", summary.weight},
            {"hours", summary.seconds / kSecondsPerHour},
            {"without_fps", summary.without_rate},
            {"buckets", buckets},
            {"empty_buckets", empty},
            {"left_out", kinds},
            {"left_out_clips", clips},
            {"csv", json_text(made.csv)}};
}

int exit_code_of(plan::ClipPlanSummary const& summary) {
    if (summary.used > 0) return kExitOk;
    return summary.left_out.contains(std::string(plan::kLeftOutUnknown)) ? kExitUndecided
                                                                         : kExitBad;
}

int run_data_plan(Context const& context, Arguments const& arguments) {
    std::string const csv = arguments.value("--csv").value_or("");
    if (arguments.has("--csv")) {
        auto const place = check_new_file("--csv", csv);
        if (place.has_error()) return fail(kExitUsage, place.error());
    }
    auto const resolved = plan::load_config(config_request(context, arguments));
    if (!resolved.problems.empty()) {
        cli::print(stderr, "{}", problem_list(resolved.problems));
        return kExitUsage;
    }
    auto const config = config_of_stage(resolved, arguments);
    if (config.has_error()) return fail(kExitUsage, config.error());
    auto const made = plan_clips(*config, plan::base_dir_of(resolved.run_file),
                                 arguments.has("--list-only"), csv);
    if (made.has_error()) {
        auto const& error = made.error();
        bool const input = error.code == Errc::invalid_input || error.code == Errc::not_found;
        return fail(input ? kExitUsage : kExitBad, error);
    }
    if (arguments.has("--json")) {
        print_json("data_plan", data_plan_json(*made));
    } else {
        cli::print("{}", data_plan_text(*made, config->data.columns));
    }
    return exit_code_of(made->summary);
}

}  // namespace

CommandSpec data_plan_command() {
    return {
        .name = "data plan",
        .summary = "bucket, frames and crop of each clip, or why it is left out",
        .details =
            "Puts the clips of a run's list into its buckets as training does, and prints clips "
            "and time of each bucket, and clips by the reason for which they are left out: row "
            "(it cannot be read), missing (there is no such file), unknown (the row does not say "
            "frames or size; osora data index fills them in), small, short, image, video. Reads "
            "the list only: sizes and frames are those that it says. Exit code 1: no clip is in a "
            "bucket; 3: and some rows do not say their numbers.",
        .example =
            "osora data plan stage1.toml\n"
            "osora data plan stage1.toml --csv plan.csv --json",
        .positionals = {run_file_positional()},
        .options = {{.name = "--csv",
                     .value = "CSV",
                     .help = "Write a row for each clip to this file: path, line, the bucket with "
                             "the largest share, its size, crop and share, other buckets, or kind "
                             "and reason.",
                     .complete = Complete::file},
                    {.name = "--stage",
                     .value = "N",
                     .help = "Plan for the buckets of this [[stage]]; 0: the first."},
                    {.name = "--list-only",
                     .value = {},
                     .help = "Do not look whether the files are there."},
                    set_option(),
                    json_option("Print the summary and what is left out as JSON "
                                "(osora.data_plan/1).")},
        .run = run_data_plan};
}

}  // namespace osora::cli
