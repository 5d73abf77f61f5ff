// ZeRO stages and cut layers and tokens against one rank on the whole batch: losses, norms,
// weights, and the number and the size of collectives between replicas.
#include "tests/unit/worker/train/layout_training.hpp"

namespace osora::worker {
namespace {

class Sharding : public testing::TestWithParam<Layout> {};
class Counted : public testing::TestWithParam<Layout> {};

TEST_P(Sharding, EqualsOneRank) {
    Layout const layout = GetParam();
    Layout alone = layout;
    alone.attention = AttentionForm::exchange;
    alone.ranks = alone.sp = alone.tp = alone.pp = alone.virtual_stages = 1;
    if (layout.store == "none") alone.recompute = "none";  // else it rounds other tensors
    static std::map<std::string, Trained> references;
    std::string const key = layout.arch + std::to_string(layout.lora_rank) +
                            std::to_string(layout.image) + alone.recompute + layout.store +
                            std::to_string(layout.samples) + (layout.captions ? "c" : "") +
                            (layout.masks ? "m" : "");
    if (!references.contains(key)) references[key] = train(alone);
    Trained const& expected = references[key];
    Trained const& got = trained_in(layout);
    for (std::size_t i = 0; i < expected.losses.size(); ++i) {
        EXPECT_NEAR(got.losses[i], expected.losses[i], 1e-5 * expected.losses[i]) << i;
        EXPECT_NEAR(got.norms[i], expected.norms[i], 1e-5 * expected.norms[i]) << i;
    }
    EXPECT_NEAR(got.held_out, expected.held_out, 1e-5 * expected.held_out);
    expect_near(got.weights, expected.weights, 1e-5);
    expect_near(got.ema, expected.ema, 1e-5);
}

/// As many collectives as the bytes ask for, whatever the ranks and parameters.
TEST_P(Counted, CollectivesAsTheBytesAskFor) {
    Layout const layout = GetParam();
    auto const objective = objective_of(layout);
    double items = 0;  // each parameter begins at 64 bytes
    for (auto const& parameter : objective->parameters().trainable())
        items += std::ceil(static_cast<double>(parameter.numel()) / 16) * 16;
    double const bytes = items * 4;
    double const mib = layout.bucket_mib;
    std::int64_t const passes =
        std::max<std::int64_t>(1, layout.samples / layout.ranks / layout.micro_batch_size);
    Trained const& trained = trained_in(layout);
    auto const reduced = cost_of(trained, "gradients reduce_scatter");
    auto const gathered = cost_of(trained, "parameters all_gather");
    std::int64_t const per_step = layout.stage == 1 ? 1 : passes;
    if (layout.stage < 3) {
        auto const buckets = static_cast<std::int64_t>(std::ceil(bytes / (mib * 1048576)));
        EXPECT_EQ(reduced.calls, per_step * buckets);
        EXPECT_EQ(gathered.calls, buckets);
        EXPECT_NEAR(static_cast<double>(reduced.bytes), static_cast<double>(per_step) * bytes,
                    64 * 4);
        EXPECT_NEAR(static_cast<double>(gathered.bytes), bytes, 64 * 4);
    } else {
        // Whole units, at least as large as a bucket; all but the outer two are gathered twice,
        // and the first one's parameters stay for the next pass.
        std::int64_t const buckets = reduced.calls / passes;
        EXPECT_LE(buckets, static_cast<std::int64_t>(std::ceil(bytes / (mib * 1048576))) + 1);
        EXPECT_EQ(reduced.calls, buckets * passes);
        EXPECT_EQ(gathered.calls, 2 * buckets - 2 + (passes - 1) * (2 * buckets - 3));
    }
    EXPECT_EQ(cost_of(trained, "gradient norm").calls, 1);
    EXPECT_EQ(reduced.ranks, layout.shard > 0 ? layout.shard : layout.ranks);
    // Copies add their parts once a step, whatever the passes.
    auto const copied = cost_of(trained, "copied gradients all_reduce");
    if (layout.shard == 0) {
        EXPECT_EQ(copied.calls, 0);
    } else {
        EXPECT_EQ(copied.calls, reduced.calls / per_step);
        EXPECT_EQ(copied.ranks, layout.ranks / layout.shard);
        EXPECT_EQ(copied.bytes, reduced.bytes / per_step / layout.shard);
    }
}

/// Those with buckets of grad_bucket_mib over the whole network.
std::vector<Layout> counted_layouts() {
    auto all = layouts();
    std::erase_if(all, [](Layout const& layout) {
        return layout.collectives != "bucketed" || layout.lora_rank > 0 || layout.sp > 1 ||
               layout.tp > 1 || layout.pp > 1 || layout.store != "none";
    });
    return all;
}

auto const kShardingName = [](auto const& info) { return name_of(info.param); };
INSTANTIATE_TEST_SUITE_P(Layouts, Sharding, testing::ValuesIn(layouts()), kShardingName);
INSTANTIATE_TEST_SUITE_P(Layouts, Counted, testing::ValuesIn(counted_layouts()), kShardingName);

}  // namespace
}  // namespace osora::worker
