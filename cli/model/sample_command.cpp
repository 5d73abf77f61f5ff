// osora sample: has osora-worker make a clip and a contact sheet from a checkpoint.
#include "base/text/units.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/command/worker_output.hpp"
#include "cli/run/runs.hpp"
#include "cli/text/terminal.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

/// An existing folder, else the run of this name or number.
Result<std::string> checkpoint_of(Context const& context, std::string const& wanted) {
    std::error_code failed;
    if (fs::exists(wanted, failed)) return wanted;
    OSORA_TRY(auto const state, state_dir(context.environment));
    auto const run = find_run(state, wanted);
    if (run.has_value()) return run->paths.dir.string();
    return Error{Errc::not_found,
                 fmt::format("{}: no such folder, and {}", wanted, run.error().message)};
}

/// The summary begins with where the files are.
Result<std::string> sample_summary(std::string_view text) {
    OSORA_TRY(auto const value, protocol::parse_json(text));
    auto const word = [&](char const* key) {
        return std::string(std::string_view(value.at(key).as_string()));
    };
    auto const number = [&](char const* key) { return value.at(key).to_number<double>(); };
    std::string notes;
    for (auto const& each : value.at("notices").as_array())
        notes += block("note", std::string_view(each.as_string()));
    return fmt::format(
        "{}, step {} ({} weights, {} caption): {} frames of {} x {}, {} steps, guidance {}, "
        "seed {}\n"
        "  clip           {} ({}, {})\n"
        "  contact sheet  {}\n"
        "  time           load {}, sample {}, decode {}, write {} on {} in {}\n{}",
        word("arch"), number("step"), word("weights"), word("caption"), number("num_frames"),
        number("width"), number("height"), number("steps"), number("cfg_scale"), number("seed"),
        word("video"), word("codec"), format_bytes(static_cast<std::int64_t>(number("bytes"))),
        word("sheet"), format_seconds(number("load_s")), format_seconds(number("sample_s")),
        format_seconds(number("decode_s")), format_seconds(number("write_s")), word("device"),
        word("precision"), notes);
}

int run_sample(Context const& context, Arguments const& arguments) {
    auto const checkpoint = checkpoint_of(context, arguments.value("CHECKPOINT").value_or(""));
    if (checkpoint.has_error()) return fail(kExitUsage, checkpoint.error());
    std::vector<std::string> words{"--sample", *checkpoint};
    for (std::string const name :
         {"--frames", "--size", "--steps", "--cfg-scale", "--seed", "--fps", "--embeddings",
          "--out", "--vae", "--vae-weights", "--weights", "--precision"}) {
        auto const value = arguments.value(name);
        if (!value) continue;
        words.push_back(name);
        words.push_back(*value);
    }
    if (arguments.has("--ema") && arguments.has("--no-ema")) {
        return fail(kExitUsage, "give either --ema or --no-ema");
    }
    if (arguments.has("--no-ema")) words.emplace_back("--no-ema");
    return run_worker_and_print(context, std::move(words), arguments.has("--json"), sample_summary);
}

std::vector<OptionSpec> sample_options() {
    return {
        {.name = "--frames", .value = "N", .help = "Frames of the clip. Default: as trained."},
        {.name = "--size",
         .value = "WxH",
         .help = "Width and height in pixels. Default: as trained."},
        {.name = "--steps",
         .value = "N",
         .help = "Euler steps from noise to the clip. Default: 30; MMDiT: 50."},
        {.name = "--cfg-scale",
         .value = "X",
         .help = "Guidance towards the caption; 1: none. Default: 7; MMDiT: 4. Without a caption "
                 "it changes nothing."},
        {.name = "--seed", .value = "N", .help = "Of the noise that it starts from. Default: 42."},
        {.name = "--fps", .value = "X", .help = "Frames a second. Default: of the clips."},
        {.name = "--embeddings",
         .value = "FILE",
         .help = "An embedded caption (safetensors): text, and maybe text_mask and pooled. "
                 "Default: the null caption.",
         .complete = Complete::file},
        {.name = "--ema", .value = "", .help = "Moving average of the weights: the default."},
        {.name = "--no-ema", .value = "", .help = "The weights of the last step."},
        {.name = "--vae",
         .value = "ARCH",
         .help = "Autoencoder of a network on latents. Default: of the run."},
        {.name = "--vae-weights",
         .value = "FILE",
         .help = "Its weights. Default: of the run.",
         .complete = Complete::file},
        {.name = "--weights",
         .value = "FILE",
         .help = "What the adapters of a LoRA checkpoint were trained on. Default: of the run.",
         .complete = Complete::file},
        {.name = "--precision",
         .value = "TYPE",
         .help = "fp32, bf16 or fp16. Default: on a GPU as the run trained, else fp32."},
        {.name = "--out",
         .value = "PATH",
         .help = "The clip (*.mp4), or a folder for it. Default: samples/ of the run.",
         .complete = Complete::file},
        json_option("Print what was written as JSON (osora.sample/1).")};
}

}  // namespace

CommandSpec sample_command() {
    return {.name = "sample",
            .summary = "generate a clip and a contact sheet from a checkpoint",
            .details =
                "Starts from noise and follows the network's velocity in Euler steps with "
                "classifier-free guidance, as Open-Sora does for its family; decodes latents with "
                "the run's autoencoder. Writes an MP4 and, beside it, a PNG with up to 16 of its "
                "frames. Runs in osora-worker, on the GPU where there is one.",
            .example =
                "osora sample demo\n"
                "osora sample RUN_DIR/checkpoints/step-00000200 --steps 50 --out clip.mp4",
            .positionals = {{.name = "CHECKPOINT",
                             .help = "A checkpoint's folder; or a run (folder, name or number): "
                                     "its newest one.",
                             .complete = Complete::run}},
            .options = sample_options(),
            .run = run_sample};
}

}  // namespace osora::cli
