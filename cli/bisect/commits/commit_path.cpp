// git log lists both sides; joining them is pure.
#include "cli/bisect/commits/commit_path.hpp"

#include "base/text/printable.hpp"
#include "base/text/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace osora::cli {
namespace {

constexpr char kFieldEnd = '\x1f';

std::string short_of(std::string const& hash) {
    return CommitInfo{.hash = hash, .first_parent = {}, .date = {}, .subject = {}}.short_hash();
}

Result<std::vector<CommitInfo>> list(Git const& git, std::filesystem::path const& folder,
                                     std::vector<std::string> const& what) {
    std::vector<std::string> arguments{"log",
                                       "-z",
                                       "--first-parent",
                                       "--no-color",
                                       "--no-mailmap",
                                       "--encoding=UTF-8",
                                       fmt::format("--format={}", kCommitFormat),
                                       fmt::format("--max-count={}", kPathCommitsMax + 1)};
    arguments.insert(arguments.end(), what.begin(), what.end());
    arguments.emplace_back("--");
    OSORA_TRY(auto const text, git.run(folder, arguments));
    OSORA_TRY(auto commits, parse_commits(text));
    if (std::ssize(commits) > kPathCommitsMax) {
        return Error{Errc::invalid_input,
                     fmt::format("more than {} commits are between them", kPathCommitsMax)};
    }
    return commits;
}

Result<CommitInfo> one(Git const& git, std::filesystem::path const& folder,
                       std::string const& hash) {
    OSORA_TRY(auto commits, list(git, folder, {"--no-walk", hash}));
    if (commits.size() != 1) return Error{Errc::corrupt, "git log: one commit was expected"};
    return std::move(commits.front());
}

Result<void> check_commit(Git const& git, std::filesystem::path const& folder,
                          std::string const& hash) {
    if (!is_commit_hash(hash)) {
        return Error{Errc::invalid_input, fmt::format("'{}' is no commit's full name", hash)};
    }
    auto const type = git.run(folder, {"cat-file", "-t", hash});
    if (type.has_value() && *type == "commit") return boost::system::in_place_value;
    auto const shallow = git.run(folder, {"rev-parse", "--is-shallow-repository"});
    bool const is_cut = shallow.has_value() && *shallow == "true";
    return Error{Errc::invalid_input,
                 fmt::format("commit {} is not in {}{}", short_of(hash), folder.string(),
                             is_cut ? ", a shallow clone: git fetch --unshallow" : "")};
}

}  // namespace

Result<std::vector<CommitInfo>> parse_commits(std::string_view text) {
    std::vector<CommitInfo> commits;
    while (!text.empty()) {
        std::string_view entry = text.substr(0, text.find('\0'));
        text.remove_prefix(std::min(text.size(), entry.size() + 1));
        std::array<std::string_view, 3> fields{};
        for (auto& field : fields) {
            auto const end = entry.find(kFieldEnd);
            if (end == std::string_view::npos) {
                return Error{Errc::corrupt, "git log: a commit with too few fields"};
            }
            field = entry.substr(0, end);
            entry.remove_prefix(end + 1);
        }
        CommitInfo commit{.hash = std::string(fields[0]),
                          .first_parent = std::string(fields[1].substr(0, fields[1].find(' '))),
                          .date = std::string(fields[2]),
                          .subject = std::string(entry)};
        if (!is_commit_hash(commit.hash)) {
            return Error{Errc::corrupt, fmt::format("git log: '{}' is no commit", commit.hash)};
        }
        if (!is_utf8(commit.subject)) commit.subject = printable(commit.subject);
        commits.push_back(std::move(commit));
    }
    return commits;
}

Result<std::vector<CommitInfo>> joined_path(std::vector<CommitInfo> const& down,
                                            CommitInfo const& turn,
                                            std::vector<CommitInfo> const& up) {
    for (auto const* side : {&down, &up}) {
        if (side->empty() || side->back().first_parent == turn.hash) continue;
        return Error{Errc::invalid_input,
                     "they are not on one line of first parents: one came in by a merge"};
    }
    std::vector<CommitInfo> states = down;
    states.push_back(turn);
    states.insert(states.end(), up.rbegin(), up.rend());
    return states;
}

Result<CommitPath> commit_path(Git const& git, std::filesystem::path const& folder,
                               std::string const& good, std::string const& bad) {
    CommitPath path;
    OSORA_TRY(path.repository, git.run(folder, {"rev-parse", "--show-toplevel"}));
    OSORA_TRY_VOID(check_commit(git, path.repository, good));
    OSORA_TRY_VOID(check_commit(git, path.repository, bad));
    if (good == bad) return Error{Errc::invalid_input, "both runs have the same commit"};
    auto const where = fmt::format("commits {} and {}", short_of(good), short_of(bad));
    OSORA_TRY(auto const up, list(git, path.repository, {good + ".." + bad}));
    auto const turn_hash = up.empty() ? bad : up.back().first_parent;
    if (turn_hash.empty()) {
        return Error{Errc::invalid_input, "they have no commit in common"}.in(where);
    }
    auto turn = one(git, path.repository, turn_hash);
    if (turn.has_error()) return std::move(turn).error().in(where);
    std::vector<CommitInfo> down;
    if (turn_hash != good) {
        OSORA_TRY(down, list(git, path.repository, {turn_hash + ".." + good}));
        if (down.empty() || down.front().hash != good) {
            return Error{Errc::invalid_input, "they are not on one line of first parents"}.in(
                where);
        }
    }
    auto states = joined_path(down, *turn, up);
    if (states.has_error()) return std::move(states).error().in(where);
    path.states = std::move(*states);
    path.undone = static_cast<int>(down.size());
    if (path.steps() > kPathCommitsMax) {
        return Error{Errc::invalid_input, fmt::format("{} commits are between them", path.steps())}
            .in(where);
    }
    return path;
}

}  // namespace osora::cli
