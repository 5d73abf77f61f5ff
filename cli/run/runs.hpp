// Runs as folders of the state folder: listing them, finding the one that a user means, and making
// a new one with the next number (protocol/run_directory.hpp has the names).
#pragma once

#include "base/result.hpp"
#include "protocol/journal/run_events.hpp"
#include "protocol/run_directory.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace osora::cli {

struct RunFolder {
    int number = 0;    // 42
    std::string name;  // "stage1-0042"; of an imported run "stage1-0042.abe00411"
    protocol::RunPaths paths;
    bool imported = false;
};

/// Whether a command takes an imported run. What that holds is another machine's word: its
/// command, paths and job ids. Commands that only read take it; those that start, stop or queue
/// something refuse it unless the user gave --trust.
enum class Imported { refused, taken };

/// "stage1-0042" -> 42; 0 when a folder of this name is no run.
[[nodiscard]] int number_of(std::string_view folder_name);

/// Newest first, without imported ones; none when there is no state folder yet.
[[nodiscard]] Result<std::vector<RunFolder>> list_runs(std::filesystem::path const& state);

/// The run that `wanted` names: a number, a folder's name, a run's name (its newest run), or at
/// least four characters of a uuid. Imported ones are looked at last. not_found names the nearest;
/// invalid_input when it is ambiguous, or imported and refused.
[[nodiscard]] Result<RunFolder> find_run(std::filesystem::path const& state,
                                         std::string_view wanted,
                                         Imported imported = Imported::refused);

/// submission.json of a run.
[[nodiscard]] Result<protocol::RunSubmitted> read_submission(RunFolder const& run);

/// The folder that make_run_folder() would make now.
[[nodiscard]] Result<RunFolder> next_run_folder(std::filesystem::path const& state,
                                                std::string_view name);

/// Makes RUNS/NAME-NNNN (mode 0700) with the next number, under a lock that other submits wait for
/// at most 10 s.
[[nodiscard]] Result<RunFolder> make_run_folder(std::filesystem::path const& state,
                                                std::string_view name);

}  // namespace osora::cli
