// Checkpoints: a folder step-NNNNNNNN of safetensors files by parameter name and a state.json.
// A folder under that name is complete: it is written under another name, synced and renamed.
// Rank 0 writes; every rank reads. A failed save leaves the older checkpoints as they were.
#pragma once

#include "base/result.hpp"
#include "plan/config/model_section.hpp"
#include "worker/model/parameters.hpp"
#include "worker/train/adaptive_clip.hpp"
#include "worker/train/loss_scale.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace osora::worker {

/// What the network was trained on, for whoever samples from it.
struct TrainedOn {
    int height = 0, width = 0;  // pixels, of the run's first bucket; 0: an older checkpoint
    int num_frames = 0;
    double fps = 0;               // of the first clip; 0: unknown
    bool timestep_shift = false;  // train.timestep_shift, auto resolved
};
BOOST_DESCRIBE_STRUCT(TrainedOn, (), (height, width, num_frames, fps, timestep_shift))

/// What is not a tensor. Training that resumes from it repeats nothing and skips nothing.
struct CheckpointState {
    int version = 1;
    std::string run_uuid;
    int step = 0;  // the next step to do
    std::int64_t seed = 0;
    std::int64_t optimizer_steps = 0;  // less than step when steps were skipped (NaN)
    std::uint64_t schedule_hash = 0;   // of buckets, batches and clips: must be the same to resume
    std::string arch;
    plan::ModelSection model;  // its sizes; 0 as in the run file
    TrainedOn trained_on;
    std::int64_t trainable = 0;  // numbers
    std::string torch_version;
    NormHistory grad_norms;  // of optim.grad_clip = "adaptive"
    LossScale loss_scale;    // of fp16
    int lora_rank = 0;
    double lora_alpha = 0;
    std::map<std::string, double> figures;  // of the objective, at the last step
    std::vector<std::string> files;  // of tensors; none listed: the first four, without adapters
};
BOOST_DESCRIBE_STRUCT(CheckpointState, (),
                      (version, run_uuid, step, seed, optimizer_steps, schedule_hash, arch, model,
                       trained_on, trainable, torch_version, grad_norms, loss_scale, lora_rank,
                       lora_alpha, figures, files))

/// The tensors of a checkpoint, a file each; names as in the state dict. An empty list has no file.
struct CheckpointTensors {
    std::vector<NamedTensor> model;    // all, in the type of the model; with adapters: none
    std::vector<NamedTensor> adapter;  // under peft's names (worker/model/merge_adapter.hpp)
    std::vector<NamedTensor> master;   // fp32, of what is trained; empty where the model is fp32
    std::vector<NamedTensor> ema, exp_avg, exp_avg_sq;
    std::vector<NamedTensor> objective;  // what the objective keeps beside the network; often none
};
/// Copies, so that training may go on while they are written.
[[nodiscard]] CheckpointTensors snapshot(CheckpointTensors const& live);

struct SavedCheckpoint {
    std::filesystem::path path;
    double seconds = 0;
    std::int64_t bytes = 0;
};

/// Writes `folder`/step-NNNNNNNN and removes the oldest ones beyond `keep` (>= 1). Saving a step
/// that is there already changes nothing.
[[nodiscard]] Result<SavedCheckpoint> save_checkpoint(std::filesystem::path const& folder,
                                                      CheckpointState const& state,
                                                      CheckpointTensors const& tensors, int keep);

/// Complete checkpoints in `folder`, newest first; empty when there is no such folder.
[[nodiscard]] std::vector<std::filesystem::path> list_checkpoints(
    std::filesystem::path const& folder);

struct LoadedCheckpoint {
    CheckpointState state;
    CheckpointTensors tensors;
};
/// The network alone: state and weights, `averaged`: with the moving average in place of those that
/// are trained. Errors as load_checkpoint().
struct CheckpointWeights {
    CheckpointState state;
    std::vector<NamedTensor> tensors;
};
[[nodiscard]] Result<CheckpointWeights> load_checkpoint_weights(std::filesystem::path const& path,
                                                                bool averaged);

/// corrupt or not_found names the file that does not read.
[[nodiscard]] Result<LoadedCheckpoint> load_checkpoint(std::filesystem::path const& path);

}  // namespace osora::worker
