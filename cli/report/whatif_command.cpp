#include "cli/report/whatif_command.hpp"

#include "base/files/files.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/context.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/report/whatif_text.hpp"
#include "db/analysis/whatif/gunzip.hpp"
#include "db/analysis/whatif/job_shape.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace osora::cli {
namespace {

using namespace db::whatif;

/// Reads and decompresses; errors name the file.
Result<WhatIf> analyse(std::string const& ops_file, std::string const& meta_file) {
    OSORA_TRY(auto const yaml, read_file(meta_file));
    auto const shape = read_job_shape(yaml);
    if (shape.has_error()) return Error(shape.error()).in(meta_file);
    OSORA_TRY(auto const packed, read_file(ops_file));
    auto const csv = gunzip(packed);
    if (csv.has_error()) return Error(csv.error()).in(ops_file);
    auto found = what_if(*csv, *shape);
    if (found.has_error()) return std::move(found).error().in(ops_file);
    return found;
}

int run_whatif(Context const&, Arguments const& arguments) {
    return print_whatif(arguments.value("OPS.csv.gz").value_or(""), arguments);
}

}  // namespace

int print_whatif(std::string const& ops_file, Arguments const& arguments) {
    auto const meta_file = arguments.value("--meta");
    if (ops_file.empty() || !meta_file) {
        return fail(kExitUsage, "OPS.csv.gz and --meta META.yaml go together");
    }
    auto const found = analyse(ops_file, *meta_file);
    // A missing file is a wrong argument here, like one that cannot be read.
    if (found.has_error()) return fail(kExitUsage, found.error());
    if (arguments.has("--json")) {
        print_json("whatif", whatif_json(*found));
    } else {
        auto const name = std::filesystem::path(ops_file).filename().string();
        cli::print("{}", whatif_text(*found, name));
    }
    return kExitOk;
}

CommandSpec whatif_command() {
    return {.name = "whatif",
            .summary = "how much of a traced job's step is straggling, and who holds it",
            .details =
                "Replays the trace of a job with each operator as long as is typical of its type "
                "(ByteDance's what-if analysis, OSDI'25), and says how much faster its steps "
                "could be and which worker, stage or type of operator holds them. The trace has "
                "the columns step,dp_rank,stage,op,seq_id,model_chunk,mb_id,start_us,dur_us.",
            .example = "osora whatif ops.csv.gz --meta meta.yaml",
            .positionals = {{.name = "OPS.csv.gz",
                             .help = "The trace: CSV, or CSV packed by gzip.",
                             .complete = Complete::file}},
            .options = {{.name = "--meta",
                         .value = "META.yaml",
                         .help = "The job's sizes: dp_size, pp_size, tp_size, vpp_size.",
                         .complete = Complete::file},
                        json_option("Print the analysis as JSON (osora.whatif/1).")},
            .run = run_whatif};
}

}  // namespace osora::cli
