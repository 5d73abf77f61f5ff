// How osora bisect speaks of commits. Pure.
#pragma once

#include "cli/bisect/bisect_culprit.hpp"
#include "protocol/json.hpp"

#include <string>
#include <vector>

namespace osora::cli {

/// `1a2b3c4d5e "read ahead" (2026-05-03)`, safe for a terminal.
[[nodiscard]] std::string commit_name(CommitInfo const& commit);

/// Of a culprit: `commit 1a2b3c4d5e "read ahead" (2026-05-03)`, or how many it is one of.
[[nodiscard]] std::string commits_name(BisectPlan const& plan, ShownCulprit const& culprit);

/// Lines behind the headline: each of several commits, and the commands that show the change, run
/// both sides of it again and lead back.
[[nodiscard]] std::vector<std::string> commits_details(BisectPlan const& plan,
                                                       BisectAnswer const& answer,
                                                       ShownCulprit const& culprit);

/// What is known of the path before a search: where, how many, how it is built; notes.
[[nodiscard]] std::vector<std::string> commits_plan(BisectPlan const& plan);

/// Members of osora.bisect/1: [{"hash", "subject", "date", "undone"}] of a culprit.
[[nodiscard]] protocol::json::array commits_json(BisectPlan const& plan,
                                                 ShownCulprit const& culprit);
/// {"repository", "good", "bad", "commits", "undone", "build"}.
[[nodiscard]] protocol::json::object commit_path_json(BisectPlan const& plan);

}  // namespace osora::cli
