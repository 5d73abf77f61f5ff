// Ranks that share a rehearsed network: for tensors without values (meta device) they exchange
// uninitialised ones of the same sizes.
#pragma once

#include "worker/model/pipeline_stage.hpp"
#include "worker/model/token_ranks.hpp"
#include "worker/parallel/pipeline_ranks.hpp"
#include "worker/parallel/sequence_ranks.hpp"

#include <c10/core/Device.h>

#include <functional>
#include <memory>
#include <utility>

namespace osora::worker {

struct Exchanging {
    c10::Device device = at::kCPU;
    bool counting = false;                 // nothing is exchanged
    std::function<void()> before = [] {};  // each exchange that happens
};

class RehearsedTokens final : public TokenRanks, public RingRanks {
public:
    /// `exchanging` must outlive it.
    RehearsedTokens(std::shared_ptr<SequenceRanks> ranks, Exchanging const& exchanging)
        : ranks_(std::move(ranks)), exchanging_(exchanging) {}

    [[nodiscard]] int size() const override { return ranks_->size(); }
    [[nodiscard]] int rank() const override { return ranks_->rank(); }
    [[nodiscard]] at::Tensor all_to_all(at::Tensor const& values,
                                        std::vector<std::int64_t> const& send,
                                        std::vector<std::int64_t> const& receive) override;
    [[nodiscard]] at::Tensor all_gather(at::Tensor const& own) override;
    [[nodiscard]] RingRanks* ring() override { return ranks_->ring() ? this : nullptr; }
    [[nodiscard]] std::unique_ptr<Passing> pass_on(at::Tensor const& values,
                                                   at::Tensor const& into) override;

private:
    std::shared_ptr<SequenceRanks> ranks_;
    Exchanging const& exchanging_;
};

class RehearsedStages final : public StageRanks {
public:
    /// `exchanging` must outlive it.
    RehearsedStages(std::shared_ptr<PipelineRanks> ranks, Exchanging const& exchanging)
        : ranks_(std::move(ranks)), exchanging_(exchanging) {}

    [[nodiscard]] int size() const override { return ranks_->size(); }
    [[nodiscard]] int rank() const override { return ranks_->rank(); }
    [[nodiscard]] int virtual_stages() const override { return ranks_->virtual_stages(); }
    [[nodiscard]] int virtual_stage() const override { return ranks_->virtual_stage(); }
    void send_forward(at::Tensor const& x) override { pass(x, &StageRanks::send_forward); }
    void receive_forward(at::Tensor const& into) override {
        pass(into, &StageRanks::receive_forward);
    }
    void send_backward(at::Tensor const& gradient) override {
        pass(gradient, &StageRanks::send_backward);
    }
    void receive_backward(at::Tensor const& into) override {
        pass(into, &StageRanks::receive_backward);
    }

private:
    using Message = void (StageRanks::*)(at::Tensor const&);
    void pass(at::Tensor const& like, Message message);

    std::shared_ptr<PipelineRanks> ranks_;
    Exchanging const& exchanging_;
};

}  // namespace osora::worker
