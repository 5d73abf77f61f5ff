// osora plan evaluate: reads rows on stdin and prints one answer per row as they arrive.
#include "base/files/files.hpp"
#include "base/text/printable.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/line_reader.hpp"
#include "plan/evaluate/evaluate.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace osora::cli {
namespace {

constexpr std::size_t kLineBytes = std::size_t{1} << 20;

int run(Context const& /*context*/, Arguments const& arguments) {
    auto hardware = plan::HardwareTable::built_in();
    if (auto const file = arguments.value("--hardware")) {
        auto const text = read_file(*file, 1 << 24);
        if (text.has_error()) return fail(kExitUsage, text.error());
        auto const added = hardware.add(*text, *file);
        if (added.has_error()) return fail(kExitUsage, added.error());
    }
    LineReader lines(STDIN_FILENO, kLineBytes);
    while (true) {
        // Flushes answers before it waits for more rows.
        if (!lines.has_line() && std::fflush(stdout) != 0) return kExitBad;
        auto const line = lines.next();
        if (!line) break;
        if (!line->whole) {
            fmt::print("{}\n", plan::error_line(fmt::format(
                                   "line {}: longer than {} bytes; nearest valid: that many",
                                   line->number, kLineBytes)));
        } else if (line->text.find_first_not_of(" \t\r") != std::string::npos) {
            fmt::print("{}\n", printable_json(plan::evaluate_line(line->text, hardware)));
        }
    }
    return std::fflush(stdout) == 0 ? kExitOk : kExitBad;
}

}  // namespace

CommandSpec plan_evaluate_command() {
    return {.name = "plan evaluate",
            .summary = "predicted step time and memory of rows of layouts",
            .details =
                "Reads one JSON object a line on stdin (model, cluster, layout) and answers each "
                "with one line of the same id: step_time_s, its parts, peak_memory_gib and whether "
                "it fits; or an error that names the rule and the nearest valid value. A bad line "
                "stops nothing. cluster.calibration overrides constants of the model by name. "
                "--hardware adds GPUs: a [gpu.NAME] table of bf16_tflops, fp32_tflops, "
                "memory_gbps, memory_gib, link_gbps, and fp8_tflops, sustained_share.",
            .example =
                "osora plan evaluate < rows.jsonl\n"
                "echo '{\"id\":1,\"model\":{\"kind\":\"arch\",\"name\":\"stdit3-xl/2\",\n"
                "  \"resolution\":\"360p\",\"num_frames\":51,\"encoders\":true},\"cluster\":\n"
                "  {\"gpu\":\"h100-80g-sxm\",\"nodes\":2,\"gpus_per_node\":8,\n"
                "  \"nic_gbit_per_gpu\":400},\"layout\":{\"tp_size\":1,\"pp_size\":1,\n"
                "  \"sp_size\":1,\"dp_size\":16,\"zero_stage\":2,\"micro_batch_size\":8,\n"
                "  \"grad_accum_steps\":1,\"recompute\":\"full\",\"precision\":\"bf16\"}}' |\n"
                "  tr -d '\\n' | osora plan evaluate",
            .positionals = {},
            .options = {{.name = "--hardware",
                         .value = "FILE",
                         .help = "GPUs to add (TOML).",
                         .complete = Complete::file},
                        {.name = "--json",
                         .value = "",
                         .help = "The same: rows and answers are JSON lines."}},
            .run = run};
}

}  // namespace osora::cli
