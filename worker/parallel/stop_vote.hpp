// Ranks must leave the loop after the same step. Each step carries a vote: an all_reduce of one
// number that starts before the forward pass and has long finished when the step ends, so it costs
// no waiting. The same numbers show whether the ranks do the same step. The training loop drives
// it: begin, ..., finish, once per step.
#pragma once

#include "base/result.hpp"
#include "protocol/steps/collectives.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/parallel/step_agreement.hpp"

#include <memory>
#include <optional>

namespace osora::worker {

/// Ordered by weight: the heaviest vote of any rank is the decision of all.
enum class Vote { go_on = 0, stop_without_checkpoint = 1, stop_with_checkpoint = 2 };

class StopVote {
public:
    /// Without a group this rank's vote decides.
    explicit StopVote(std::optional<Group> group);
    ~StopVote();
    StopVote(StopVote&&) noexcept;

    /// `clips.shares` must be the same on all ranks.
    void begin(Vote own, StepTerms const& terms = {}, SharedClips const& clips = {});
    /// The decision, the same on every rank; unreachable if a peer is gone or ranks of one share
    /// read other clips, invalid_input (with each rank's values) if they do not agree on the step.
    /// Repeated calls return the same.
    [[nodiscard]] Result<Vote> finish();

    /// What it cost, once it is finished; none without a group.
    [[nodiscard]] std::optional<protocol::CollectiveCost> cost() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace osora::worker
