// osora init: a commented run file to start from.
#include "base/files/files.hpp"
#include "base/version.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/data/new_file_option.hpp"
#include "cli/run/runs.hpp"
#include "plan/config/config_files.hpp"
#include "plan/config/submitted_run.hpp"
#include "plan/config/template.hpp"
#include "plan/worker_job.hpp"
#include "protocol/json_file.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace osora::cli {
namespace {

Result<plan::RunConfig> config_of_run(Context const& context, std::string const& wanted) {
    OSORA_TRY(auto const state, state_dir(context.environment));
    OSORA_TRY(auto const folder, find_run(state, wanted, Imported::taken));
    OSORA_TRY(auto submitted, plan::read_submitted_run(folder.paths));
    plan::make_paths_absolute(submitted.config, submitted.record.base_dir);
    auto const job = protocol::read_json_file<plan::WorkerJob>(folder.paths.job());
    if (job.has_value() && !job->stages.empty()) {
        cli::print(stderr, "note: [[stage]] tables are left out; they are in {}\n",
                   folder.paths.run_file().string());
    }
    return submitted.config;
}

Result<std::string> text_for(Context const& context, Arguments const& arguments) {
    std::string const check =
        "# Check it with: osora validate FILE    Run it with: osora submit FILE";
    auto const from = arguments.value("--from");
    if (!from) {
        return plan::run_file_text(plan::starting_config(),
                                   fmt::format("# A run file for osora {}. Keys behind a # show "
                                               "their default or an example.\n{}",
                                               kVersion, check));
    }
    OSORA_TRY(auto const config, config_of_run(context, *from));
    return plan::run_file_text(config, fmt::format("# Settings of run {}.\n{}", *from, check),
                               plan::LiveKeys::changed);
}

int run_init(Context const& context, Arguments const& arguments) {
    auto const text = text_for(context, arguments);
    if (text.has_error()) return fail(text.error());
    auto const file = arguments.value("FILE");
    if (arguments.has("--json")) {
        print_json("init", {{"text", *text}});
        return kExitOk;
    }
    if (!file) {
        cli::print("{}", *text);
        return kExitOk;
    }
    if (auto const place = check_new_file("FILE", *file); place.has_error()) {
        return fail(kExitUsage, place.error());
    }
    std::error_code ignored;
    if (std::filesystem::exists(*file, ignored) && !arguments.has("--force")) {
        return fail(kExitUsage, *file + ": exists already; --force replaces it");
    }
    if (auto const written = write_file_atomic(*file, *text); written.has_error()) {
        return fail(kExitBad, written.error());
    }
    cli::print("wrote {0}; next: osora validate {0}\n", *file);
    return kExitOk;
}

}  // namespace

CommandSpec init_command() {
    return {.name = "init",
            .summary = "write a run file to start from, with comments",
            .details =
                "Prints a run file with the description, range and default of every key, or writes "
                "it to FILE. With --from it holds the settings "
                "of an earlier run.",
            .example = "osora init first.toml\nosora init --from 42 > again.toml",
            .positionals = {{.name = "FILE",
                             .help = "Where to write; stdout when it is left out.",
                             .complete = Complete::file,
                             .required = false}},
            .options = {{.name = "--from",
                         .value = "RUN",
                         .help = "Take the settings of this run.",
                         .complete = Complete::run},
                        {.name = "--force", .value = "", .help = "Replace FILE."},
                        json_option()},
            .run = run_init};
}

}  // namespace osora::cli
