#include "cli/bisect/commits/commit_runner.hpp"

#include "cli/bisect/commits/code_place.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <system_error>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

bool is_there(fs::path const& path) {
    std::error_code error;
    return fs::exists(path, error);
}

fs::path without_links(fs::path const& path) {
    std::error_code error;
    auto real = fs::weakly_canonical(path, error);
    return error ? path : real;
}

/// Where a build of osora's repository puts the worker (HACKING.md).
constexpr char const* kWorker = "build/bin/osora-worker";

}  // namespace

Result<std::string> CommitRunner::place(int state, TrialStart& start) {
    OSORA_TRY_VOID(open());
    OSORA_TRY(auto const built, worktrees_->ready(commit(state).hash));
    if (!built.is_built()) {
        return fmt::format("commit {} does not build: {} (log: {})", commit(state).short_hash(),
                           built.why_not, built.log.string());
    }
    if (range_.is_exec) {
        OSORA_TRY_VOID(place_program(built.folder, start));
        return std::string();
    }
    auto const worker = built.folder / kWorker;
    if (!is_there(worker)) {
        return fmt::format("commit {}: its build made no {}", commit(state).short_hash(), kWorker);
    }
    set_variable(start.environment, "OSORA_WORKER", worker.string());
    return std::string();
}

/// Builds the commits of the two runs first: if these do not build, other commits cannot be
/// compared.
Result<void> CommitRunner::open() {
    if (!worktrees_) {
        OSORA_TRY(auto git, Git::find(options_.environment));
        OSORA_TRY(auto opened,
                  Worktrees::open(std::move(git), range_.path->repository, state_, options_));
        worktrees_.emplace(std::move(opened));
    }
    if (good_tree_.empty()) {
        OSORA_TRY(good_tree_, end_of_path(0));
    }
    if (bad_tree_.empty()) {
        OSORA_TRY(bad_tree_, end_of_path(range_.path->steps()));
    }
    return boost::system::in_place_value;
}

Result<fs::path> CommitRunner::end_of_path(int state) {
    OSORA_TRY(auto const built, worktrees_->ready(commit(state).hash));
    if (built.is_built()) {
        worktrees_->keep(commit(state).hash);
        return built.folder;
    }
    return Error{Errc::invalid_input,
                 fmt::format("commit {} of the {} run does not build: {} (log: {}; --anew tries "
                             "again)",
                             commit(state).short_hash(), state == 0 ? "good" : "bad", built.why_not,
                             built.log.string())};
}

Result<void> CommitRunner::place_program(fs::path const& tree, TrialStart& start) {
    CodePlace const place{.roots = range_.roots,
                          .base_dir = start.base_dir,
                          .tree = tree,
                          .is_code =
                              [this](fs::path const& relative) {
                                  return is_there(good_tree_ / relative) ||
                                         is_there(bad_tree_ / relative);
                              },
                          .exists = is_there,
                          .real = without_links};
    auto moved = move_to_tree(place, start.config, start.environment);
    if (!moved.is_in_repository) {
        return Error{Errc::invalid_input,
                     fmt::format("neither {} nor the command is in {}: trials would not run its "
                                 "commits",
                                 start.base_dir.string(), range_.path->repository.string())};
    }
    start.base_dir = moved_folder(place);
    if (moved.left != left_ && !moved.left.empty()) {
        note_ = fmt::format("the same for all commits: {}", fmt::join(moved.left, ", "));
    }
    left_ = std::move(moved.left);
    return boost::system::in_place_value;
}

}  // namespace osora::cli
