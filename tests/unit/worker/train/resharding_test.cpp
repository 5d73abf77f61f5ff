// Checkpoints from which any other layout continues.
#include "tests/unit/worker/train/layout_training.hpp"

#include <unistd.h>

#include <iterator>

namespace osora::worker {
namespace {

/// Files of a checkpoint that four ranks wrote together equal those of one rank, and any layout
/// continues from them.
class Resharding : public testing::TestWithParam<Layout> {};

TEST_P(Resharding, AnyLayoutContinues) {
    namespace fs = std::filesystem;
    Layout const four = GetParam();
    fs::path const folder =
        fs::temp_directory_path() / ("osora reshard " + name_of(four) + std::to_string(getpid()));
    Trained const saved = train(four, {.last = 2, .save_to = folder});
    fs::path const checkpoint = folder / "step-00000002";
    ASSERT_TRUE(fs::exists(checkpoint / "state.json"));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);  // nothing half written
    auto const loaded = load_checkpoint(checkpoint).value();
    Weights read;
    for (NamedTensor const& each : loaded.tensors.model) read[each.name] = each.tensor.reshape(-1);
    expect_near(read, saved.weights, 0);
    Course const on{.first = 2, .last = 4, .from = checkpoint};
    Trained const expected = train(four, on);
    std::vector<Layout> const next{Layout{.ranks = 1, .stage = 0},
                                   Layout{.ranks = 2, .stage = 0},
                                   Layout{.ranks = 2, .stage = 1},
                                   Layout{.ranks = 2, .stage = 3},
                                   Layout{.ranks = 4, .stage = 3, .bucket_mib = 2},
                                   Layout{.ranks = 4, .stage = 1, .shard = 2},
                                   Layout{.ranks = 2, .stage = 1, .tp = 2},
                                   Layout{.ranks = 4, .stage = 3, .sp = 2, .tp = 2},
                                   Layout{.ranks = 4, .stage = 2, .pp = 2},
                                   Layout{.ranks = 2, .stage = 1, .pp = 2, .run_ends = {3, 4}}};
    // Else every fifth one, other ones for the next layout that has saved.
    std::size_t const every = all_layouts() ? 1 : 5;
    static std::size_t saved_layouts = 0;
    for (std::size_t k = saved_layouts++ % every; k < next.size(); k += every) {
        Layout const& layout = next[k];
        SCOPED_TRACE(name_of(layout));
        Trained const got = train(layout, on);
        for (std::size_t i = 0; i < got.losses.size(); ++i)
            EXPECT_NEAR(got.losses[i], expected.losses[i], 1e-6 * expected.losses[i]) << i;
        expect_near(got.weights, expected.weights, 1e-5);
        expect_near(got.ema, expected.ema, 1e-5);
    }
    fs::remove_all(folder);
}

/// Eight ranks, one, and three, which do not divide evenly: each continues from the one before.
TEST(Resharded, EightOneThree) {
    namespace fs = std::filesystem;
    fs::path const folder =
        fs::temp_directory_path() / ("osora reshard " + std::to_string(getpid()));
    Layout const eight{.ranks = 8, .stage = 1, .tp = 2, .pp = 2, .samples = 12};
    Layout const one{.ranks = 1, .stage = 0, .samples = 12};
    Layout const three{.ranks = 3, .stage = 2, .samples = 12};
    train(eight, {.last = 2, .save_to = folder});
    fs::path const second = folder / "step-00000002";
    Course const from_two{.first = 2, .last = 3, .from = second, .save_to = folder};
    Course const watched{.first = 2, .last = 3, .from = second};
    Trained const cut = train(eight, watched), alone = train(one, from_two);
    EXPECT_NEAR(alone.losses[0], cut.losses[0], 1e-6 * cut.losses[0]);
    Course const from_three{.first = 3, .last = 5, .from = folder / "step-00000003"};
    Trained const expected = train(eight, from_three), got = train(three, from_three);
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_NEAR(got.losses[i], expected.losses[i], 1e-6 * expected.losses[i]) << i;
    expect_near(got.weights, expected.weights, 1e-5);
    expect_near(got.ema, expected.ema, 1e-5);
    fs::remove_all(folder);
}

/// Adapters have slices where the weights of their layers have: they are saved whole.
TEST(Resharded, AdaptersOfSharedLayers) {
    namespace fs = std::filesystem;
    fs::path const folder =
        fs::temp_directory_path() / ("osora adapters " + std::to_string(getpid()));
    Layout const cut{.ranks = 4, .stage = 1, .lora_rank = 4, .tp = 2, .pp = 2};
    train(cut, {.last = 2, .save_to = folder});
    Course const on{.first = 2, .last = 4, .from = folder / "step-00000002"};
    Trained const expected = train(cut, on);
    for (Layout const& layout : {Layout{.ranks = 1, .stage = 0, .lora_rank = 4},
                                 Layout{.ranks = 2, .stage = 0, .lora_rank = 4, .tp = 2}}) {
        Trained const got = train(layout, on);
        for (std::size_t i = 0; i < 2; ++i)
            EXPECT_NEAR(got.losses[i], expected.losses[i], 1e-6 * expected.losses[i]) << i;
        expect_near(got.weights, expected.weights, 1e-5);
    }
    fs::remove_all(folder);
}

auto const kReshardingName = [](auto const& info) { return name_of(info.param); };
INSTANTIATE_TEST_SUITE_P(
    Layouts, Resharding,
    testing::Values(Layout{.ranks = 4, .stage = 2}, Layout{.ranks = 4, .stage = 3, .shard = 2},
                    Layout{.ranks = 4, .stage = 0, .tp = 2},
                    Layout{.ranks = 4, .stage = 1, .tp = 2},
                    Layout{.ranks = 8, .stage = 1, .tp = 2, .pp = 2},
                    Layout{.ranks = 2, .stage = 1, .pp = 2, .run_ends = {1, 4}}),
    kReshardingName);

}  // namespace
}  // namespace osora::worker
