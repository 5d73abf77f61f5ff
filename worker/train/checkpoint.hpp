// Checkpoints: a folder step-NNNNNNNN of safetensors files by parameter name and a state.json.
// A folder under that name is complete: it is written under another name, synced and renamed.
// Rank 0 writes; every rank reads. A failed save leaves the older checkpoints as they were.
#pragma once

#include "base/result.hpp"
#include "worker/model/parameters.hpp"
#include "worker/train/adaptive_clip.hpp"
#include "worker/train/loss_scale.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::worker {

/// What is not a tensor. Training that resumes from it repeats nothing and skips nothing.
struct CheckpointState {
    int version = 1;
    std::string run_uuid;
    int step = 0;  // the next step to do
    std::int64_t seed = 0;
    std::int64_t optimizer_steps = 0;  // less than step when steps were skipped (NaN)
    std::uint64_t schedule_hash = 0;   // of buckets, batches and clips: must be the same to resume
    std::string arch;
    std::int64_t trainable = 0;  // numbers
    std::string torch_version;
    NormHistory grad_norms;  // of optim.grad_clip = "adaptive"
    LossScale loss_scale;    // of fp16
    int lora_rank = 0;
    double lora_alpha = 0;
    std::vector<std::string> files;  // of tensors; none listed: the first four, without adapters
};
BOOST_DESCRIBE_STRUCT(CheckpointState, (),
                      (version, run_uuid, step, seed, optimizer_steps, schedule_hash, arch,
                       trainable, torch_version, grad_norms, loss_scale, lora_rank, lora_alpha,
                       files))

/// The tensors of a checkpoint, a file each; names as in the state dict. An empty list has no file.
struct CheckpointTensors {
    std::vector<NamedTensor> model;    // all, in the type of the model; with adapters: none
    std::vector<NamedTensor> adapter;  // under peft's names (worker/model/merge_adapter.hpp)
    std::vector<NamedTensor> master;   // fp32, of what is trained; empty where the model is fp32
    std::vector<NamedTensor> ema, exp_avg, exp_avg_sq;
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
/// corrupt or not_found names the file that does not read.
[[nodiscard]] Result<LoadedCheckpoint> load_checkpoint(std::filesystem::path const& path);

}  // namespace osora::worker
