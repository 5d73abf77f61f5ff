#include "tests/unit/worker/train/layout_training.hpp"

#include "plan/model/model_description.hpp"
#include "tests/kit/size.hpp"
#include "tests/unit/worker/parallel/ranks.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <latch>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

namespace osora::worker {
namespace {

/// Of samples from `first` on of a global batch.
void add_captions(Layout const& layout, std::int64_t first, StepInput& input) {
    auto const shape = plan::model_shape(layout.arch).value();
    auto const values = [&](std::vector<std::int64_t> const& sizes) {
        at::Tensor const made = at::empty(sizes);
        std::int64_t const each = made.numel() / input.samples;
        auto* const at = made.mutable_data_ptr<float>();
        for (std::int64_t i = 0; i < made.numel(); ++i)
            at[i] = static_cast<float>(std::sin(0.73 * static_cast<double>(first * each + i)));
        return made;
    };
    input.text = values({input.samples, kCaptionTokens, shape.caption_channels});
    if (shape.pooled_channels > 0) input.pooled = values({input.samples, shape.pooled_channels});
    input.text_mask = at::zeros({input.samples, kCaptionTokens}, at::kLong);
    for (std::int64_t i = 0; i < input.samples; ++i)
        input.text_mask.select(0, i).narrow(0, 0, caption_length(first + i)).fill_(1);
}

/// A rank's samples of a global batch.
struct OwnSamples {
    std::vector<std::uint8_t> pixels;
    StepInput input;  // refers to the pixels
};
OwnSamples own_samples(Layout const& layout, int number, int rank, int ranks) {
    std::int64_t const frames = layout.image ? 1 : 2, size = 16, local = layout.samples / ranks;
    std::int64_t const bytes = frames * size * size * 3;
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(local * bytes));
    for (std::size_t i = 0; i < pixels.size(); ++i) {
        auto const at = static_cast<std::size_t>(rank * local * bytes) + i;
        pixels[i] = static_cast<std::uint8_t>(128 + 100 * std::sin(0.37 * static_cast<double>(at)));
    }
    OwnSamples own{std::move(pixels), {}};
    StepInput& input = own.input;
    input.step = number;
    input.pixels = own.pixels;
    input.samples = local;
    input.frames = frames;
    input.height = input.width = size;
    for (std::int64_t i = 0; i < local; ++i) {
        SampleIdentity sample;
        sample.id = static_cast<std::uint64_t>(rank * local + i);
        sample.epoch = static_cast<std::uint64_t>(number);
        sample.fps = 8;
        input.identities.push_back(sample);
    }
    if (layout.captions) add_captions(layout, rank * local, input);
    input.micro_batch_size = std::min(layout.micro_batch_size, local);
    input.global_samples = layout.samples;
    return own;
}

/// Of all ranks, put together from their parts.
void collect(std::vector<TensorParts> const& parts, Weights& into) {
    for (TensorParts const& each : parts) {
        std::int64_t items = 1;
        for (auto const size : each.shape) items *= size;
        auto& whole = into.try_emplace(each.name, at::zeros({items})).first->second;
        for (auto const& part : each.parts) {
            at::Tensor const own = part.values.detach().reshape(-1);
            if (part.runs.empty()) whole.narrow(0, part.first, own.numel()).copy_(own);
            for (ItemRun const& run : part.runs)
                whole.narrow(0, run.whole, run.count).copy_(own.narrow(0, run.own, run.count));
        }
    }
}

/// Ranks that are threads.
class ThreadPeers final : public CheckpointPeers {
public:
    ThreadPeers(int rank, std::latch& others) : rank_(rank), others_(others) {}
    int rank() const override { return rank_; }
    std::string tag() const override { return "test"; }
    Result<void> share(int, Result<void> const& written) override {
        EXPECT_TRUE(written.has_value());
        others_.count_down();
        return {};
    }
    Result<void> wait_for_all(int) override {
        others_.wait();
        return {};
    }

private:
    int rank_;
    std::latch& others_;
};

}  // namespace

Trained train(Layout const& layout, Course const& course) {
    Trained trained;
    trained.losses.resize(static_cast<std::size_t>(course.last - course.first));
    std::mutex mutex;
    std::latch others(layout.ranks - 1);
    auto const body = [&](std::optional<Group> const& group) {
        at::set_num_threads(1);
        int const rank = group ? group->rank() : 0, ranks = group ? group->world_size() : 1;
        int const together = layout.tp * layout.sp, of_stage = ranks / layout.pp;
        int const share = rank % of_stage / together, shares = of_stage / together;
        auto const groups = split_ranks(group, {.tp_size = layout.tp,
                                                .sp_size = layout.sp,
                                                .pp_size = layout.pp,
                                                .virtual_stages = layout.virtual_stages,
                                                .eager = layout.eager,
                                                .shard_size = layout.shard,
                                                .attention = layout.attention})
                                .value();
        Trainer trainer(job_of(layout), objective_of(layout, groups), groups);
        if (!course.from.empty()) {
            EXPECT_TRUE(trainer.restore(load_checkpoint(course.from).value()).has_value());
        }
        for (int i = course.first; i < course.last; ++i) {
            auto const own = own_samples(layout, i, share, shares);
            auto const output = trainer.step(own.input).value();
            EXPECT_FALSE(output.skipped);
            std::lock_guard const lock(mutex);
            trained.losses[static_cast<std::size_t>(i - course.first)] += output.loss / ranks;
            if (rank != 0) continue;
            trained.norms.push_back(output.grad_norm);
            trained.collectives = output.collectives;
        }
        auto const own = own_samples(layout, course.last - 1, share, shares);
        double const held_out = trainer.loss(own.input).value();
        EXPECT_EQ(groups.stages ? groups.stages->unfinished_sends() : 0, 0u);
        bool const has_loss = rank / of_stage + 1 == layout.pp && rank % together == 0;
        if (!course.save_to.empty()) {
            CheckpointState state;
            state.step = course.last;
            trainer.describe(state);
            ThreadPeers peers(rank, others);
            bool const together = trainer.is_sharded();
            if (together || rank == 0) {
                EXPECT_TRUE(save_checkpoint(course.save_to, state, trainer.tensors(rank == 0), 1,
                                            {.peers = together ? &peers : nullptr})
                                .has_value());
            }
        }
        std::lock_guard const lock(mutex);
        if (has_loss) trained.held_out += held_out / shares;
        auto const parts = trainer.tensors();
        collect(layout.lora_rank > 0 ? parts.adapter : parts.model, trained.weights);
        collect(parts.ema, trained.ema);
        collect(parts.exp_avg, trained.moments);
    };
    if (layout.ranks == 1)
        body(std::nullopt);
    else
        run_ranks(layout.ranks, body);
    return trained;
}

Trained const& trained_in(Layout const& layout) {
    static std::map<std::string, Trained> all;
    std::string const name = name_of(layout);
    if (!all.contains(name)) all[name] = train(layout);
    return all[name];
}

void expect_near(Weights const& got, Weights const& expected, double tolerance) {
    ASSERT_EQ(got.size(), expected.size());
    for (auto const& [name, values] : expected) {
        double const off = got.at(name).sub(values).norm().item<double>();
        EXPECT_LE(off, tolerance * values.norm().item<double>()) << name;
    }
}

protocol::CollectiveCost cost_of(Trained const& trained, std::string const& name) {
    auto const found =
        std::ranges::find(trained.collectives, name, &protocol::CollectiveCost::name);
    return found == trained.collectives.end() ? protocol::CollectiveCost{} : *found;
}

namespace {

/// Several copies of what ZeRO divides.
std::vector<Layout> copies() {
    std::vector<Layout> all;
    for (int const stage : {1, 2, 3}) {
        for (char const* arch : {"stdit3-tiny", "mmdit-tiny"})
            all.push_back({.arch = arch, .ranks = 4, .stage = stage, .shard = 2});
        all.push_back({.ranks = 4, .stage = stage, .overlap = false, .shard = 2});
        all.push_back({.ranks = 4, .stage = stage, .shard = 2, .samples = 12});
    }
    all.push_back({.ranks = 4, .stage = 2, .collectives = "per_parameter", .shard = 2});
    all.push_back({.ranks = 4, .stage = 3, .lora_rank = 4, .shard = 2});
    all.push_back({.ranks = 4, .stage = 3, .sp = 2, .shard = 2});
    all.push_back({.ranks = 8, .stage = 3, .sp = 2, .shard = 4});
    return all;
}

/// Attention over a ring; ranks that divide neither tokens nor heads.
void add_rings(std::vector<Layout>& all) {
    auto const ring = AttentionForm::ring;
    for (char const* arch : {"stdit3-tiny", "mmdit-tiny"}) {
        for (int const sp : {2, 3, 4})
            all.push_back({.arch = arch, .ranks = sp, .stage = 0, .sp = sp, .attention = ring});
        all.push_back({.arch = arch, .ranks = 4, .stage = 2, .sp = 2, .attention = ring});
        for (char const* recompute : {"selective", "full"})
            all.push_back(
                {.arch = arch, .stage = 3, .sp = 2, .attention = ring, .recompute = recompute});
    }
    all.push_back({.ranks = 4, .stage = 2, .sp = 2, .tp = 2, .attention = ring});
    all.push_back(
        {.arch = "mmdit-tiny", .ranks = 4, .stage = 1, .sp = 2, .pp = 2, .attention = ring});
    all.push_back({.stage = 0, .sp = 2, .attention = ring, .store = "offload"});
    all.push_back({.arch = "stdit2-tiny", .ranks = 2, .stage = 1, .sp = 2, .attention = ring});
}

/// Captions travel with the tokens, and so do the times of frames that are given.
void add_captions_in_pipelines(std::vector<Layout>& all) {
    Layout one{.ranks = 2, .stage = 1, .pp = 2, .captions = true};
    for (char const* arch : {"stdit3-tiny", "stdit2-tiny", "mmdit-tiny"}) {
        one.arch = arch;
        all.push_back(one);
        Layout runs = one;
        runs.virtual_stages = 2;
        runs.masks = arch[0] == 's';
        all.push_back(runs);
    }
    // Stages with one block and three.
    all.push_back({.ranks = 2, .stage = 1, .pp = 2, .captions = true, .run_ends = {1, 4}});
    all.push_back({.arch = "mmdit-tiny", .ranks = 4, .stage = 2, .pp = 2, .run_ends = {3, 4}});
    all.push_back({.arch = "stdit2-tiny", .ranks = 4, .stage = 0, .pp = 2, .run_ends = {1, 2}});
    one.masks = true;
    one.arch = "stdit3-tiny";
    all.push_back({.ranks = 4, .stage = 1, .pp = 4, .captions = true, .masks = true});
    one.micro_batch_size = 2;
    one.ranks = 8;
    one.sp = one.tp = 2;
    all.push_back(one);
    one.ranks = 2;
    one.sp = one.tp = 1;
    one.recompute = "full";
    all.push_back(one);
}

void add_pipelines(std::vector<Layout>& all) {
    for (char const* arch : {"stdit3-tiny", "stdit2-tiny", "mmdit-tiny"}) {
        for (int const stage : {0, 1, 2}) {
            all.push_back({.arch = arch, .ranks = 2, .stage = stage, .pp = 2});
            all.push_back({.arch = arch, .ranks = 4, .stage = stage, .tp = 2, .pp = 2});
        }
        all.push_back({.arch = arch, .ranks = 4, .stage = 1, .micro_batch_size = 2, .pp = 2});
        all.push_back({.arch = arch, .ranks = 4, .stage = 1, .sp = 2, .pp = 2});
        all.push_back({.arch = arch, .ranks = 8, .stage = 1, .tp = 2, .pp = 2});
        all.push_back({.arch = arch, .ranks = 8, .stage = 0, .sp = 2, .tp = 2, .pp = 2});
        all.push_back({.arch = arch, .ranks = 2, .stage = 1, .pp = 2, .recompute = "full"});
    }
    all.push_back({.ranks = 4, .stage = 1, .pp = 4});
    all.push_back({.ranks = 4, .stage = 2, .pp = 4, .eager = true, .captions = true});
    all.push_back({.arch = "mmdit-tiny", .ranks = 4, .stage = 1, .tp = 2, .pp = 2, .eager = true});
    all.push_back({.arch = "stdit2-tiny", .ranks = 2, .stage = 0, .pp = 2, .eager = true});
    for (char const* arch : {"stdit3-tiny", "mmdit-tiny"}) {
        all.push_back({.arch = arch, .ranks = 2, .stage = 0, .pp = 2, .virtual_stages = 2});
        all.push_back(
            {.arch = arch, .ranks = 4, .stage = 1, .tp = 2, .pp = 2, .virtual_stages = 2});
        all.push_back(
            {.arch = arch, .ranks = 4, .stage = 1, .sp = 2, .pp = 2, .virtual_stages = 2});
    }
    all.push_back({.ranks = 3, .stage = 1, .pp = 3, .virtual_stages = 2});  // two runs are empty
    all.push_back({.ranks = 2, .stage = 1, .pp = 2, .virtual_stages = 2, .samples = 3});
    all.push_back({.ranks = 2, .stage = 1, .pp = 2, .virtual_stages = 2, .recompute = "selective"});
    all.push_back({.ranks = 2, .stage = 1, .pp = 2, .store = "offload"});
    add_captions_in_pipelines(all);
}

std::vector<Layout> every_layout() {
    std::vector<Layout> all = copies();
    add_rings(all);
    for (char const* arch : {"stdit3-tiny", "mmdit-tiny"})
        for (int const ranks : {2, 4})
            for (int const stage : {1, 2, 3})
                all.push_back({.arch = arch, .ranks = ranks, .stage = stage});
    for (int const stage : {0, 3})
        all.push_back({.arch = "stdit2-tiny", .ranks = 4, .stage = stage, .sp = 2});
    for (int const stage : {1, 2, 3}) {
        all.push_back({.stage = stage, .micro_batch_size = 2});
        all.push_back({.stage = stage, .overlap = false});
        all.push_back({.stage = stage, .collectives = "per_parameter"});
        all.push_back({.stage = stage, .bucket_mib = 1000});
        all.push_back({.stage = stage, .lora_rank = 4});
        all.push_back({.stage = stage, .image = true});
        if (stage < 3) all.push_back({.stage = stage, .recompute = "full"});
    }
    for (char const* arch : {"stdit3-tiny", "mmdit-tiny"}) {
        for (char const* recompute : {"1", "selective", "full"})
            all.push_back({.arch = arch, .stage = 3, .recompute = recompute});
        for (char const* store : {"bf16", "offload"})
            all.push_back({.arch = arch, .stage = 3, .store = store});
        all.push_back({.arch = arch, .stage = 3, .recompute = "full", .store = "bf16"});
    }
    for (char const* arch : {"stdit3-tiny", "mmdit-tiny"})
        for (int const stage : {0, 1, 2, 3}) {
            all.push_back({.arch = arch, .ranks = 2, .stage = stage, .sp = 2});
            all.push_back({.arch = arch, .ranks = 4, .stage = stage, .sp = 2});
        }
    for (char const* arch : {"stdit3-tiny", "stdit2-tiny", "mmdit-tiny"})
        for (char const* recompute : {"selective", "full"})
            all.push_back({.arch = arch, .ranks = 4, .stage = 3, .sp = 2, .recompute = recompute});
    for (char const* arch : {"stdit3-tiny", "stdit2-tiny", "mmdit-tiny"}) {
        for (int const stage : {0, 1, 2, 3}) {
            all.push_back({.arch = arch, .ranks = 2, .stage = stage, .tp = 2});
            all.push_back({.arch = arch, .ranks = 4, .stage = stage, .tp = 2});
        }
        all.push_back({.arch = arch, .ranks = 4, .stage = 0, .sp = 2, .tp = 2});
        all.push_back({.arch = arch, .ranks = 4, .stage = 2, .sp = 2, .tp = 2});
        for (char const* recompute : {"selective", "full"})
            all.push_back({.arch = arch, .ranks = 4, .stage = 3, .tp = 2, .recompute = recompute});
    }
    add_pipelines(all);
    // Adapters of layers and blocks that ranks share.
    for (char const* arch : {"stdit3-tiny", "stdit2-tiny", "mmdit-tiny"}) {
        all.push_back({.arch = arch, .ranks = 2, .stage = 0, .lora_rank = 4, .tp = 2});
        all.push_back({.arch = arch, .ranks = 4, .stage = 1, .lora_rank = 4, .tp = 2, .pp = 2});
        all.push_back({.arch = arch, .ranks = 8, .stage = 2, .lora_rank = 4, .sp = 2, .tp = 2});
    }
    all.push_back({.ranks = 4, .stage = 3, .lora_rank = 4, .tp = 2});
    all.push_back({.ranks = 4, .stage = 2, .image = true, .tp = 2});
    all.push_back({.ranks = 4, .stage = 3, .tp = 2, .store = "bf16"});
    return all;
}

/// Words of its name, one for each setting that differs from the default.
std::vector<std::string> settings_of(Layout const& layout) {
    std::vector<std::string> words;
    std::istringstream name(name_of(layout));
    for (std::string word; std::getline(name, word, '_');) words.push_back(word);
    std::ranges::sort(words);
    return words;
}

/// Those with the most settings first; of the others, those that add a pair.
std::vector<Layout> with_every_pair(std::vector<Layout> all) {
    std::ranges::stable_sort(all, std::greater{},
                             [](Layout const& each) { return settings_of(each).size(); });
    std::set<std::pair<std::string, std::string>> seen;
    std::erase_if(all, [&](Layout const& layout) {
        auto const words = settings_of(layout);
        std::size_t const before = seen.size();
        for (std::size_t i = 0; i < words.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) seen.emplace(words[j], words[i]);
        return seen.size() == before;
    });
    return all;
}

}  // namespace

bool all_layouts() {
    return tests::test_size("OSORA_EVERY_LAYOUT", 0) > 0;
}

std::vector<Layout> layouts() {
    return all_layouts() ? every_layout() : with_every_pair(every_layout());
}

}  // namespace osora::worker
