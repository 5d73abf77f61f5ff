// What a rank leaves behind, and what it says, when a pass of it did not fit into memory.
#pragma once

#include "base/result.hpp"
#include "plan/worker_job.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::worker {

struct MemoryReport {
    int version = 1;
    int rank = 0, step = 0;
    std::string bucket;
    std::int64_t micro_batch_size = 0;
    std::string message;               // of the allocator
    std::int64_t asked_bytes = 0;      // with the two below: 0 where only `message` knows it
    std::int64_t allocated_bytes = 0;  // when it was refused
    std::int64_t cap_bytes = 0;
    std::int64_t peak_allocated_bytes = 0;  // of the step until then
    std::int64_t predicted_bytes = 0;       // peak of the bucket by the plan; 0: it says none
    std::vector<std::int64_t> largest_block_bytes;  // alive when it was refused; with a cap
};
BOOST_DESCRIBE_STRUCT(MemoryReport, (),
                      (version, rank, step, bucket, micro_batch_size, message, asked_bytes,
                       allocated_bytes, cap_bytes, peak_allocated_bytes, predicted_bytes,
                       largest_block_bytes))

/// RUN_DIR/memory/rank-R-step-S.json; of a second one of a step the later stays.
[[nodiscard]] Result<std::filesystem::path> write_memory_report(
    std::filesystem::path const& run_dir, MemoryReport const& report);

/// The key of the run file that helps at the least cost. `recomputes`: all activations are
/// computed again already.
[[nodiscard]] std::string nearest_fix(plan::WorkerJob const& job, std::int64_t micro_batch_size,
                                      bool recomputes);

}  // namespace osora::worker
