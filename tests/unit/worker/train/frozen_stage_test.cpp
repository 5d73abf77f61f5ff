// A pipeline whose first run of blocks has nothing to train, against one rank.
#include "tests/unit/worker/train/layout_training.hpp"

namespace osora::worker {
namespace {

/// Stage 0 has the embedders and the first and third of four blocks, stage 1 the others. Nothing in
/// the first run needs a gradient, and yet the next stage sends it one.
TEST(FrozenStage, AFirstRunWithoutTrainedWeightsTakesPartInBackward) {
    std::vector<std::string> const frozen{"x_embedder.",   "t_embedder.", "t_block.",
                                          "fps_embedder.", "y_embedder.", "spatial_blocks.0."};
    Layout const one{.ranks = 1, .stage = 0, .freeze = frozen};
    Layout const staged{.stage = 0, .pp = 2, .virtual_stages = 2, .freeze = frozen};
    Trained const expected = train(one), got = train(staged);
    ASSERT_EQ(got.norms.size(), expected.norms.size());
    for (std::size_t i = 0; i < expected.norms.size(); ++i)
        EXPECT_NEAR(got.norms[i], expected.norms[i], 1e-4 * expected.norms[i]) << i;
    EXPECT_NEAR(got.held_out, expected.held_out, 1e-4 * expected.held_out);
    EXPECT_FALSE(expected.moments.empty());
    expect_near(got.moments, expected.moments, 1e-3);
    expect_near(got.weights, expected.weights, 1e-4);
}

}  // namespace
}  // namespace osora::worker
