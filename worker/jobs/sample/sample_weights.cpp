#include "worker/jobs/sample/sample_weights.hpp"

#include "worker/jobs/job_parts.hpp"
#include "worker/jobs/objectives.hpp"
#include "worker/model/weights/merge_adapter.hpp"
#include "worker/model/weights/weight_files.hpp"

namespace osora::worker {
namespace {

namespace fs = std::filesystem;

/// As one rank of the run began, in fp32.
Result<std::vector<NamedTensor>> job_weights(plan::WorkerJob job, SampleRequest const& request) {
    if (!request.weights.empty()) {
        std::error_code failed;
        job.config.model.init = fs::absolute(request.weights, failed).string();
    }
    job.plan.chosen.precision = "fp32";
    job.plan.chosen.recompute = job.plan.chosen.activation_store = "none";
    Notices notices;
    OSORA_TRY(auto const objective, make_objective(job, Device(), RankGroups{}, notices));
    return objective->parameters().all();
}

Result<std::vector<NamedTensor>> weights_of(SampleRequest const& request) {
    OSORA_TRY(auto weights, load_network_weights(request.weights));
    return std::move(weights.tensors);
}

}  // namespace

Result<CheckpointWeights> sample_weights(fs::path const& checkpoint, fs::path const& run,
                                         plan::WorkerJob const& job, SampleRequest const& request) {
    OSORA_TRY(auto const state, load_checkpoint_state(checkpoint));
    if (state.lora_rank == 0) {
        if (request.weights.empty()) return load_checkpoint_weights(checkpoint, request.ema);
        return Error{Errc::invalid_input, "--weights: " + checkpoint.string() +
                                              " has its own weights; it is for checkpoints "
                                              "that keep adapters alone"};
    }
    if (run.empty() && request.weights.empty()) {
        return Error{Errc::invalid_input, checkpoint.string() +
                                              ": it keeps LoRA adapters alone, and is not in the "
                                              "folder of its run: --weights FILE says what they "
                                              "were trained on"};
    }
    OSORA_TRY(auto const adapter,
              load_adapter(request.ema ? checkpoint / "ema.safetensors" : checkpoint));
    OSORA_TRY(auto weights, run.empty() ? weights_of(request) : job_weights(job, request));
    auto merged = merge_adapter(std::move(weights), adapter);
    if (merged.has_error()) return Error(merged.error()).in(checkpoint.string());
    return CheckpointWeights{state, std::move(*merged)};
}

}  // namespace osora::worker
