// Ranks that write a checkpoint together report completion to each other through the run's store.
// Used from the writing thread.
#pragma once

#include "worker/jobs/rank_environment.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/train/checkpoint.hpp"

#include <atomic>
#include <string>

namespace osora::worker {

class StoreCheckpointPeers final : public CheckpointPeers {
public:
    StoreCheckpointPeers(Group group, RankEnvironment const& self);

    [[nodiscard]] int rank() const override { return self_.rank; }
    [[nodiscard]] std::string tag() const override;
    [[nodiscard]] Result<void> share(int step, Result<void> const& written) override;
    /// unreachable if the store is gone, or after give_up(): nobody waits for a rank that has died.
    [[nodiscard]] Result<void> wait_for_all(int step) override;

    /// Ends wait_for_all(), now and later. Callable from any thread.
    void give_up() { given_up_ = true; }

private:
    [[nodiscard]] std::string key(int step, int rank) const;

    Group group_;
    RankEnvironment const& self_;
    std::atomic<bool> given_up_ = false;
};

}  // namespace osora::worker
