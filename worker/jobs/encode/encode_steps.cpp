#include "worker/jobs/encode/encode_steps.hpp"

#include "worker/jobs/job_parts.hpp"
#include "worker/jobs/loading_signs.hpp"

#include <algorithm>

namespace osora::worker {
namespace {

/// Whether the shard is complete; its entries are added to `entries`.
Result<bool> is_done(std::filesystem::path const& path, ShardMark const& mark,
                     std::int64_t& entries) {
    auto const found = finished_shard(path, mark);
    if (found.has_value()) {
        entries += *found;
        return true;
    }
    auto const code = found.error().code;
    if (code == Errc::not_found || code == Errc::corrupt) return false;
    return found.error();
}

}  // namespace

void EncodeSteps::begin() {
    start_ = std::chrono::steady_clock::now();
}

void EncodeSteps::end(std::string const& bucket, std::int64_t samples, double work_s) {
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - start_;
    protocol::StepMetrics metrics;
    metrics.step = next_++;
    metrics.bucket = bucket;
    metrics.step_time_s = passed.count();
    metrics.forward_s = work_s;
    metrics.data_wait_s = std::max(0.0, passed.count() - work_s);
    metrics.samples = static_cast<int>(samples);
    metrics.rss_bytes = resident_bytes();
    metrics.peak_allocated_bytes = device_.peak_allocated_bytes();
    agent_.send(metrics);
    if (first_) agent_.send(protocol::PhaseChanged{.phase = protocol::Phase::step, .limit_s = 0});
    first_ = false;
}

void EncodeSteps::notice(std::string const& kind, std::string const& detail) {
    agent_.send(protocol::WorkerNotice{
        .kind = kind, .severity = "warning", .step = next_, .detail = detail});
}

void EncodeSteps::sign() {
    auto const now = std::chrono::steady_clock::now();
    if (now - signed_ < kSignEvery) return;
    signed_ = now;
    auto const phase = first_ ? protocol::Phase::first_step : protocol::Phase::step;
    agent_.send(protocol::PhaseChanged{.phase = phase, .limit_s = 0});
}

Result<OpenWork> open_work(EncodePlan const& plan, int rank, int world_size) {
    OpenWork work;
    auto const mine = [&](std::size_t shard) {
        return static_cast<int>(shard % static_cast<std::size_t>(world_size)) == rank;
    };
    for (std::size_t i = 0; i < plan.captions.size(); ++i) {
        if (!mine(i)) continue;
        ShardMark const mark{plan.settings, static_cast<std::int64_t>(i)};
        OSORA_TRY(bool const done, is_done(plan.text_path(i), mark, work.done_captions));
        if (!done) work.captions.push_back(i);
    }
    for (std::size_t i = 0; i < plan.latents.size(); ++i) {
        if (!mine(i)) continue;
        ShardMark const mark{plan.settings, static_cast<std::int64_t>(i)};
        OSORA_TRY(bool const done, is_done(plan.latent_path(i), mark, work.done_clips));
        if (!done) work.latents.push_back(i);
    }
    return work;
}

}  // namespace osora::worker
