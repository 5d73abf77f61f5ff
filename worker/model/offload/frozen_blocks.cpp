// A parameter keeps its storage, so that graphs find its values there in backward; the storage
// uses a slot's memory while the block is on the device, and none otherwise.
#include "worker/model/offload/frozen_blocks.hpp"

#include "base/check.hpp"
#include "worker/model/parameters.hpp"
#include "worker/model/storage_bytes.hpp"

#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstddef>

namespace osora::worker {
namespace {

/// Alignment that vector instructions and cuBLAS want.
constexpr std::int64_t kAlignBytes = 256;

std::int64_t aligned(std::int64_t bytes) {
    return (bytes + kAlignBytes - 1) / kAlignBytes * kAlignBytes;
}

}  // namespace

FrozenBlocks::FrozenBlocks(Parameters& network)
    : network_(network), copier_(make_block_copier(network.options().device())) {
    collect();
    for (Block& each : blocks_) move_out(each);
    network_.add_gate(*this);
}

FrozenBlocks::~FrozenBlocks() {
    network_.remove_gate(*this);
    copier_->finish();
    for (Slot& each : slots_) drop(each);
}

void FrozenBlocks::collect() {
    std::size_t last = 0;
    for (NamedTensor const& each : network_.all()) last = std::max(last, network_.unit_of(each));
    for (NamedTensor const& each : network_.all()) {
        std::size_t const unit = network_.unit_of(each);
        bool const in_block = unit > 0 && unit < last;
        if (each.kind != TensorKind::frozen || !in_block || !network_.is_here(each)) continue;
        OSORA_CHECK(each.tensor.is_contiguous() && each.tensor.storage_offset() == 0);
        if (blocks_.empty() || blocks_.back().unit != unit)
            blocks_.push_back({.unit = unit, .pieces = {}, .bytes = 0, .host = {}});
        Block& block = blocks_.back();
        block.pieces.push_back({each, block.bytes});
        block.bytes += aligned(static_cast<std::int64_t>(each.tensor.nbytes()));
        block_bytes_ = std::max(block_bytes_, block.bytes);
    }
}

void FrozenBlocks::move_out(Block& block) {
    at::NoGradGuard const no_grad;
    block.host = worker::host_bytes(block.bytes, network_.options().device());
    for (Piece const& each : block.pieces) {
        at::Tensor const& parameter = each.parameter.tensor;
        at::Tensor const home =
            block.host.narrow(0, each.offset, static_cast<std::int64_t>(parameter.nbytes()))
                .view(parameter.scalar_type())
                .view(parameter.sizes());
        if (has_memory(parameter))
            home.copy_(parameter);
        else
            network_.write_values(parameter, home);
        network_.move_home(each.parameter, home);
        lend_storage(parameter, nullptr);
    }
}

std::int64_t FrozenBlocks::host_bytes() const {
    std::int64_t bytes = 0;
    for (Block const& each : blocks_) bytes += each.bytes;
    return bytes;
}

void FrozenBlocks::open(std::size_t unit) {
    reach(unit, false);
}

void FrozenBlocks::close(std::size_t unit, std::initializer_list<at::Tensor> outputs) {
    if (!std::ranges::binary_search(blocks_, unit, {}, &Block::unit)) return;
    for (at::Tensor const& output : outputs) {
        if (!output.requires_grad()) continue;
        output.register_hook([this, unit](at::Tensor const&) { reach(unit, true); });
    }
}

void FrozenBlocks::forget_copies() {
    copier_->finish();
    for (Slot& each : slots_) drop(each);
}

/// The unit is about to be computed: all that was before it, of this pass, is done or queued.
void FrozenBlocks::reach(std::size_t unit, bool backward) {
    auto const found = std::ranges::lower_bound(blocks_, unit, {}, &Block::unit);
    if (found == blocks_.end() || found->unit != unit) return;
    auto const block = static_cast<std::size_t>(found - blocks_.begin());
    std::size_t const next = next_of(block, backward);
    copier_->finish();
    if (!is_here(block)) {
        bring(block, next);
        copier_->finish();
    }
    if (!is_here(next)) bring(next, block);
}

/// The one that is computed after it. After the last one of a forward pass that is the one before
/// it, in backward; after the first one of a backward pass the second one, in forward.
std::size_t FrozenBlocks::next_of(std::size_t block, bool backward) const {
    if (blocks_.size() == 1) return block;
    if (backward) return block == 0 ? 1 : block - 1;
    return block + 1 == blocks_.size() ? block - 1 : block + 1;
}

bool FrozenBlocks::is_here(std::size_t block) const {
    return std::ranges::any_of(slots_, [&](Slot const& each) { return each.block == block; });
}

/// Starts to copy the block to a slot in which `keep` is not.
void FrozenBlocks::bring(std::size_t block, std::size_t keep) {
    Slot& slot = slots_[slots_[0].block == keep ? 1 : 0];
    if (!slot.memory.defined()) {
        slot.memory = at::empty({block_bytes_}, network_.options().dtype(at::kByte));
    }
    drop(slot);
    auto* const memory = static_cast<std::byte*>(slot.memory.mutable_data_ptr());
    for (Piece const& each : blocks_[block].pieces)
        lend_storage(each.parameter.tensor, memory + each.offset);
    slot.block = block;
    copier_->start(slot.memory, blocks_[block].host);
}

void FrozenBlocks::drop(Slot& slot) {
    if (!slot.block) return;
    for (Piece const& each : blocks_[*slot.block].pieces)
        lend_storage(each.parameter.tensor, nullptr);
    slot.block.reset();
}

}  // namespace osora::worker
