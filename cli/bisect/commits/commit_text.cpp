#include "cli/bisect/commits/commit_text.hpp"

#include "cli/text/terminal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace osora::cli {
namespace {

constexpr int kSubjectColumns = 60, kListedMax = 12;

CommitPath const& path_of(BisectPlan const& plan) {
    return *plan.commits.path;
}

CommitInfo const& state(BisectPlan const& plan, int index) {
    return path_of(plan).states[static_cast<std::size_t>(index)];
}

int count_of(ShownCulprit const& culprit) {
    return culprit.last_step - culprit.first_step;
}

/// Whether the search separated the commits, as far as they build.
bool is_reported(BisectAnswer const& answer) {
    return answer.commits && !answer.commits->culprits.empty();
}

std::string quoted(std::string const& word) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
    std::string text = "'";
    for (char const c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

std::string git_in(BisectPlan const& plan) {
    return "git -C " + quoted(path_of(plan).repository.string());
}

}  // namespace

std::string commit_name(CommitInfo const& commit) {
    return printable(fmt::format("{} \"{}\" ({})", commit.short_hash(),
                                 clipped(commit.subject, kSubjectColumns), commit.date));
}

std::string commits_name(BisectPlan const& plan, ShownCulprit const& culprit) {
    auto const& path = path_of(plan);
    if (count_of(culprit) > 1) {
        return fmt::format("one of {} commits, {}..{},", count_of(culprit),
                           state(plan, culprit.first_step).short_hash(),
                           state(plan, culprit.last_step).short_hash());
    }
    auto const name = "commit " + commit_name(path.commit(culprit.first_step));
    if (!path.is_undone(culprit.first_step)) return name;
    return fmt::format("{}, which run {} lacks,", name, plan.bad);
}

std::vector<std::string> commits_details(BisectPlan const& plan, BisectAnswer const& answer,
                                         ShownCulprit const& culprit) {
    std::vector<std::string> lines;
    int const count = count_of(culprit);
    bool const is_listed = count > 1 && is_reported(answer);
    for (int step = culprit.first_step; is_listed && step < culprit.last_step; ++step) {
        if (step - culprit.first_step == kListedMax) {
            lines.push_back(fmt::format("and {} more", culprit.last_step - step));
            break;
        }
        // Commits that were not separated lie between two states that run; those in between do not
        // run.
        int const at = path_of(plan).is_undone(step) ? step : step + 1;
        bool const fails = at > culprit.first_step && at < culprit.last_step;
        lines.push_back(commit_name(path_of(plan).commit(step)) +
                        (fails ? ": does not build or start" : ""));
    }
    auto const before = state(plan, culprit.first_step).short_hash();
    auto const after = state(plan, culprit.last_step).short_hash();
    lines.push_back(fmt::format("look: {} diff {} {}", git_in(plan), before, after));
    if (count == 1) {
        bool const is_undone = path_of(plan).is_undone(culprit.first_step);
        lines.push_back(fmt::format("undo: {} {} {}", git_in(plan),
                                    is_undone ? "cherry-pick" : "revert",
                                    path_of(plan).commit(culprit.first_step).short_hash()));
    }
    std::vector<std::string> again;
    for (int const each : {culprit.first_step, culprit.last_step}) {
        auto const run = answer.runs.find(each);
        if (run == answer.runs.end()) continue;
        auto const steps =
            plan.commits.is_exec ? "" : fmt::format(" --set train.steps={}", plan.steps);
        again.push_back(fmt::format("osora submit --from {}{}", run->second, steps));
    }
    if (again.size() == 2) lines.push_back(fmt::format("run both: {}", fmt::join(again, "; ")));
    return lines;
}

std::vector<std::string> commits_plan(BisectPlan const& plan) {
    std::vector<std::string> lines;
    if (plan.tries_commits()) {
        auto const& path = path_of(plan);
        std::vector<std::string> build;
        for (auto const& word : plan.commits.build) build.push_back(quoted(word));
        lines.push_back(printable(fmt::format(
            "{} commit{} from {} to {} in {}, each built with: {}", path.steps(),
            path.steps() == 1 ? "" : "s", path.states.front().short_hash(),
            path.states.back().short_hash(), path.repository.string(), fmt::join(build, " "))));
        if (path.undone > 0) {
            lines.push_back(fmt::format(
                "commit {} is no ancestor of {}: the path goes {} commit{} back, to {}, and then "
                "forward",
                path.states.front().short_hash(), path.states.back().short_hash(), path.undone,
                path.undone == 1 ? "" : "s",
                path.states[static_cast<std::size_t>(path.undone)].short_hash()));
        }
    }
    for (auto const& note : plan.commits.notes) lines.push_back("note: " + printable(note));
    return lines;
}

protocol::json::array commits_json(BisectPlan const& plan, ShownCulprit const& culprit) {
    protocol::json::array commits;
    for (int step = culprit.first_step; step < culprit.last_step; ++step) {
        auto const& commit = path_of(plan).commit(step);
        commits.push_back(protocol::json::object{{"hash", commit.hash},
                                                 {"subject", commit.subject},
                                                 {"date", commit.date},
                                                 {"undone", path_of(plan).is_undone(step)}});
    }
    return commits;
}

protocol::json::object commit_path_json(BisectPlan const& plan) {
    auto const& path = path_of(plan);
    protocol::json::array build;
    for (auto const& word : plan.commits.build) build.emplace_back(word);
    return {{"repository", path.repository.string()},
            {"good", path.states.front().hash},
            {"bad", path.states.back().hash},
            {"commits", path.steps()},
            {"undone", path.undone},
            {"build", std::move(build)}};
}

}  // namespace osora::cli
