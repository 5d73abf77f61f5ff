// Frozen parameters of a network's blocks in host memory: each block's are copied to the device for
// its forward and for its backward pass, and never back. The network announces its units
// (unit_gate.hpp); the next block's are copied while one runs, so two blocks' are on the device.
#pragma once

#include "worker/model/named_tensor.hpp"
#include "worker/model/offload/block_copier.hpp"
#include "worker/model/unit_gate.hpp"

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

namespace osora::worker {

class Parameters;

class FrozenBlocks final : public UnitGate {
public:
    /// Moves the frozen parameters of all units but the first and the last to host memory, without
    /// giving memory on the device to those that have none. `network` must outlive it; passes read
    /// its parameters only while it lives.
    explicit FrozenBlocks(Parameters& network);
    ~FrozenBlocks() override;
    FrozenBlocks(FrozenBlocks const&) = delete;
    FrozenBlocks& operator=(FrozenBlocks const&) = delete;

    void open(std::size_t unit) override;
    void close(std::size_t unit, std::initializer_list<at::Tensor> outputs) override;

    /// After values in host memory (Parameters::home_of) have changed.
    void forget_copies();

    /// Of all blocks, and of the largest one.
    [[nodiscard]] std::int64_t host_bytes() const;
    [[nodiscard]] std::int64_t block_bytes() const { return block_bytes_; }

private:
    struct Piece {
        NamedTensor parameter;
        std::int64_t offset = 0;  // in its block's bytes
    };
    /// A unit with frozen parameters.
    struct Block {
        std::size_t unit = 0;
        std::vector<Piece> pieces;
        std::int64_t bytes = 0;
        at::Tensor host;  // (bytes)
    };
    /// Memory on the device, from the first pass on.
    struct Slot {
        at::Tensor memory;                 // (block_bytes_)
        std::optional<std::size_t> block;  // that is in it, or on its way
    };

    void collect();
    void move_out(Block& block);
    void reach(std::size_t unit, bool backward);
    [[nodiscard]] std::size_t next_of(std::size_t block, bool backward) const;
    [[nodiscard]] bool is_here(std::size_t block) const;
    void bring(std::size_t block, std::size_t keep);
    void drop(Slot& slot);

    Parameters& network_;
    std::vector<Block> blocks_;  // in the order of a forward pass
    std::int64_t block_bytes_ = 0;
    std::array<Slot, 2> slots_;
    std::unique_ptr<BlockCopier> copier_;
};

}  // namespace osora::worker
