// Saves checkpoints on a separate thread, one at a time, while training continues. The training
// loop starts a save and collects its outcome at a later step.
#pragma once

#include "worker/train/checkpoint.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>

namespace osora::worker {

class CheckpointWriter {
public:
    /// `peers`: ranks that write with this one, or null; they must outlive it.
    CheckpointWriter(std::filesystem::path folder, int keep, CheckpointPeers* peers = nullptr)
        : folder_(std::move(folder)), keep_(keep), peers_(peers) {}

    struct Outcome {
        int step = 0;
        Result<SavedCheckpoint> saved;
    };

    /// Copies `live` and starts to write. The outcome of the last save must have been collected.
    void start(CheckpointState state, CheckpointParts const& live);
    /// The outcome of a save that finished since the last call.
    [[nodiscard]] std::optional<Outcome> poll();
    /// Waits for the save in progress, if there is one.
    [[nodiscard]] std::optional<Outcome> wait();
    /// Whether it ends within `patience`; true if there is none.
    [[nodiscard]] bool ends_within(std::chrono::milliseconds patience) const;
    /// Whether something was written since the last call, or other ranks still write.
    [[nodiscard]] bool has_advanced();
    /// Waits until the save ends (true), or has not advanced for `patience`; calls `sign` now and
    /// then.
    [[nodiscard]] bool ends_unless_stuck(std::chrono::milliseconds patience,
                                         std::function<void()> const& sign);

private:
    std::filesystem::path folder_;
    int keep_;
    CheckpointPeers* peers_;
    int step_ = 0;
    std::shared_ptr<SaveProgress> progress_;
    std::int64_t bytes_seen_ = 0;
    std::future<Result<SavedCheckpoint>> writing_;
};

}  // namespace osora::worker
