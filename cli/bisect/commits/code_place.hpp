// How a trial of a commit runs from its worktree: words that name files of the repository are
// changed to name those of the worktree. Pure; functions that are passed in look at the disk.
#pragma once

#include "base/environment.hpp"
#include "plan/config/run_config.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace osora::cli {

struct CodePlace {
    std::vector<std::filesystem::path> roots;  // where the runs had the repository
    std::filesystem::path base_dir;            // where the run's relative paths start
    std::filesystem::path tree;                // the worktree
    /// Whether the checkout or the build of either run's commit makes the repository's file or
    /// folder of this relative path. Others (data, a virtual environment) stay where they are.
    std::function<bool(std::filesystem::path const&)> is_code;
    std::function<bool(std::filesystem::path const&)> exists;  // of an absolute path
    /// Resolves symbolic links; the path is unchanged if that fails.
    std::function<std::filesystem::path(std::filesystem::path const&)> real;
};

/// base_dir in the worktree if it is in the repository, else base_dir unchanged.
[[nodiscard]] std::filesystem::path moved_folder(CodePlace const& place);

/// An argument rewritten for the program in the worktree: "/repo/train.py" -> "/tree/train.py",
/// "--cfg=/repo/a.yaml" likewise; relative paths with a slash that exist only in the original
/// folder become absolute.
[[nodiscard]] std::string moved_argument(std::string const& word, CodePlace const& place);

/// "/repo/src:/opt/lib" -> "/tree/src:/opt/lib".
[[nodiscard]] std::string moved_path_list(std::string const& list, CodePlace const& place);

struct Moved {
    /// False: neither the command nor base_dir is in the repository, so the program would not come
    /// from the worktree.
    bool is_in_repository = false;
    std::vector<std::string> left;  // words that name files of the repository which no build makes
};
/// worker.command, worker.env and PYTHONPATH.
[[nodiscard]] Moved move_to_tree(CodePlace const& place, plan::RunConfig& config,
                                 Environment& environment);

}  // namespace osora::cli
