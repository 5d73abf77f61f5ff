// Private to db/: a run's steps and measured figures out of and into their tables. May throw
// SQLite::Exception.
#pragma once

#include "db/analysis/measure.hpp"
#include "db/connection_internal.hpp"
#include "db/run_record.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace osora::db {

/// The run's steps with the named metrics (those that it has).
[[nodiscard]] StepTable load_steps(Connection& connection, std::int64_t run_id,
                                   std::span<std::string_view const> metrics);

void save_measured(Connection& connection, std::int64_t run_id, analysis::Measured const& measured);
[[nodiscard]] std::optional<analysis::Measured> load_measured(Connection& connection,
                                                              std::int64_t run_id);

}  // namespace osora::db
