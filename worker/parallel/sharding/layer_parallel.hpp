// Data parallelism of a network whose layers are shared (tensor and pipeline parallel): gradients
// are summed over the ranks that have the same parts: slices of linear layers, blocks of a stage,
// and what every rank has. Each of the three has a separate engine and collectives.
#pragma once

#include "worker/model/token_ranks.hpp"
#include "worker/model/unit_gate.hpp"
#include "worker/parallel/sharding/data_parallel.hpp"

#include <array>

namespace osora::worker {

class LayerParallel final : public DataParallel, public UnitGate {
public:
    /// `groups`: with a network. `parameters` must outlive it.
    LayerParallel(Parameters& parameters, RankGroups groups, DataParallelOptions const& options);
    ~LayerParallel() override;
    LayerParallel(LayerParallel const&) = delete;
    LayerParallel& operator=(LayerParallel const&) = delete;

    [[nodiscard]] std::vector<ParameterPiece> const& pieces() const override { return pieces_; }
    [[nodiscard]] bool is_sharded() const override { return true; }
    void begin_step() override;
    void begin(BackwardPass const& pass) override;
    [[nodiscard]] Result<void> finish() override;
    [[nodiscard]] Result<void> abandon() override;
    [[nodiscard]] at::Tensor norm() override;
    double publish() override;
    [[nodiscard]] double waited_s() const override;
    [[nodiscard]] std::vector<protocol::CollectiveCost> costs(double exposed_s) const override;

    void open(std::size_t unit) override;
    void close(std::size_t unit, std::initializer_list<at::Tensor> outputs) override;

private:
    enum Part { kCommon, kStage, kSlices };
    struct Engine {
        std::unique_ptr<DataParallel> ranks;  // null: nothing of this kind is trained
        UnitGate* gate = nullptr;             // of `ranks`, where it is one
    };
    [[nodiscard]] static Part part_of(Parameters const& parameters, NamedTensor const& own);
    [[nodiscard]] Engine engine_of(Part part, std::optional<Group> const& group,
                                   DataParallelOptions options);
    /// Of the gradients of one part, 0-d fp64.
    [[nodiscard]] at::Tensor square_of(Part part);

    Parameters& network_;
    std::shared_ptr<TokenRanks> ranks_;  // of the network
    bool counts_stage_ = true;           // of the ranks that share its linear layers the first
    std::array<Engine, 3> engines_;
    std::vector<ParameterPiece> pieces_;
};

}  // namespace osora::worker
