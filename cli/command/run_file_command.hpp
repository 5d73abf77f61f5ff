// What all commands that read a run file share: options, loading, and the list of problems.
#pragma once

#include "cli/command/command.hpp"
#include "plan/config/config_files.hpp"
#include "protocol/json.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::cli {

[[nodiscard]] PositionalSpec run_file_positional(bool required = true);
[[nodiscard]] OptionSpec set_option();
/// --columns NAME=COLUMN of a list of clips; plan::columns_of_words() reads it.
[[nodiscard]] OptionSpec columns_option();
/// --manifest CSV, --deadline S and --workers N of commands that open clips; `help` of the latter
/// two says the default.
[[nodiscard]] OptionSpec manifest_option();
[[nodiscard]] OptionSpec deadline_option(std::string_view help);
[[nodiscard]] OptionSpec workers_option(
    std::string_view help = "Threads; 0: no thread. Default: one a core.");
[[nodiscard]] OptionSpec json_option(std::string_view help = "Print one JSON object.");

/// This user's config layers, the run file (empty: none) and the --set options.
[[nodiscard]] plan::ConfigRequest config_request(Context const& context,
                                                 Arguments const& arguments);

/// Problems as text: one per line, then their count; empty for none.
[[nodiscard]] std::string problem_list(std::vector<plan::ConfigProblem> const& problems);

/// The same as JSON: [{"file", "line", "column", "layer", "message"}].
[[nodiscard]] protocol::json::array problems_json(std::vector<plan::ConfigProblem> const& problems);

}  // namespace osora::cli
