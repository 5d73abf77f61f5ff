// osora plan calibrate: has the worker measure this machine and saves the constants.
#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/command/state_folder.hpp"
#include "cli/command/worker_output.hpp"
#include "cli/plan/plan_calibration.hpp"
#include "cli/plan/plan_run.hpp"
#include "plan/buckets/clip_columns.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

/// Checked before a minute of measuring.
Result<std::vector<std::string>> worker_words(Arguments const& arguments) {
    std::vector<std::string> words{"--calibrate"};
    auto const columns = arguments.all("--columns");
    OSORA_TRY_VOID(plan::columns_of_words(columns));
    auto const manifest = arguments.value("--manifest");
    if (!manifest && !columns.empty())
        return Error{Errc::invalid_input,
                     "--columns names those of --manifest, which is not given"};
    if (manifest) words.push_back(*manifest);
    words.insert(words.end(), columns.begin(), columns.end());
    return words;
}

Result<plan::Calibration> measure(Context const& context, std::vector<std::string> words) {
    OSORA_TRY(WorkerOutput const output, run_worker(context, std::move(words)));
    if (output.status.signal != 0 || output.status.exit_code != 0) {
        return Error{Errc::io, "osora-worker --calibrate " + describe(output.status)};
    }
    auto calibration = parse_calibration(output.text);
    if (calibration.has_error()) return std::move(calibration).error().in("osora-worker");
    calibration->measured = true;
    return calibration;
}

void print_summary(plan::Calibration const& c) {
    bool const gpu = c.device == "gpu";
    cli::print("measured {} on {}, {} core{}\n", c.machine.empty() ? "this machine" : c.machine,
               c.processor.empty() ? c.device : c.processor, c.cores, c.cores == 1 ? "" : "s");
    for (plan::MatmulRate const& row : c.matmul) {
        cli::print("  {:.3g} GFLOP/s at {} wide, {}\n", row.gflops, row.size,
                   gpu ? "bf16" : counted(row.threads, "thread"));
    }
    cli::print("  {:.3g} us an operator · {:.3g} GB/s memory{}\n", c.launch_floor_us,
               c.memory_bandwidth_gbps,
               c.decode_ms_per_megapixel > 0
                   ? fmt::format(" · {:.3g} ms a decoded megapixel", c.decode_ms_per_megapixel)
                   : "");
    cli::print("  all_reduce of {} ranks: {} + {:.3g} ms a MiB\n", c.all_reduce.ranks,
               format_seconds(c.all_reduce.a_s),
               c.all_reduce.b_s_per_byte * static_cast<double>(kMiB) * 1e3);
    for (plan::ModelStep const& step : c.model_steps) {
        std::string const depth = step.depth > 0 ? fmt::format(", depth {}", step.depth) : "";
        cli::print("  {}{} {} x {}, micro-batch {}, {}: {} forward and backward\n", step.arch,
                   depth, step.resolution, step.num_frames, step.micro_batch_size,
                   gpu ? "bf16" : counted(step.threads, "thread"),
                   format_seconds(step.forward_backward_s));
    }
}

int run_plan_calibrate(Context const& context, Arguments const& arguments) {
    auto const path = calibration_path(context);
    if (path.has_error()) return fail(path.error());
    auto const words = worker_words(arguments);
    if (words.has_error()) return fail(kExitUsage, words.error());
    auto const measured = measure(context, *words);
    if (measured.has_error()) return fail(kExitBad, "calibrate: " + measured.error().message);
    if (auto const own = own_state(context, path->parent_path()); own.has_error()) {
        return fail(own.error());
    }
    if (auto const saved = save_calibration(*path, *measured); saved.has_error()) {
        return fail(kExitBad, saved.error());
    }
    if (arguments.has("--json")) {
        cli::print("{}\n", printable_json(protocol::encode(*measured)));
    } else {
        print_summary(*measured);
        cli::print("kept in {}\n", path->string());
    }
    return kExitOk;
}

}  // namespace

CommandSpec plan_calibrate_command() {
    return {.name = "plan calibrate",
            .summary = "measure this machine for the planner",
            .details =
                "Runs osora-worker for a minute to measure matrix products, memory, the "
                "cost of an operator, all_reduce and steps of a small model, and keeps the "
                "constants in the state folder: of the GPU where ranks would use one (in bf16, "
                "all_reduce if there are two), else of the CPU. With --manifest also what decoding "
                "of some of its "
                "clips costs. Run it while the machine does nothing else.",
            .example = "osora plan calibrate --manifest clips.csv",
            .positionals = {},
            .options = {{.name = "--manifest",
                         .value = "FILE",
                         .help = "Clips (as data.manifest) to measure decoding on.",
                         .complete = Complete::file},
                        columns_option(),
                        json_option("Print the constants as JSON (osora.calibration/1).")},
            .run = run_plan_calibrate};
}

}  // namespace osora::cli
