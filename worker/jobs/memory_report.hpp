// The report and the messages of a rank when a pass did not fit into memory.
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
    std::int64_t asked_bytes = 0;      // with the two below: 0 if only `message` knows it
    std::int64_t allocated_bytes = 0;  // when the request was refused
    std::int64_t cap_bytes = 0;
    std::int64_t peak_allocated_bytes = 0;  // of the step until then
    std::int64_t predicted_bytes = 0;       // peak of the bucket in the plan; 0: not planned
    std::vector<std::int64_t> largest_block_bytes;  // alive at the refusal; with a cap
};
BOOST_DESCRIBE_STRUCT(MemoryReport, (),
                      (version, rank, step, bucket, micro_batch_size, message, asked_bytes,
                       allocated_bytes, cap_bytes, peak_allocated_bytes, predicted_bytes,
                       largest_block_bytes))

/// RUN_DIR/memory/rank-R-step-S.json; a second one of the same step replaces it.
[[nodiscard]] Result<std::filesystem::path> write_memory_report(
    std::filesystem::path const& run_dir, MemoryReport const& report);

/// The key of the run file that helps at the lowest cost. `recomputes`: all activations are
/// recomputed already.
[[nodiscard]] std::string nearest_fix(plan::WorkerJob const& job, std::int64_t micro_batch_size,
                                      bool recomputes);

}  // namespace osora::worker
