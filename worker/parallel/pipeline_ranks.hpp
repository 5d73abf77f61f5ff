// StageRanks over process groups: one for each direction, and two more between the last stage and
// the first where these talk, as NCCL's calls between two ranks of one group wait for each other.
#pragma once

#include "worker/model/pipeline_stage.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/parallel/step_exchange.hpp"

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>

namespace osora::worker {

class PipelineRanks final : public StageRanks, public StepExchange {
public:
    /// A direction's groups, each the stages in their order.
    struct Direction {
        Group neighbours;
        std::optional<Group> ends = {};  // for the last and the first stage; needed with runs
    };
    PipelineRanks(Direction forward, Direction backward, int virtual_stages, bool eager = false);

    [[nodiscard]] int size() const override { return forward_.groups.neighbours.world_size(); }
    [[nodiscard]] int rank() const override { return forward_.groups.neighbours.rank(); }
    [[nodiscard]] int virtual_stages() const override { return virtual_stages_; }
    [[nodiscard]] int virtual_stage() const override { return virtual_stage_; }
    /// Stages are more passes ahead than 1F1B (train/pass_order).
    [[nodiscard]] bool is_eager() const { return eager_; }
    /// The one of the next forward pass.
    void enter(int virtual_stage) { virtual_stage_ = virtual_stage; }
    void send_forward(at::Tensor const& x) override;
    void receive_forward(at::Tensor const& into) override;
    void send_backward(at::Tensor const& gradient) override;
    void receive_backward(at::Tensor const& into) override;

    void begin_step() override;
    /// Waits until the peers receive what was sent, and keeps it no longer: a group that ends with
    /// a send in progress breaks its peer's receive. For forward passes without backward.
    void finish_sends();
    [[nodiscard]] std::size_t unfinished_sends() const {
        return forward_.sent.size() + backward_.sent.size();
    }
    [[nodiscard]] double waited_s() const override;
    [[nodiscard]] std::vector<protocol::CollectiveCost> costs() const override;

private:
    struct Sending {
        c10::intrusive_ptr<c10d::Work> work;
        at::Tensor values;
    };
    struct Way {
        Direction groups;
        std::deque<Sending> sent = {};
        [[nodiscard]] Group const& between(int one, int other) const;
    };
    /// To or from the stage `step` behind this one.
    void send(Way& way, at::Tensor const& values, int step);
    void receive(Way& way, at::Tensor const& into, int step);
    [[nodiscard]] int stage_at(int step) const { return (rank() + step + size()) % size(); }

    Way forward_, backward_;
    int virtual_stages_, virtual_stage_ = 0;
    bool eager_;
    std::int64_t calls_ = 0, bytes_ = 0;
    double waited_s_ = 0;
};

}  // namespace osora::worker
