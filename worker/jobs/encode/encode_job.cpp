#include "worker/jobs/encode/encode_job.hpp"

#include "base/files/files.hpp"
#include "protocol/json.hpp"
#include "worker/data/skipped_rows.hpp"
#include "worker/jobs/encode/encode_latents.hpp"
#include "worker/jobs/encode/encode_text.hpp"
#include "worker/jobs/job_parts.hpp"
#include "worker/jobs/loading_signs.hpp"
#include "worker/jobs/same_data.hpp"
#include "worker/jobs/train_data.hpp"
#include "worker/jobs/vae_of_job.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/full.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <exception>
#include <system_error>
#include <thread>

namespace osora::worker {
namespace {

using protocol::Phase;

Result<Encoders> open_encoders(plan::WorkerJob const& job, Device const& device) {
    auto const& config = job.config;
    Encoders encoders;
    if (!config.text.encoder.empty()) {
        auto const type = config.encode.dtype == "bf16" ? at::kBFloat16 : at::kFloat;
        auto text = CaptionEncoder::open(
            resolve(job, config.text.encoder),
            {.max_tokens = config.text.max_tokens, .padded = config.text.padded},
            at::TensorOptions().device(device.torch()).dtype(type));
        if (text.has_error()) return std::move(text).error().in("text.encoder");
        encoders.text.emplace(std::move(*text));
    }
    if (encoders.text && !config.text.clip_encoder.empty()) {
        auto const type = config.encode.dtype == "bf16" ? at::kBFloat16 : at::kFloat;
        auto pooled = PooledEncoder::open(resolve(job, config.text.clip_encoder),
                                          at::TensorOptions().device(device.torch()).dtype(type));
        if (pooled.has_error()) return std::move(pooled).error().in("text.clip_encoder");
        encoders.pooled.emplace(std::move(*pooled));
    }
    if (config.encode.latents) {
        OSORA_TRY(auto vae, make_vae(job, device, encoders.notices));
        encoders.vae.emplace(std::move(vae));
    }
    return encoders;
}

Result<void> make_folders(EncodePlan const& plan) {
    for (auto const& [folder, used] :
         {std::pair("latents", !plan.latents.empty()), std::pair("text", !plan.captions.empty())}) {
        std::error_code error;
        if (used) std::filesystem::create_directories(plan.out / folder, error);
        if (error)
            return Error{Errc::io, fmt::format("encode.out: {}: {}", (plan.out / folder).string(),
                                               error.message())};
    }
    return {};
}

int steps_of(std::int64_t entries, std::int64_t at_once) {
    return static_cast<int>((entries + at_once - 1) / at_once);
}

void report_start(EncodePlan const& plan, plan::WorkerJob const& job, EncodeSteps& steps) {
    for (auto const& line : describe_skipped(plan.manifest.skipped, job.config.data.manifest))
        steps.notice("clip_skipped", line);
    for (auto const& line : describe_sizes(plan.manifest, job)) steps.notice("clip_repaired", line);
    if (!plan.set.unused_clips.empty()) {
        steps.notice("data_unused",
                     fmt::format("{} of {} clips fit no bucket and are not cached",
                                 plan.set.unused_clips.size(), plan.manifest.clips.size()));
    }
    if (!plan.latents.empty() && job.config.vae.weights.empty()) {
        steps.notice("random_weights", "vae.weights is empty: the latents are of random weights");
    }
}

/// All ranks count their steps from the same number, so that they can be added up.
Result<int> first_step(std::optional<Group> const& group, int done) {
    if (!group) return done;
    try {
        std::vector<at::Tensor> most{at::full({1}, static_cast<double>(done), at::kDouble)};
        c10d::AllreduceOptions options;
        options.reduceOp = c10d::ReduceOp::MAX;
        group->backend().allreduce(most, options)->wait();
        return static_cast<int>(most[0].item<double>());
    } catch (std::exception const& error) {
        return Error{Errc::unreachable, std::string("first step: ") + error.what()};
    }
}

/// Reports to rank 0 that this rank's shards are complete, or waits for all ranks' reports. true:
/// all are complete.
Result<bool> all_ranks_done(std::optional<Group> const& group, RankEnvironment const& self,
                            AgentLink& agent) {
    if (!group) return true;
    auto const key = [&](int rank) { return fmt::format("encode/{}/{}", self.attempt, rank); };
    try {
        if (self.rank != 0) {
            group->store().set(key(self.rank), std::vector<std::uint8_t>{1});
            return true;
        }
        std::vector<std::string> keys;
        for (int rank = 1; rank < self.world_size; ++rank) keys.push_back(key(rank));
        constexpr int kPollsAPulse = 50;
        for (int polls = 0; !group->store().check(keys); ++polls) {
            if (agent.stop_order()) return false;
            // Waiting for slower ranks is not a hang: a hang is detected on the slow rank itself.
            if (polls % kPollsAPulse == 0)
                agent.send(protocol::PhaseChanged{.phase = Phase::finishing, .limit_s = 0});
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
        }
        return true;
    } catch (std::exception const& error) {
        return Error{Errc::unreachable, fmt::format("store: {}", error.what())};
    }
}

/// Removes files left half written by killed ranks; nobody writes any more.
void remove_partial_files(std::filesystem::path const& out) {
    std::error_code ignored;
    for (char const* folder : {"latents", "text"}) {
        std::vector<std::filesystem::path> found;
        for (auto const& entry : std::filesystem::directory_iterator(out / folder, ignored))
            if (entry.path().extension() == ".tmp") found.push_back(entry.path());
        for (auto const& path : found) std::filesystem::remove(path, ignored);
    }
}

Result<void> write_index(plan::WorkerJob const& job, EncodePlan const& plan) {
    remove_partial_files(plan.out);
    OSORA_TRY(auto const index, index_of(job, plan));
    if (!plan.latents.empty() && index.clips() == 0) {
        return Error{Errc::corrupt, "encode: none of the clips could be decoded"};
    }
    return write_file_atomic(protocol::cache_index_path(plan.out), protocol::encode(index) + "\n");
}

Result<void> encode_open(plan::WorkerJob const& job, EncodePlan const& plan, Encoders& encoders,
                         OpenWork const& open, EncodeSteps& steps) {
    if (encoders.text) OSORA_TRY_VOID(encode_captions(plan, encoders, open.captions, steps));
    encoders.text.reset();  // their memory is wanted now
    encoders.pooled.reset();
    if (steps.stopped() || !encoders.vae) return {};
    return encode_latents(job, plan, *encoders.vae, open.latents, steps);
}

}  // namespace

Result<TrainOutcome> run_encode_job(plan::WorkerJob const& job, RankEnvironment const& self,
                                    AgentLink& agent) {
    at::NoGradGuard const no_grad;
    at::set_num_threads(std::max(1, job.plan.chosen.threads_per_rank));
    agent.send(protocol::PhaseChanged{.phase = Phase::loading, .limit_s = 0});
    OSORA_TRY(Device const device, Device::choose(cuda_module_path(), self.local_rank));
    OSORA_TRY(auto const group, join_ranks(self, device, waiting_of(job)));
    OSORA_TRY(auto encoders, open_encoders(job, device));
    OSORA_TRY(auto const crashed, agree_on_crashed(group, read_crashed_clips(job.run_dir)));
    OSORA_TRY(auto const plan, make_encode_plan(job, encoders, crashed, LoadingSigns(agent)));
    auto const settings = static_cast<std::uint64_t>(protocol::caption_hash(plan.settings));
    OSORA_TRY_VOID(check_same_data(group, summary_of(plan.manifest, settings)));
    auto const clips_read = clips_read_path(job);
    if (self.rank == 0 && !clips_read.empty())
        OSORA_TRY_VOID(remember_clips(plan.manifest, clips_read));
    OSORA_TRY_VOID(make_folders(plan));
    OSORA_TRY(auto const open, open_work(plan, self.rank, self.world_size));
    EncodeSteps steps(agent, device);
    int const done = steps_of(open.done_captions, kCaptionsAtOnce) +
                     steps_of(open.done_clips, plan.batch.front());
    OSORA_TRY(int const first, first_step(group, done));
    steps.skip(first);
    if (self.rank == 0) report_start(plan, job, steps);
    if (self.rank == 0) {
        for (auto const& each : encoders.notices) steps.notice("weights_converted", each);
    }
    agent.send(protocol::WorkerHello{.rank = self.rank,
                                     .pid = static_cast<int>(::getpid()),
                                     .start_step = steps.next_step(),
                                     .facts = process_facts(device)});
    agent.send(protocol::PhaseChanged{.phase = Phase::first_step, .limit_s = 0});
    OSORA_TRY_VOID(encode_open(job, plan, encoders, open, steps));
    if (steps.stopped()) return TrainOutcome{steps.next_step(), true};
    agent.send(protocol::PhaseChanged{.phase = Phase::finishing, .limit_s = 0});
    OSORA_TRY(bool const all, all_ranks_done(group, self, agent));
    if (!all) return TrainOutcome{steps.next_step(), true};
    if (self.rank == 0) OSORA_TRY_VOID(write_index(job, plan));
    return TrainOutcome{steps.next_step(), false};
}

}  // namespace osora::worker
