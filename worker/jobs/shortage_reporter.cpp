#include "worker/jobs/shortage_reporter.hpp"

#include "base/text/units.hpp"
#include "worker/memory/counted_allocator.hpp"
#include "worker/memory/shortage_text.hpp"

#include <fmt/format.h>

#include <utility>

namespace osora::worker {

MemoryReport ShortageReporter::report_of(StepBatch const& batch,
                                         MemoryShortage const& shortage) const {
    MemoryReport report;
    report.rank = rank_;
    report.step = batch.input.step;
    report.bucket = batch.bucket;
    report.micro_batch_size = shortage.micro_batch_size;
    report.message = shortage.lacked;
    report.peak_allocated_bytes = device_.peak_allocated_bytes();
    report.predicted_bytes = batch.predicted_bytes;
    auto* const counted = device_.is_gpu() ? nullptr : CountedAllocator::installed();
    if (counted == nullptr) return report;
    if (auto refusal = counted->take_refusal()) {
        report.asked_bytes = refusal->asked_bytes;
        report.allocated_bytes = refusal->allocated_bytes;
        report.cap_bytes = refusal->cap_bytes;
        report.largest_block_bytes = std::move(refusal->largest_bytes);
    }
    return report;
}

void ShortageReporter::report(StepBatch const& batch, MemoryShortage const& shortage) {
    last_ = shortage;
    last_report_.clear();
    recomputes_ = recomputes_ || shortage.recomputes;
    if (shortage.lacked.empty()) return;
    auto const report = report_of(batch, shortage);
    auto const written = write_memory_report(job_.run_dir, report);
    last_report_ =
        fmt::format("; the plan said {}, the peak was {}; {}", format_bytes(report.predicted_bytes),
                    format_bytes(report.peak_allocated_bytes),
                    written ? written->string() : written.error().message);
    if (shortage.next == 0) return;
    std::string const change =
        shortage.recomputes
            ? "all activations are computed again"
            : fmt::format("micro-batch {} -> {}", shortage.micro_batch_size, shortage.next);
    agent_.send(protocol::WorkerNotice{
        .kind = "memory_retry",
        .severity = "warning",
        .step = batch.input.step,
        .detail = fmt::format("bucket {}: {} from here on: {}{}", batch.bucket, change,
                              in_brief(shortage.lacked), last_report_)});
}

Error ShortageReporter::end(StepBatch const& batch, Error const& error) const {
    return Error{error.code,
                 fmt::format("step {}, bucket {}, micro-batch {}: {}{}; try {}", batch.input.step,
                             batch.bucket, last_.micro_batch_size, error.message, last_report_,
                             nearest_fix(job_, last_.micro_batch_size, recomputes_))};
}

}  // namespace osora::worker
