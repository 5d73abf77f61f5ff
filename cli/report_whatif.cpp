#include "cli/report_whatif.hpp"

#include "base/files.hpp"
#include "cli/context.hpp"
#include "cli/exit_code.hpp"
#include "cli/json_output.hpp"
#include "cli/print.hpp"
#include "cli/whatif_text.hpp"
#include "db/analysis/whatif/gunzip.hpp"
#include "db/analysis/whatif/job_shape.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace osora::cli {
namespace {

using namespace db::whatif;

/// Reads and unpacks; errors name the file.
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

}  // namespace

int report_whatif(Arguments const& arguments) {
    auto const ops_file = arguments.value("--whatif");
    auto const meta_file = arguments.value("--meta");
    if (!ops_file || !meta_file) {
        return fail(kExitUsage, "--whatif OPS.csv.gz and --meta META.yaml go together");
    }
    auto const found = analyse(*ops_file, *meta_file);
    // A file that is not there is a wrong argument here, as one that cannot be read.
    if (found.has_error()) return fail(kExitUsage, found.error().message);
    if (arguments.has("--json")) {
        print_json("whatif", whatif_json(*found));
    } else {
        auto const name = std::filesystem::path(*ops_file).filename().string();
        cli::print("{}", whatif_text(*found, name));
    }
    return kExitOk;
}

}  // namespace osora::cli
