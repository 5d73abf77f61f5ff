// Checkpoints: a folder step-NNNNNNNN of safetensors files by parameter name and a state.json. A
// folder with that name is complete: it is written under another name, synced and renamed. Rank 0
// writes, or all ranks their parts of the same files; every rank reads. A failed save leaves the
// older checkpoints unchanged.
#pragma once

#include "base/result.hpp"
#include "plan/config/sections/model_section.hpp"
#include "worker/model/parameters.hpp"
#include "worker/model/tensor_parts.hpp"
#include "worker/train/adaptive_clip.hpp"
#include "worker/train/loss_scale.hpp"

#include <boost/describe.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace osora::worker {

/// How the network was trained, for sampling from it.
struct TrainedOn {
    int height = 0, width = 0;  // pixels, of the run's first bucket; 0: an older checkpoint
    int num_frames = 0;
    double fps = 0;               // of the first clip; 0: unknown
    bool timestep_shift = false;  // train.timestep_shift, auto resolved
};
BOOST_DESCRIBE_STRUCT(TrainedOn, (), (height, width, num_frames, fps, timestep_shift))

/// State other than tensors. Training that resumes from it repeats nothing and skips nothing.
struct CheckpointState {
    int version = 1;
    std::string run_uuid;
    int step = 0;  // the next step to do
    std::int64_t seed = 0;
    std::int64_t optimizer_steps = 0;  // less than step when steps were skipped (NaN)
    std::uint64_t schedule_hash = 0;   // of buckets, batches and clips: must be the same to resume
    std::vector<double> keep_probs;    // of the buckets, likewise; empty: cached latents, or older
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
                      (version, run_uuid, step, seed, optimizer_steps, schedule_hash, keep_probs,
                       arch, model, trained_on, trainable, torch_version, grad_norms, loss_scale,
                       lora_rank, lora_alpha, figures, files))

/// The tensors of a checkpoint, a file each; names as in the state dict. An empty list has no file.
template <class Tensor>
struct CheckpointFiles {
    std::vector<Tensor> model;    // all, in the type of the model; with adapters: none
    std::vector<Tensor> adapter;  // under peft's names (worker/model/weights/merge_adapter.hpp)
    std::vector<Tensor> master;   // fp32, of what is trained; empty where the model is fp32
    std::vector<Tensor> ema, exp_avg, exp_avg_sq;
    std::vector<Tensor> objective;  // the objective's tensors besides the network; often none
};
using CheckpointTensors = CheckpointFiles<NamedTensor>;  // as read
/// This rank's parts of them. Every rank lists all tensors of all files, in the same order.
using CheckpointParts = CheckpointFiles<TensorParts>;

/// Copies, so that training may continue while they are written.
[[nodiscard]] CheckpointParts snapshot(CheckpointParts const& live);

/// The ranks that write a checkpoint together.
class CheckpointPeers {
public:
    virtual ~CheckpointPeers() = default;
    [[nodiscard]] virtual int rank() const = 0;
    /// The same on all of them, and different in each launch of the run.
    [[nodiscard]] virtual std::string tag() const = 0;
    /// Rank > 0: reports that this rank's parts of `step` are written, or why not.
    [[nodiscard]] virtual Result<void> share(int step, Result<void> const& written) = 0;
    /// Rank 0: waits until all others have reported; the first of their errors.
    [[nodiscard]] virtual Result<void> wait_for_all(int step) = 0;
};

/// How far a save has come; other threads may look.
struct SaveProgress {
    std::atomic<std::int64_t> bytes = 0;         // written by this rank
    std::atomic<bool> waits_for_others = false;  // for ranks that still write
};
/// Neither need be there.
struct SaveWith {
    CheckpointPeers* peers = nullptr;  // that write with this rank
    SaveProgress* progress = nullptr;
};

struct SavedCheckpoint {
    std::filesystem::path path;
    double seconds = 0;
    std::int64_t bytes = 0;
};

/// Writes `folder`/step-NNNNNNNN and removes the oldest ones beyond `keep` (>= 1) that can be read.
/// A step that is there already is left as it is if it can be read, else replaced. With peers all
/// ranks must call it; on rank 0 it returns when the checkpoint is complete, on the others when
/// their parts are written.
[[nodiscard]] Result<SavedCheckpoint> save_checkpoint(std::filesystem::path const& folder,
                                                      CheckpointState const& state,
                                                      CheckpointParts const& tensors, int keep,
                                                      SaveWith with = {});

/// In place of save_checkpoint() on a rank that has nothing to write: the others hear `why`, which
/// is returned.
[[nodiscard]] Error abandon_checkpoint(std::filesystem::path const& folder, int step, Error why,
                                       SaveWith with);

/// Complete checkpoints in `folder`, newest first; empty when there is no such folder.
[[nodiscard]] std::vector<std::filesystem::path> list_checkpoints(
    std::filesystem::path const& folder);
/// The same; io: the folder is there and cannot be read.
[[nodiscard]] Result<std::vector<std::filesystem::path>> read_checkpoints(
    std::filesystem::path const& folder);

struct LoadedCheckpoint {
    CheckpointState state;
    CheckpointTensors tensors;
};
[[nodiscard]] Result<CheckpointState> load_checkpoint_state(std::filesystem::path const& path);

/// Only the network: state and weights; `averaged`: with the moving average instead of the trained
/// weights. Errors as load_checkpoint().
struct CheckpointWeights {
    CheckpointState state;
    std::vector<NamedTensor> tensors;
};
[[nodiscard]] Result<CheckpointWeights> load_checkpoint_weights(std::filesystem::path const& path,
                                                                bool averaged);

/// corrupt, not_found or io names the file that cannot be read; io: the file system failed, and a
/// later try may read it.
[[nodiscard]] Result<LoadedCheckpoint> load_checkpoint(std::filesystem::path const& path);

}  // namespace osora::worker
