// Ranks must leave the loop after the same step. Each step carries a vote: an all_reduce of one
// number that starts before the forward pass and has long arrived when the step ends, so it costs
// no wait of its own. The same numbers tell whether the ranks do the same step. The training loop
// drives it: begin, ..., finish, once a step.
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
    /// Without a group the own vote decides.
    explicit StopVote(std::optional<Group> group);
    ~StopVote();
    StopVote(StopVote&&) noexcept;

    void begin(Vote own, StepTerms const& terms = {});
    /// The decision, the same on every rank; unreachable when a peer is gone, invalid_input (with
    /// what each rank brought) when they do not agree on the step. Called again, it says the same.
    [[nodiscard]] Result<Vote> finish();

    /// What it cost, once it is finished; none without a group.
    [[nodiscard]] std::optional<protocol::CollectiveCost> cost() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace osora::worker
