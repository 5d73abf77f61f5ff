// Runs as folders of the state folder: list them, find the one that a user means, and make a new
// one with the next number (names are in protocol/run_directory.hpp).
#pragma once

#include "base/result.hpp"
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

/// Whether a command accepts an imported run, whose content (command, paths, job ids) comes from
/// another machine. Commands that only read accept it; those that start, stop or queue something
/// refuse it unless the user gave --trust.
enum class Imported { refused, taken };

/// "stage1-0042" -> 42; 0 when this is not the name of a run.
[[nodiscard]] int number_of(std::string_view folder_name);

/// Newest first, without imported ones; empty if the state folder does not exist yet.
[[nodiscard]] Result<std::vector<RunFolder>> list_runs(std::filesystem::path const& state);

/// The run that `wanted` names: a number, a folder's name, a run's name (its newest run), or at
/// least four characters of a uuid. Imported ones come last. not_found names the nearest;
/// invalid_input when it is ambiguous, or imported and refused.
[[nodiscard]] Result<RunFolder> find_run(std::filesystem::path const& state,
                                         std::string_view wanted,
                                         Imported imported = Imported::refused);

/// The folder that make_run_folder() would make now.
[[nodiscard]] Result<RunFolder> next_run_folder(std::filesystem::path const& state,
                                                std::string_view name);

/// Makes RUNS/NAME-NNNN (mode 0700) with the next number, under a lock that other submits wait for
/// at most 10 s.
[[nodiscard]] Result<RunFolder> make_run_folder(std::filesystem::path const& state,
                                                std::string_view name);

}  // namespace osora::cli
