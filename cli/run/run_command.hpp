// What commands on one run share: their options, and finding the run.
#pragma once

#include "cli/command/command.hpp"
#include "cli/run/follow/follow_text.hpp"
#include "cli/run/runs.hpp"
#include "protocol/run_view.hpp"

namespace osora::cli {

[[nodiscard]] PositionalSpec run_positional(bool required = true);

[[nodiscard]] OptionSpec trust_option();
/// Whether --trust was given.
[[nodiscard]] Imported trust_of(Arguments const& arguments);

/// The run that the positional RUN names, and the state in its journal.
struct KnownRun {
    RunFolder folder;
    protocol::RunView view;  // records = 0: no controller has started
};
[[nodiscard]] Result<KnownRun> run_of(Context const& context, Arguments const& arguments,
                                      Imported imported);

/// The predictions in its plan.json; zeros if that cannot be read.
[[nodiscard]] Expected expected_of(RunFolder const& run);

/// Whether the run has a controller, as far as this machine can see: a local controller listens;
/// for another machine only the journal says so.
[[nodiscard]] bool seems_alive(KnownRun const& run);

[[nodiscard]] bool is_over(protocol::RunView const& view);

/// "running", "done: ok", "stopped", "lost" (no controller, not ended).
[[nodiscard]] std::string state_word(protocol::RunView const& view, bool has_controller);

}  // namespace osora::cli
