#include "worker/jobs/memory_report.hpp"

#include "base/files/files.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>

#include <system_error>

namespace osora::worker {

Result<std::filesystem::path> write_memory_report(std::filesystem::path const& run_dir,
                                                  MemoryReport const& report) {
    auto const folder = run_dir / "memory";
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return file_error(error.value(), "make", folder);
    auto const file = folder / fmt::format("rank-{}-step-{}.json", report.rank, report.step);
    OSORA_TRY_VOID(write_file_atomic(file, protocol::encode(report) + "\n"));
    return file;
}

std::string nearest_fix(plan::WorkerJob const& job, std::int64_t micro_batch_size,
                        bool recomputes) {
    auto const& chosen = job.plan.chosen;
    if (micro_batch_size > 1) {
        return fmt::format("micro_batch_size = {} in the [[bucket]]", (micro_batch_size + 1) / 2);
    }
    if (job.config.run.job != "train") {
        return "a smaller vae.micro_batch_size, vae.micro_frame_size or [[bucket]]";
    }
    if (!recomputes && chosen.recompute != "full") return "memory.recompute = \"full\"";
    if (chosen.activation_store == "none") {
        return "memory.activation_store = \"int8\" with memory.allow_lossy = true";
    }
    if (chosen.zero_stage < 3 && chosen.ranks() > 1) return "parallel.zero_stage = 3";
    return "a smaller [[bucket]]";
}

}  // namespace osora::worker
