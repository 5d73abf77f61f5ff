// TokenRanks over a process group, counted by class. Each collective is waited for, because the
// network needs its result; passes of a ring run while attention is computed.
#pragma once

#include "protocol/steps/collectives.hpp"
#include "worker/model/token_ranks.hpp"
#include "worker/parallel/collective_timer.hpp"
#include "worker/parallel/step_exchange.hpp"

#include <memory>
#include <string>
#include <vector>

namespace osora::worker {

/// How ranks that share tokens compute attention: exchange of tokens for heads, or a ring.
enum class AttentionForm { exchange, ring };

class SequenceRanks final : public TokenRanks, public RingRanks, public StepExchange {
public:
    /// `group`: the ranks that share samples, in the order of their runs of tokens. `what` they
    /// share is the prefix of its collectives' names.
    explicit SequenceRanks(Group group, std::string const& what = "tokens",
                           AttentionForm form = AttentionForm::exchange);

    [[nodiscard]] int size() const override { return group_.world_size(); }
    [[nodiscard]] int rank() const override { return group_.rank(); }
    [[nodiscard]] at::Tensor all_to_all(at::Tensor const& values,
                                        std::vector<std::int64_t> const& send,
                                        std::vector<std::int64_t> const& receive) override;
    [[nodiscard]] at::Tensor all_gather(at::Tensor const& own) override;
    [[nodiscard]] RingRanks* ring() override {
        return form_ == AttentionForm::ring ? this : nullptr;
    }
    [[nodiscard]] std::unique_ptr<Passing> pass_on(at::Tensor const& values,
                                                   at::Tensor const& into) override;

    void begin_step() override;
    [[nodiscard]] double waited_s() const override;
    [[nodiscard]] std::vector<protocol::CollectiveCost> costs() const override;

private:
    struct Class {
        CollectiveTimer timer;
        std::size_t calls = 0;
        double waited_s = 0;
    };
    void wait(Class& of, CollectiveTimer::Clock::time_point start,
              c10::intrusive_ptr<c10d::Work> const& work, std::int64_t bytes);

    class Pass;
    [[nodiscard]] bool on_gpu() const;

    Group group_;
    AttentionForm form_;
    Class exchanges_, gathers_, passes_;
};

}  // namespace osora::worker
