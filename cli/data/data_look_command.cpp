// osora data look: a picture of what the trainer sees of some clips. osora reads the run file, and
// osora-clips draws.
#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/command/worker_output.hpp"
#include "cli/data/clip_config.hpp"
#include "cli/data/new_file_option.hpp"
#include "cli/text/terminal.hpp"
#include "plan/buckets/clip_columns.hpp"
#include "plan/clip_statistics.hpp"
#include "plan/model/trained_model.hpp"
#include "protocol/clip_look.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

namespace osora::cli {
namespace {

constexpr std::string_view kLookSubject = "RUN.toml|CLIPS.csv";
constexpr int kLookFramesMax = 65'536, kLookClipsMax = 200, kLookDeadlineMax = 86'400;
constexpr int kLookWidthMin = 64, kLookWidthMax = 16'384;

std::string look_name(plan::BucketSection const& bucket) {
    return fmt::format("{}:{}", bucket.resolution, bucket.num_frames);
}

/// "360p:51"; "360p" is of images.
Result<plan::BucketSection> look_bucket(std::string const& word) {
    plan::BucketSection bucket;
    auto const colon = word.rfind(':');
    bucket.resolution = word.substr(0, colon);
    bucket.num_frames = 1;
    if (colon != std::string::npos) {
        auto const frames = whole_number<int>(std::string_view(word).substr(colon + 1));
        bucket.num_frames = frames.value_or(0);
        if (bucket.num_frames < 1 || bucket.num_frames > kLookFramesMax) {
            return invalid("--bucket " + word +
                           ": expected RESOLUTION:FRAMES as in 360p:51 (360p:1 for images)");
        }
    }
    if (auto const area = plan::resolution_area(bucket.resolution); area.has_error())
        return Error(area.error()).in("--bucket " + word);
    return bucket;
}

/// The run's buckets that --bucket chooses from, as an index; -1: it is not given.
Result<int> look_entry(plan::RunConfig const& config, std::vector<std::string> const& words) {
    if (words.empty()) return -1;
    if (words.size() > 1) return invalid("--bucket: give one of the run's buckets, or none");
    OSORA_TRY(auto const wanted, look_bucket(words.front()));
    std::string names;
    for (std::size_t i = 0; i < config.bucket.size(); ++i) {
        auto const& each = config.bucket[i];
        if (each.resolution == wanted.resolution && each.num_frames == wanted.num_frames)
            return static_cast<int>(i);
        names += (i == 0 ? "" : ", ") + look_name(each);
    }
    return invalid(fmt::format("--bucket {}: the run has {}", words.front(), names));
}

/// What only jobs that train have.
Result<void> check_trains(plan::RunConfig const& config) {
    OSORA_TRY_VOID(check_reads_clips(config));
    if (config.run.job == "encode") {
        return invalid(
            "run.job = \"encode\": each clip is encoded once, in another window; give the "
            "run file of a job that trains, or the list with --bucket");
    }
    if (config.debug.bucket_schedule == "original") {
        return invalid(
            "debug.bucket_schedule = \"original\": its samples depend on the number of ranks; "
            "look at those of --set 'debug.bucket_schedule=\"balanced\"'");
    }
    return {};
}

/// The run file's configuration, or the defaults with the buckets of --bucket for a list.
Result<plan::RunConfig> look_config(plan::ResolvedConfig const& resolved,
                                    Arguments const& arguments, std::string const& subject,
                                    bool is_run) {
    if (is_run) {
        if (arguments.has("--columns"))
            return invalid("--columns: is for a list; a run file has [data] columns");
        OSORA_TRY(auto config, config_of_stage(resolved, arguments));
        OSORA_TRY_VOID(check_trains(config));
        config.data.manifest =
            (plan::base_dir_of(resolved.run_file) / config.data.manifest).lexically_normal();
        return config;
    }
    for (char const* const option : {"--set", "--stage"}) {
        if (arguments.has(option))
            return invalid(std::string(option) + ": is for a run file (RUN.toml)");
    }
    plan::RunConfig config;
    config.bucket.clear();
    for (std::string const& word : arguments.all("--bucket")) {
        OSORA_TRY(config.bucket.emplace_back(), look_bucket(word));
    }
    if (config.bucket.empty()) {
        return invalid(subject +
                       ": is a list, which has no buckets; add --bucket 360p:51, or give the run "
                       "file (RUN.toml)");
    }
    OSORA_TRY(config.data.columns, plan::columns_of_words(arguments.all("--columns")));
    config.data.manifest = subject;
    return config;
}

Result<std::string> look_out(Arguments const& arguments) {
    auto const out = arguments.value("--out").value_or("look.png");
    OSORA_TRY_VOID(check_new_file("--out", out));
    if (!out.ends_with(".png"))
        return invalid("--out " + out + ": the picture is a PNG; nearest valid: " +
                       std::filesystem::path(out).replace_extension(".png").string());
    std::error_code ignored;
    if (std::filesystem::exists(out, ignored) && !arguments.has("--force"))
        return invalid("--out " + out + ": is there already; --force replaces it");
    return out;
}

Result<void> add_numbers(Arguments const& arguments, protocol::ClipLookRequest& request) {
    OSORA_TRY(auto const clips, arguments.number("--clips", 1, kLookClipsMax));
    OSORA_TRY(auto const seed, arguments.number("--seed", 0, std::numeric_limits<int>::max()));
    OSORA_TRY(auto const width, arguments.number("--width", kLookWidthMin, kLookWidthMax));
    OSORA_TRY(auto const deadline, arguments.number("--deadline", 1, kLookDeadlineMax));
    request.clips = clips.value_or(request.clips);
    request.seed = seed.value_or(request.seed);
    request.width_max = width.value_or(request.width_max);
    request.deadline_s = deadline.value_or(request.deadline_s);
    request.chosen = arguments.all("--clip");
    if (clips && !request.chosen.empty())
        return invalid("--clips: spreads over the list; leave it out with --clip");
    return {};
}

Result<protocol::ClipLookRequest> look_request(plan::RunConfig const& config,
                                               Arguments const& arguments, bool is_run) {
    protocol::ClipLookRequest request;
    OSORA_TRY(request.out, look_out(arguments));
    OSORA_TRY(auto const shape, plan::sample_shape(config));
    OSORA_TRY(auto const table, plan::bucket_table(config, shape));
    request.manifest = config.data.manifest;
    request.columns = config.data.columns;
    request.seed = config.train.seed;
    request.multiple = table.options().multiple;
    request.images_from_videos = table.options().images_from_videos;
    for (auto const& bucket : config.bucket) {
        request.buckets.push_back({.resolution = bucket.resolution,
                                   .num_frames = bucket.num_frames,
                                   .keep_prob = bucket.keep_prob});
    }
    if (is_run) {
        OSORA_TRY(request.entry, look_entry(config, arguments.all("--bucket")));
    }
    OSORA_TRY_VOID(add_numbers(arguments, request));
    return request;
}

std::string clip_text(protocol::LookedClip const& clip, std::size_t row) {
    std::string text = fmt::format("{:>3}  line {:<5} {}\n", row, clip.line, printable(clip.path));
    if (!clip.kind.empty()) {
        return text + filled(fmt::format("{}{}: {}", clip.damaged ? "" : "left out: ", clip.kind,
                                         printable(clip.reason)),
                             5, kColumns);
    }
    text += fmt::format("     {} x {}: {} x {}", clip.resolution, counted(clip.num_frames, "frame"),
                        clip.width, clip.height);
    if (clip.reduced > 1) text += fmt::format(", in the picture 1/{}", clip.reduced);
    text += fmt::format("\n     source {} x {}, {}{}\n", clip.source_width, clip.source_height,
                        counted(clip.source_frames, "frame"),
                        clip.fps > 0 ? fmt::format(", {:.4g} fps", clip.fps) : std::string());
    text += fmt::format("     crop {} x {} at {}, {}; scale {:.4g}\n", clip.crop_width,
                        clip.crop_height, clip.crop_x, clip.crop_y, clip.scale);
    std::string shown;
    for (auto const frame : clip.shown) shown += fmt::format(" {}", frame);
    text += clip.num_frames == 1
                ? fmt::format("     frame{}\n", shown)
                : filled(fmt::format("frames {} to {}, in the picture{}", clip.frames.front(),
                                     clip.frames.back(), shown),
                         5, kColumns);
    if (!clip.reason.empty()) text += filled("note: " + printable(clip.reason), 5, kColumns);
    return text;
}

std::int64_t shown_clips(protocol::ClipLook const& look) {
    return std::ranges::count_if(look.clips, [](auto const& clip) { return clip.kind.empty(); });
}

std::string look_text(protocol::ClipLook const& look) {
    std::string text;
    for (std::size_t i = 0; i < look.clips.size(); ++i) text += clip_text(look.clips[i], i + 1);
    auto const chosen = static_cast<std::int64_t>(look.clips.size());
    text += fmt::format("{} of {} shown, of {} in the list; seed {}\n", shown_clips(look),
                        counted(chosen, "clip"), look.rows, look.seed);
    return text + fmt::format("picture  {} ({} x {} pixels, a row a clip)\n", look.out, look.width,
                              look.height);
}

int run_data_look(Context const& context, Arguments const& arguments) {
    auto const subject = arguments.value(kLookSubject).value_or("");
    bool const is_run = subject.ends_with(".toml");
    plan::ResolvedConfig resolved;
    if (is_run) {
        auto from = config_request(context, arguments);
        from.run_file = subject;
        resolved = plan::load_config(from);
        if (!resolved.problems.empty()) {
            cli::print(stderr, "{}", problem_list(resolved.problems));
            return kExitUsage;
        }
    }
    auto const config = look_config(resolved, arguments, subject, is_run);
    if (config.has_error()) return fail(kExitUsage, config.error());
    auto const request = look_request(*config, arguments, is_run);
    if (request.has_error()) return fail(kExitUsage, request.error());
    auto const answer =
        answer_of_helper(context, {"look", protocol::encode(*request)}, kClipsProgram);
    if (answer.exit_code != kExitOk) return answer.exit_code;
    auto const look = protocol::decode<protocol::ClipLook>(answer.text);
    if (look.has_error()) return fail(kExitInternal, look.error());
    cli::print("{}", arguments.has("--json") ? answer.text : look_text(*look));
    bool const damaged = std::ranges::any_of(look->clips, &protocol::LookedClip::damaged);
    return damaged || shown_clips(*look) == 0 ? kExitBad : kExitOk;
}

std::vector<OptionSpec> look_options() {
    return {
        {.name = "--clips",
         .value = "N",
         .help = "Show this many clips, evenly spread over the list. Default: 8."},
        {.name = "--clip",
         .value = "PATH|LINE",
         .help = "Show this clip: its path as in the list, or its line. Repeatable.",
         .complete = Complete::file,
         .repeated = true},
        {.name = "--bucket",
         .value = "RESOLUTION:FRAMES",
         .help = "Show clips of this bucket of the run; for a list: a bucket to put its clips "
                 "into, repeatable.",
         .repeated = true},
        {.name = "--out",
         .value = "PNG",
         .help = "Write the picture to this file. Default: look.png.",
         .complete = Complete::file},
        {.name = "--force", .value = {}, .help = "Replace the file if it is there."},
        {.name = "--width",
         .value = "PIXELS",
         .help = "Reduce wider rows by a whole number. Default: 2048."},
        {.name = "--seed", .value = "S", .help = "In place of train.seed."},
        {.name = "--stage", .value = "N", .help = "The buckets of this [[stage]]; 0: the first."},
        columns_option(),
        deadline_option("Seconds for each clip. Default: 30."),
        set_option(),
        json_option("Print what is in the picture as JSON (osora.data_look/1).")};
}

}  // namespace

CommandSpec data_look_command() {
    return {
        .name = "data look",
        .summary = "a picture of what the trainer sees of some clips",
        .details =
            "Fills the first sample that training takes of each chosen clip, by the code and with "
            "the seed of training, and draws up to 8 of its frames in a row: cropped and resized "
            "as the trainer gets them. Prints, in the order of the rows, the clip's bucket, "
            "source size, crop, scale and frame numbers. A clip that is left out or damaged has a "
            "grey row, with the reason in the text, also when it crashes FFmpeg, twice (crash); "
            "training uses another clip in place of a damaged one. A list without a run file needs "
            "--bucket; sides are then multiples of what the default model needs. Runs in "
            "osora-clips. Exit code 1: a chosen clip is damaged, or none could be shown.",
        .example =
            "osora data look stage1.toml --clips 8 --out look.png\n"
            "osora data look clips.csv --bucket 360p:51 --clip cats/a.mp4 --force --json",
        .positionals = {{.name = kLookSubject,
                         .help = "A run file, or a list of clips (CSV or JSON lines).",
                         .complete = Complete::file}},
        .options = look_options(),
        .run = run_data_look};
}

}  // namespace osora::cli
