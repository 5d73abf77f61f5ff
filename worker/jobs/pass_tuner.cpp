#include "worker/jobs/pass_tuner.hpp"

#include "base/files/files.hpp"
#include "base/text/units.hpp"
#include "plan/memory.hpp"
#include "plan/model/trained_model.hpp"
#include "protocol/json.hpp"
#include "worker/jobs/job_parts.hpp"
#include "worker/memory/shortage_text.hpp"
#include "worker/parallel/on_any_rank.hpp"

#include <fmt/format.h>
#include <boost/describe.hpp>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

namespace osora::worker {
namespace {

/// RUN_DIR/passes/stage-N.json
struct FoundSetting {
    std::string bucket;
    std::int64_t samples = 0;  // of a rank in a step
    std::int64_t micro_batch_size = 1, recomputed_blocks = 0;
};
struct FoundSettings {
    std::string schema = "osora.passes/1";
    std::string found_with = {};  // what else decides which passes fit and which are fast
    std::vector<FoundSetting> buckets;
};
BOOST_DESCRIBE_STRUCT(FoundSetting, (), (bucket, samples, micro_batch_size, recomputed_blocks))
BOOST_DESCRIBE_STRUCT(FoundSettings, (), (schema, found_with, buckets))

std::string conditions(plan::WorkerJob const& job, Device const& device) {
    auto const& layout = job.plan.chosen;
    return fmt::format(
        "dp {}, tp {}, sp {}, pp {}, ZeRO {} of {}, {}, {} activations, {:.2f} GiB {}",
        layout.dp_size, layout.tp_size, layout.sp_size, layout.pp_size, layout.zero_stage,
        layout.shard_size, layout.precision, layout.activation_store,
        job.plan.predicted.memory_limit_gib, device.is_gpu() ? "GPU" : "CPU");
}

/// Whether a pass that does not fit costs its step's time alone: ranks have their own samples, and
/// the allocator refuses before memory is gone.
bool can_go_back(plan::WorkerJob const& job, Device const& device) {
    auto const& layout = job.plan.chosen;
    bool const alone = layout.tp_size * layout.sp_size * layout.pp_size == 1;
    return job.config.debug.memory_guard && alone && layout.zero_stage < 3 &&
           (device.is_gpu() || !job.config.memory.rank_memory_gib.is_auto());
}

}  // namespace

PassTuner::PassTuner(Parts const& parts)
    : parts_(parts), planned_recompute_(plan::checked_recompute(parts.job.plan.chosen.recompute)) {}

Result<std::unique_ptr<PassTuner>> PassTuner::open(Parts const& parts, TrainData const& data) {
    if (!parts.job.config.tune.progressive) return nullptr;
    auto tuner = std::make_unique<PassTuner>(parts);
    OSORA_TRY(auto const shape, plan::sample_shape(parts.job.config));
    tuner->blocks_ = shape.blocks();
    auto const& buckets = data.schedule->buckets();
    for (std::size_t i = 0; i < buckets.size(); ++i)
        tuner->buckets_.emplace(bucket_name(buckets[i].key), tuner->bucket_of(data, i));
    OSORA_TRY_VOID(tuner->use_earlier());
    return tuner;
}

PassTuner::Bucket PassTuner::bucket_of(TrainData const& data, std::size_t index) const {
    auto const& job = parts_.job;
    auto const& layout = job.plan.chosen;
    plan::BucketPlan const& planned = data.bucket_plans[index];
    auto const& written = job.config.bucket[data.schedule->buckets()[index].entry];
    plan::PassSetting const setting{
        .micro_batch_size = planned.micro_batch_size,
        .recomputed_blocks = std::min(planned_recompute_.first_blocks, blocks_)};
    plan::PassLimits const limits{
        .samples = planned.global_batch_size / std::max(1, layout.dp_size),
        .memory_bytes = static_cast<std::int64_t>(job.plan.predicted.memory_limit_gib *
                                                  static_cast<double>(kGiB)),
        // Virtual stages need as many passes as the plan has.
        .tunes_micro_batch = written.micro_batch_size.is_auto() && layout.virtual_stages == 1,
        .tunes_recompute = job.config.memory.recompute.is_auto(),
        .can_go_back = can_go_back(job, parts_.device),
        .keeps_sums = plan::sums_take_more(layout.precision, layout.zero_stage, layout.ranks())};
    return {plan::PassTuning(setting, limits), setting, limits.samples};
}

/// What an earlier attempt found; nothing of another plan, whose passes may not fit this one.
std::vector<double> PassTuner::read_earlier() const {
    std::vector<double> found(2 * buckets_.size());  // 0: nothing
    std::error_code missing;
    if (!std::filesystem::exists(parts_.file, missing)) return found;
    auto const settings = read_file(parts_.file);
    auto const read = settings ? protocol::decode<FoundSettings>(*settings)
                               : Result<FoundSettings>(settings.error());
    std::string const here = conditions(parts_.job, parts_.device);
    auto const anew = [&](std::string_view severity, std::string const& why) {
        parts_.agent.send(protocol::WorkerNotice{
            .kind = "tuned",
            .severity = std::string(severity),
            .step = 0,
            .detail = fmt::format("{}: {}; tuning starts anew", parts_.file.string(), why)});
    };
    if (read.has_error()) {
        anew("warning", read.error().message);
        return found;
    }
    if (read->found_with != here) {
        anew("info",
             fmt::format("found with {}, this plan has {}",
                         read->found_with.empty() ? "an unknown plan" : read->found_with, here));
        return found;
    }
    for (FoundSetting const& each : read->buckets) {
        auto const at = buckets_.find(each.bucket);
        bool const valid = at != buckets_.end() && each.samples == at->second.samples &&
                           each.micro_batch_size >= 1 && each.recomputed_blocks >= 0;
        if (!valid) continue;
        auto const row = 2 * static_cast<std::size_t>(std::distance(buckets_.begin(), at));
        found[row] = static_cast<double>(each.micro_batch_size);
        found[row + 1] = static_cast<double>(each.recomputed_blocks);
    }
    return found;
}

Result<void> PassTuner::use_earlier() {
    auto found = parts_.rank == 0 ? read_earlier() : std::vector<double>(2 * buckets_.size());
    OSORA_TRY(found, largest_of_ranks(parts_.group, std::move(found), "settings of passes"));
    auto next = found.begin();
    for (auto& [name, bucket] : buckets_) {
        auto const micro_batch_size = static_cast<std::int64_t>(*next++);
        auto const recomputed_blocks = static_cast<std::int64_t>(*next++);
        if (micro_batch_size > 0)
            bucket.tuning = plan::PassTuning::finished({micro_batch_size, recomputed_blocks});
    }
    return {};
}

PassChoice PassTuner::choice(Bucket const& bucket, plan::PassSetting const& setting) const {
    plan::RecomputeChoice recompute = planned_recompute_;
    if (setting.recomputed_blocks != bucket.planned.recomputed_blocks)
        recompute.first_blocks = setting.recomputed_blocks;
    return {setting.micro_batch_size, recompute};
}

void PassTuner::prepare(StepBatch& batch) {
    Bucket const& bucket = buckets_.at(batch.bucket);
    auto const chosen = choice(bucket, bucket.tuning.setting());
    StepInput& input = batch.input;
    // The plan's peak of the pass: all of it grows with the samples.
    batch.predicted_bytes = batch.predicted_bytes * chosen.micro_batch_size /
                            std::max<std::int64_t>(1, input.micro_batch_size);
    input.micro_batch_size = chosen.micro_batch_size;
    input.recompute = chosen.recompute;
    if (bucket.tuning.trying()) input.known = choice(bucket, bucket.tuning.known());
    resident_bytes_ = static_cast<double>(parts_.device.allocated_bytes());
    counts_ = true;
}

bool PassTuner::on_shortage(StepBatch const& batch, MemoryShortage const& shortage) {
    counts_ = false;
    auto& tuning = buckets_.at(batch.bucket).tuning;
    if (!shortage.goes_back) {
        // Memory is at its limit with what was in use.
        tuning.stop();
        for (auto& [name, each] : buckets_)
            if (shortage.recomputes) each.tuning.stop();
        return false;
    }
    auto const change =
        tuning.failed(shortage.lacked.empty() ? "the allocator of another rank refused it"
                                              : in_brief(shortage.lacked));
    report(batch.input.step, batch.bucket, change);
    return true;
}

Result<void> PassTuner::finish(StepBatch const& batch, StepOutput const& output, double seconds) {
    // A step that is skipped has no update.
    if (!counts_ || output.skipped) return {};
    auto& tuning = buckets_.at(batch.bucket).tuning;
    auto const peak = static_cast<double>(parts_.device.peak_allocated_bytes());
    if (!tuning.add_step(seconds, peak, resident_bytes_)) return {};
    plan::PassFigures const& own = tuning.figures();
    OSORA_TRY(auto const largest, largest_of_ranks(parts_.group,
                                                   {own.before_s, own.with_s, own.before_peak_bytes,
                                                    own.with_peak_bytes, own.resident_bytes},
                                                   "settings of passes"));
    auto const change = tuning.compare({.before_s = largest[0],
                                        .with_s = largest[1],
                                        .before_peak_bytes = largest[2],
                                        .with_peak_bytes = largest[3],
                                        .resident_bytes = largest[4]});
    if (change) report(batch.input.step, batch.bucket, *change);
    return {};
}

void PassTuner::report(int step, std::string const& name, plan::PassChange const& change) {
    if (parts_.rank != 0) return;
    parts_.agent.send(
        protocol::WorkerNotice{.kind = "tuned",
                               .severity = "info",
                               .step = step,
                               .detail = fmt::format("bucket {}: {}", name, change.text)});
    if (change.last) save();
}

void PassTuner::save() {
    FoundSettings found;
    found.found_with = conditions(parts_.job, parts_.device);
    for (auto const& [name, bucket] : buckets_) {
        if (!bucket.tuning.is_done()) continue;
        auto const setting = bucket.tuning.setting();
        found.buckets.push_back(
            {name, bucket.samples, setting.micro_batch_size, setting.recomputed_blocks});
    }
    std::error_code error;
    std::filesystem::create_directories(parts_.file.parent_path(), error);
    auto const written = write_file_atomic(parts_.file, protocol::encode(found) + "\n");
    if (written.has_error())
        parts_.agent.send(protocol::WorkerNotice{
            .kind = "tuned",
            .severity = "warning",
            .step = 0,
            .detail = written.error().message + "; the next attempt tunes again"});
}

}  // namespace osora::worker
