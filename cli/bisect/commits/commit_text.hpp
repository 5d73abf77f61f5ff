// Text about commits for osora bisect. Pure.
#pragma once

#include "cli/bisect/bisect_culprit.hpp"
#include "protocol/json.hpp"

#include <string>
#include <vector>

namespace osora::cli {

/// `1a2b3c4d5e "read ahead" (2026-05-03)`, safe for a terminal.
[[nodiscard]] std::string commit_name(CommitInfo const& commit);

/// Name of a culprit: `commit 1a2b3c4d5e "read ahead" (2026-05-03)`, or "one of N commits".
[[nodiscard]] std::string commits_name(BisectPlan const& plan, ShownCulprit const& culprit);

/// Lines after the headline: the commits, if there are several, and commands that show the change,
/// rerun both sides of it, and revert it.
[[nodiscard]] std::vector<std::string> commits_details(BisectPlan const& plan,
                                                       BisectAnswer const& answer,
                                                       ShownCulprit const& culprit);

/// What is known of the path before a search: repository, number of commits, build command; notes.
[[nodiscard]] std::vector<std::string> commits_plan(BisectPlan const& plan);

/// Members of osora.bisect/1: [{"hash", "subject", "date", "undone"}] of a culprit.
[[nodiscard]] protocol::json::array commits_json(BisectPlan const& plan,
                                                 ShownCulprit const& culprit);
/// {"repository", "good", "bad", "commits", "undone", "build"}.
[[nodiscard]] protocol::json::object commit_path_json(BisectPlan const& plan);

}  // namespace osora::cli
