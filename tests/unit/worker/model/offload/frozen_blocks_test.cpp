// Frozen blocks of a small network: which bytes are on the device when, and that changed values in
// host memory reach the next pass.
#include "worker/model/offload/frozen_blocks.hpp"

#include "worker/memory/counted_allocator.hpp"
#include "worker/model/stdit/stdit3.hpp"
#include "worker/model/storage_bytes.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {
namespace {

constexpr std::size_t kBlocks = 6;  // spatial and temporal in turn: units 1 to 6

Stdit3Config six_blocks() {
    Stdit3Config config = stdit3_config("stdit3-tiny").value();
    config.depth = kBlocks / 2;
    return config;
}

class Blocks : public testing::Test {
protected:
    Blocks() : model_(six_blocks()) {
        model_.initialise(3);
        at::NoGradGuard const no_grad;
        auto const generator = at::make_generator<at::CPUGeneratorImpl>(7);
        for (NamedTensor const& each : model_.parameters().all())
            if (each.kind == TensorKind::trainable) each.tensor.normal_(0, 0.05, generator);
        input_.x = at::randn({1, 3, 2, 8, 8}, generator);
        input_.timestep = at::tensor({130.0F});
        input_.fps = at::tensor({24.0F});
        input_.height_px = input_.width_px = 8;
    }
    Parameters& parameters() { return model_.parameters(); }
    void freeze(std::string const& prefix) {
        parameters().freeze([&](std::string_view name) { return name.starts_with(prefix); });
    }
    at::Tensor forward() { return model_.forward(input_); }
    /// Numbers of the blocks' units that have frozen parameters with memory.
    std::vector<std::size_t> here() {
        std::vector<std::size_t> units;
        for (NamedTensor const& each : parameters().all()) {
            std::size_t const unit = parameters().unit_of(each);
            bool const in_block = unit > 0 && unit <= kBlocks;
            if (each.kind != TensorKind::frozen || !in_block || !has_memory(each.tensor)) continue;
            if (units.empty() || units.back() != unit) units.push_back(unit);
        }
        return units;
    }

    Stdit3 model_;
    Stdit3Input input_;
};

using Units = std::vector<std::size_t>;

TEST_F(Blocks, TheNextOneIsOnItsWayWhileOneRuns) {
    freeze("");
    FrozenBlocks blocks(parameters());
    EXPECT_EQ(here(), Units{});
    parameters().open_unit(0);
    EXPECT_EQ(here(), Units{});
    for (std::size_t unit = 1; unit < kBlocks; ++unit) {
        parameters().open_unit(unit);
        EXPECT_EQ(here(), (Units{unit, unit + 1}));
    }
    parameters().open_unit(kBlocks);
    EXPECT_EQ(here(), (Units{5, 6}));  // backward begins with both
    parameters().open_unit(kBlocks + 1);
    EXPECT_EQ(here(), (Units{5, 6}));
    parameters().open_unit(1);
    EXPECT_EQ(here(), (Units{1, 2}));
}

TEST_F(Blocks, BackwardEndsWithTheFirstTwo) {
    freeze("temporal_blocks.");
    FrozenBlocks const blocks(parameters());
    at::Tensor const out = forward();
    EXPECT_EQ(here(), (Units{4, 6}));
    out.square().sum().backward();
    EXPECT_EQ(here(), (Units{2, 4}));
}

TEST_F(Blocks, PassesReadWhatIsInHostMemory) {
    at::Tensor const before = forward().detach();
    freeze("spatial_blocks.0.");
    freeze("temporal_blocks.0.");  // two blocks, which stay on the device
    FrozenBlocks blocks(parameters());
    EXPECT_TRUE(at::equal(forward(), before));
    NamedTensor const* const weight = parameters().find("temporal_blocks.0.mlp.fc2.weight");
    parameters().home_of(*weight).mul_(2);
    EXPECT_TRUE(at::equal(forward(), before));
    blocks.forget_copies();
    EXPECT_FALSE(at::equal(forward(), before));
    parameters().home_of(*weight).div_(2);
    blocks.forget_copies();
    EXPECT_TRUE(at::equal(forward(), before));
}

TEST_F(Blocks, HostMemoryIsNotTheDevices) {
    auto& memory = CountedAllocator::install();
    std::int64_t frozen = 0;
    Stdit3 fresh(six_blocks());
    fresh.initialise(3);
    fresh.parameters().freeze(
        [](std::string_view name) { return name.starts_with("spatial_blocks."); });
    for (NamedTensor const& each : fresh.parameters().all())
        if (each.name.starts_with("spatial_blocks."))
            frozen += static_cast<std::int64_t>(each.tensor.nbytes());
    std::int64_t const before = memory.allocated_bytes();
    FrozenBlocks const blocks(fresh.parameters());
    EXPECT_LE(memory.allocated_bytes(), before - frozen);
    EXPECT_GE(blocks.host_bytes(), frozen);
    EXPECT_LE(blocks.host_bytes(), frozen + frozen / 20);
    EXPECT_EQ(3 * blocks.block_bytes(), blocks.host_bytes());
}

TEST(BlockCopier, CopiesOneAfterTheOther) {
    auto const copier = make_block_copier(at::kCPU);
    copier->finish();  // nothing is on the way
    at::Tensor const from = host_bytes(std::int64_t{3} << 20, at::kCPU);
    auto* const bytes = static_cast<std::uint8_t*>(from.mutable_data_ptr());
    std::iota(bytes, bytes + from.numel(), std::uint8_t{0});
    at::Tensor const to = at::zeros({from.numel() + 100}, at::kByte);
    for (int round = 0; round < 3; ++round) {
        bytes[0] = static_cast<std::uint8_t>(round);
        copier->start(to, from);
        copier->finish();
        EXPECT_TRUE(at::equal(to.narrow(0, 0, from.numel()), from)) << round;
    }
    EXPECT_EQ(to.narrow(0, from.numel(), 100).count_nonzero().item<int>(), 0);
}

}  // namespace
}  // namespace osora::worker
