// Private to db/: reads and writes a run's steps and measured figures. May throw SQLite::Exception.
#pragma once

#include "db/analysis/measure.hpp"
#include "db/analysis/rank_work.hpp"
#include "db/record/run_record.hpp"
#include "db/store/connection_internal.hpp"

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace osora::db {

/// The metrics that reports use.
inline constexpr std::array<std::string_view, 11> kReportMetrics{
    "step_time_s", "data_wait_s", "forward_s", "backward_s", "exposed_comm_s",      "arrival_s",
    "optimizer_s", "other_s",     "loss",      "rss_bytes",  "peak_allocated_bytes"};

/// The run's steps with the named metrics (those that it has).
[[nodiscard]] StepTable load_steps(Connection& connection, std::int64_t run_id,
                                   std::span<std::string_view const> metrics);

/// The newest blocks of `metric`, up to kBlockBytes.
constexpr std::int64_t kBlockBytes = 16 << 20;
[[nodiscard]] std::vector<analysis::RankBlock> load_blocks(Connection& connection,
                                                           std::int64_t run_id,
                                                           std::string_view metric);

void save_measured(Connection& connection, std::int64_t run_id, analysis::Measured const& measured);
[[nodiscard]] std::optional<analysis::Measured> load_measured(Connection& connection,
                                                              std::int64_t run_id);

}  // namespace osora::db
