// Reads the whole journal, which is acceptable for a run that the user names.
#include "cli/run/run_command.hpp"

#include "base/files/files.hpp"
#include "base/host_name.hpp"
#include "cli/run/control_client.hpp"
#include "cli/run/journal_tail.hpp"
#include "cli/run/slurm/job_status.hpp"
#include "db/analysis/run_state.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace osora::cli {

namespace {

/// Removes RUN_DIR/environment of a run that has ended, in case its daemon or job could not. After
/// a failure on Slurm, or a stop that nobody asked for, another job may follow, and enters that
/// environment; the run's last job then removes it.
void forget_environment(KnownRun const& run) {
    auto const& paths = run.folder.paths;
    std::error_code ignored;
    if (!is_over(run.view) || !std::filesystem::exists(paths.environment(), ignored)) return;
    auto const& status = run.view.status;
    bool const stopped = status.verdict == protocol::Verdict::cancelled && status.stopped_by_user;
    bool const for_good = status.verdict == protocol::Verdict::ok || stopped ||
                          !std::filesystem::exists(paths.slurm_job(), ignored);
    bool const goes_on = awaits_next_job(run.folder, run.view) || has_controller(paths);
    if (for_good && !goes_on) std::filesystem::remove(paths.environment(), ignored);
}

}  // namespace

PositionalSpec run_positional(bool required) {
    return {.name = "RUN",
            .help = "Number, name, or start of the uuid of a run.",
            .complete = Complete::run,
            .required = required};
}

OptionSpec trust_option() {
    return {.name = "--trust",
            .value = "",
            .help = "Take an imported run too: its command and paths are another machine's."};
}

Imported trust_of(Arguments const& arguments) {
    return arguments.has("--trust") ? Imported::taken : Imported::refused;
}

Result<KnownRun> run_of(Context const& context, Arguments const& arguments, Imported imported) {
    OSORA_TRY(auto const state, state_dir(context.environment));
    KnownRun known;
    OSORA_TRY(known.folder, find_run(state, arguments.value("RUN").value_or(""), imported));
    OSORA_TRY(known.view, read_view(known.folder.paths.journal()));
    forget_environment(known);
    return known;
}

Expected expected_of(RunFolder const& run) {
    auto const text = read_file(run.paths.plan());
    if (text.has_error()) return {};
    auto const plan = protocol::parse_json(*text);
    return plan.has_value() ? expected_of(*plan) : Expected{};
}

bool seems_alive(KnownRun const& run) {
    if (is_over(run.view)) return false;
    auto const& host = run.view.controller_host;
    return (!host.empty() && host != host_name()) || has_controller(run.folder.paths);
}

bool is_over(protocol::RunView const& view) {
    return view.status.state == protocol::RunState::done;
}

std::string state_word(protocol::RunView const& view, bool has_controller) {
    if (is_over(view)) return db::analysis::ended_word(view.status.verdict);
    if (!has_controller) return view.records == 0 ? "not started" : "lost";
    return boost::describe::enum_to_string(view.status.state, "?");
}

}  // namespace osora::cli
