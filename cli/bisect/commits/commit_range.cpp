#include "cli/bisect/commits/commit_range.hpp"

#include "plan/config/config_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

constexpr char const* kOwnCommit = "osora.commit";
constexpr char const* kCodeCommit = "code.commit";
constexpr std::string_view kDirtySuffix = "-dirty";

std::string fact(BisectSide const& side, std::string const& name) {
    auto const found = side.run.software.find(name);
    return found == side.run.software.end() ? std::string() : found->second;
}

std::string run_word(BisectSide const& side) {
    return fmt::format("run {}", side.run.summary.run.number);
}

/// "HASH-dirty" -> "HASH", with a note.
std::string without_dirty(BisectSide const& side, RecordedCommits& recorded) {
    auto commit = fact(side, recorded.factor);
    if (!commit.ends_with(kDirtySuffix)) return commit;
    commit.erase(commit.size() - kDirtySuffix.size());
    recorded.notes.push_back(run_word(side) +
                             ": osora was built with changes that were not committed; trials build "
                             "what was committed");
    return commit;
}

/// Folders to look for the repository in, most likely first.
std::vector<fs::path> places(Context const& context, RecordedCommits const& recorded) {
    std::vector<fs::path> folders(recorded.repositories.begin(), recorded.repositories.end());
    if (!recorded.is_exec) folders.push_back(context.program_dir);
    std::error_code error;
    if (auto here = fs::current_path(error); !error) folders.push_back(std::move(here));
    return folders;
}

/// The reason: what is wrong with the commits if a repository was found, else a message for the
/// most likely folder.
Result<CommitPath> find_path(Context const& context, RecordedCommits const& recorded) {
    OSORA_TRY(auto const git, Git::find(context.environment));
    Error why{Errc::not_found, ""};
    for (auto const& folder : places(context, recorded)) {
        std::error_code error;
        Result<CommitPath> path = Error{Errc::not_found, folder.string() + ": not there any more"};
        if (fs::is_directory(folder, error)) {
            path = commit_path(git, folder, recorded.good, recorded.bad);
        }
        if (path.has_value()) return path;
        bool const is_of_commits = path.error().code == Errc::invalid_input;
        if (why.message.empty() || (is_of_commits && why.code != Errc::invalid_input)) {
            why = path.error();
        }
    }
    if (why.code != Errc::invalid_input) {
        why.message += "; osora bisect can be started inside the repository instead";
    }
    return why;
}

std::string why_no_recipe(bool is_exec) {
    return is_exec ? "[bisect] build does not say how to build a commit; add --set "
                     "'bisect.build=[\"make\"]' ([\"true\"]: nothing is to be built)"
                   : "[bisect] build does not say how to build a commit of osora; add --set "
                     "'bisect.build=[\"make\"]', which makes build/bin/osora-worker";
}

}  // namespace

RecordedCommits recorded_commits(BisectSide const& good, BisectSide const& bad) {
    RecordedCommits recorded;
    recorded.is_exec = good.run.summary.run.job == "exec" && bad.run.summary.run.job == "exec";
    recorded.factor = recorded.is_exec ? kCodeCommit : kOwnCommit;
    recorded.good = without_dirty(good, recorded);
    recorded.bad = without_dirty(bad, recorded);
    if (!recorded.is_exec) return recorded;
    for (auto const* side : {&bad, &good}) {
        auto const folder = fact(*side, "code.repository");
        if (!folder.empty() && std::ranges::count(recorded.repositories, folder) == 0) {
            recorded.repositories.push_back(folder);
        }
        auto const dirty = fact(*side, "code.dirty");
        if (dirty.empty() || dirty == "no") continue;
        recorded.notes.push_back(fmt::format(
            "{} had changes that were not committed ({}); trials build what was committed",
            run_word(*side), dirty));
    }
    return recorded;
}

CommitRange commit_range(Context const& context, BisectSide const& good, BisectSide const& bad,
                         std::vector<std::string> build) {
    auto recorded = recorded_commits(good, bad);
    CommitRange range{.factor = {recorded.factor, ""},
                      .path = {},
                      .build = std::move(build),
                      .roots = {},
                      .notes = std::move(recorded.notes),
                      .is_exec = recorded.is_exec};
    auto& why_not = range.factor.why_not;
    if (recorded.good.empty() || recorded.bad.empty()) {
        why_not = "the commit of one run was not recorded";
    } else if (recorded.good == recorded.bad) {
        why_not = "both have the same commit; changes that are not committed cannot be built";
    } else if (range.build.empty()) {
        why_not = why_no_recipe(range.is_exec);
    }
    if (!why_not.empty()) return range;
    auto path = find_path(context, recorded);
    if (path.has_error()) {
        why_not = std::move(path).error().message;
        return range;
    }
    range.path = std::move(*path);
    range.roots.assign(recorded.repositories.begin(), recorded.repositories.end());
    if (std::ranges::count(range.roots, range.path->repository) == 0) {
        range.roots.push_back(range.path->repository);
    }
    return range;
}

Result<std::vector<std::string>> build_recipe(BisectSide const& good, BisectSide const& bad,
                                              plan::ConfigRequest const& layers) {
    constexpr std::string_view kKey = "bisect.build=";
    for (std::string const& each : layers.sets) {
        if (each.starts_with(kKey)) continue;
        return Error{Errc::invalid_input,
                     fmt::format("--set {}: trials take their settings from the two runs; only "
                                 "bisect.build can be set",
                                 each)};
    }
    auto const mine = plan::load_config(layers);
    for (auto const& problem : mine.problems) {
        if (problem.where.layer == plan::Layer::command_line) {
            return Error{Errc::invalid_input, plan::to_text(problem)};
        }
    }
    if (!layers.sets.empty()) return mine.config.bisect.build;
    for (auto const* side : {&bad, &good}) {
        auto const& build = side->config.bisect.build;
        if (!build.empty()) return build;
    }
    return mine.config.bisect.build;
}

}  // namespace osora::cli
