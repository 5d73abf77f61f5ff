// Training with frozen blocks in host memory against the same with all of them on the device:
// losses, gradients, weights, checkpoints; bytes on the device against the model's sizes.
#include "plan/model/model_description.hpp"
#include "tests/unit/worker/train/layout_training.hpp"
#include "worker/memory/counted_allocator.hpp"

#include <unistd.h>

#include <algorithm>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> const kMmditFrozen{"double_blocks.", "single_blocks.0."};

Layout offloaded(Layout layout) {
    layout.offload = true;
    return layout;
}

void expect_equal(Weights const& got, Weights const& expected) {
    expect_near(got, expected, 0);
    for (auto const& [name, values] : expected)
        EXPECT_TRUE(at::equal(got.at(name), values)) << name;
}

void expect_equal(Trained const& got, Trained const& expected) {
    EXPECT_EQ(got.losses, expected.losses);
    EXPECT_EQ(got.norms, expected.norms);
    EXPECT_EQ(got.held_out, expected.held_out);
    expect_equal(got.weights, expected.weights);
    expect_equal(got.moments, expected.moments);
    expect_equal(got.ema, expected.ema);
}

class FrozenOffload : public testing::TestWithParam<Layout> {};

TEST_P(FrozenOffload, ChangesNothing) {
    Course const three{.first = 0, .last = 3};
    Trained const expected = train(GetParam(), three);
    EXPECT_FALSE(expected.moments.empty());
    EXPECT_GT(expected.norms.back(), 0);
    expect_equal(train(offloaded(GetParam()), three), expected);
}

std::vector<Layout> frozen_layouts() {
    std::vector<Layout> all;
    for (char const* recompute : {"none", "full"}) {
        for (int const ranks : {1, 2}) {
            all.push_back({.ranks = ranks, .stage = 0, .lora_rank = 4, .recompute = recompute});
            all.push_back({.arch = "mmdit-tiny",
                           .ranks = ranks,
                           .stage = 0,
                           .recompute = recompute,
                           .freeze = kMmditFrozen});
        }
    }
    for (int const stage : {1, 2, 3}) all.push_back({.stage = stage, .lora_rank = 4});
    all.push_back({.arch = "mmdit-tiny", .stage = 3, .freeze = kMmditFrozen});
    all.push_back({.stage = 3, .captions = true, .freeze = {"spatial_blocks."}});
    all.push_back({.arch = "stdit2-tiny", .ranks = 1, .stage = 0, .lora_rank = 4});
    all.push_back({.ranks = 1, .stage = 0, .lora_rank = 4, .store = "bf16"});
    all.push_back({.ranks = 1, .stage = 0, .lora_rank = 4, .recompute = "selective"});
    all.push_back({.stage = 0, .lora_rank = 4, .sp = 2});
    all.push_back({.arch = "mmdit-tiny", .stage = 1, .tp = 2, .freeze = kMmditFrozen});
    return all;
}

auto const kName = [](auto const& info) { return name_of(info.param); };
INSTANTIATE_TEST_SUITE_P(Layouts, FrozenOffload, testing::ValuesIn(frozen_layouts()), kName);

/// From a checkpoint in which the frozen blocks have other values than at first, with or without
/// offloading; and what such a run saves has them.
TEST(FrozenOffloadCheckpoint, ContinuesWithAndWithout) {
    fs::path const folder =
        fs::temp_directory_path() / ("osora offload " + std::to_string(getpid()));
    Layout const whole{.arch = "mmdit-tiny", .ranks = 1, .stage = 0};
    Layout frozen = whole;
    frozen.freeze = kMmditFrozen;
    train(whole, {.last = 3, .save_to = folder});
    Course const on{.first = 3, .last = 5, .from = folder / "step-00000003"};
    Trained const expected = train(frozen, on);
    Course saves = on;
    saves.last = 4;
    saves.save_to = folder / "frozen";
    train(offloaded(frozen), saves);
    auto const saved = load_checkpoint(saves.save_to / "step-00000004").value();
    auto const first = load_checkpoint(on.from).value();
    for (NamedTensor const& each : saved.tensors.model) {
        if (!each.name.starts_with("double_blocks.")) continue;
        auto const before = std::ranges::find(first.tensors.model, each.name, &NamedTensor::name);
        EXPECT_TRUE(at::equal(each.tensor, before->tensor)) << each.name;
    }
    Course const last{.first = 4, .last = 5, .from = saves.save_to / "step-00000004"};
    for (Layout const& layout : {frozen, offloaded(frozen)}) {
        Trained const got = train(layout, last);
        EXPECT_EQ(got.losses[0], expected.losses[1]);
        expect_equal(got.weights, expected.weights);
    }
    expect_equal(train(offloaded(frozen), on), expected);
    fs::remove_all(folder);
}

struct Peaks {
    double plain = 0, offloaded = 0;  // bytes
};

/// Of a step.
Peaks peaks_of(Layout const& layout) {
    auto& memory = CountedAllocator::install();
    auto const of = [&](Layout const& each) {
        std::int64_t const before = memory.allocated_bytes();
        Trainer trainer(job_of(each), objective_of(each), {});
        std::vector<std::uint8_t> pixels(16 * 16 * 3, 90);
        StepInput input;
        input.pixels = pixels;
        input.samples = input.frames = 1;
        input.height = input.width = 16;
        input.identities.push_back({.id = 1, .epoch = 0, .fps = 8});
        trainer.step(input).value();
        memory.reset_peak();
        trainer.step(input).value();
        return static_cast<double>(memory.peak_bytes() - before);
    };
    static_cast<void>(of(layout));  // fills caches
    return {of(layout), of(offloaded(layout))};
}

/// Of a block of this network: what one more adds to the model.
std::int64_t block_bytes(plan::ModelShape shape, bool single) {
    std::int64_t const before = plan::parameter_count(shape).parameters;
    (single ? shape.single_depth : shape.depth) += 1;
    std::int64_t const bytes = 4 * (plan::parameter_count(shape).parameters - before);
    return shape.family == plan::ModelFamily::stdit3 ? bytes / 2 : bytes;  // blocks in pairs
}

TEST(FrozenOffloadBytes, TwoBlocksAreOnTheDevice) {
    auto const stdit3 = plan::model_shape("stdit3-tiny").value();
    auto const mmdit = plan::model_shape("mmdit-tiny").value();
    std::int64_t const block = block_bytes(stdit3, false);
    std::int64_t const dual = block_bytes(mmdit, false), single = block_bytes(mmdit, true);
    Peaks const lora = peaks_of({.ranks = 1, .stage = 0, .lora_rank = 4});
    Peaks const freeze =
        peaks_of({.arch = "mmdit-tiny", .ranks = 1, .stage = 0, .freeze = kMmditFrozen});
    // malloc and alignment round each tensor up.
    constexpr double kSlack = 0.02;
    double const all = static_cast<double>(2 * stdit3.depth * block);
    double const kept = lora.offloaded - (lora.plain - all);
    EXPECT_NEAR(kept / static_cast<double>(block), 2, kSlack);
    double const frozen = static_cast<double>(2 * dual + single);
    double const kept_duals = freeze.offloaded - (freeze.plain - frozen);
    EXPECT_NEAR(kept_duals / static_cast<double>(dual), 2, kSlack);
}

}  // namespace
}  // namespace osora::worker
