// Communication of ranks that train on the same samples: sequence, tensor and pipeline parallel.
#include "plan/model/trained_parameters.hpp"
#include "tests/unit/worker/train/layout_training.hpp"

namespace osora::worker {
namespace {

class SharedTokens : public testing::TestWithParam<Layout> {};
class SharedLayers : public testing::TestWithParam<Layout> {};
class Stages : public testing::TestWithParam<Layout> {};

/// Attention exchanges q, k, v and its result, and backward exchanges them back; a block that runs
/// again exchanges again. Temporal attention of STDiT3 needs no tokens of other ranks.
TEST_P(SharedTokens, TradesWhatTheFormulaSays) {
    Layout const layout = GetParam();
    std::int64_t const dp = layout.ranks / layout.sp, passes = kSamples / dp;
    bool const stdit = layout.arch[0] == 's';
    auto const shape = plan::model_shape(layout.arch).value();
    std::int64_t const blocks = stdit ? shape.depth : shape.depth + shape.single_depth;
    Trained const& trained = trained_in(layout);
    auto const traded = cost_of(trained, "tokens all_to_all");
    auto const gathered = cost_of(trained, "tokens all_gather");
    std::int64_t const times = layout.recompute == "none" ? 2 : 3;
    EXPECT_EQ(traded.calls, passes * blocks * 2 * times);
    EXPECT_EQ(gathered.calls, passes);
    // Clips of 2 frames of 16 x 16 pixels; MMDiT has 8 tokens of text beside them.
    std::int64_t const patches = shape.patch_volume();
    std::int64_t const image = 2 * 16 * 16 / patches;
    std::int64_t const own = (image + (stdit ? 0 : 8)) / layout.sp;
    EXPECT_EQ(traded.bytes, passes * blocks * 4 * times * own * shape.hidden * 4);
    EXPECT_EQ(gathered.bytes, passes * image * patches * shape.out_channels() * 4);
    EXPECT_EQ(traded.ranks, layout.sp);
}

class Rings : public testing::TestWithParam<Layout> {};

/// Keys and values of the other ranks arrive once in forward and once in backward, and in backward
/// as many gradients of them.
TEST_P(Rings, PassWhatTheFormulaSays) {
    Layout const layout = GetParam();
    std::int64_t const sp = layout.sp, passes = kSamples / (layout.ranks / sp);
    auto const shape = plan::model_shape(layout.arch).value();
    bool const joint = shape.family == plan::ModelFamily::mmdit;
    std::int64_t const blocks = joint ? shape.blocks() : shape.depth;
    std::int64_t const times = layout.recompute == "none" ? 3 : 4;
    Trained const& trained = trained_in(layout);
    auto const passed = cost_of(trained, "tokens send_recv");
    EXPECT_EQ(passed.calls, passes * blocks * times * (sp - 1));
    EXPECT_EQ(passed.collective, "send_recv");
    EXPECT_EQ(passed.ranks, sp);
    EXPECT_GT(passed.seconds, 0);
    EXPECT_EQ(cost_of(trained, "tokens all_to_all").calls, 0);
    EXPECT_EQ(cost_of(trained, "tokens all_gather").calls, passes);
    // Of rank 0: tokens of the others come as keys and values, gradients of its own come back.
    auto const run = [&](std::int64_t tokens, std::int64_t rank) {
        return tokens / sp + (rank < tokens % sp ? 1 : 0);
    };
    std::int64_t const frames = joint ? 1 : 2, image = 2 * 16 * 16 / shape.patch_volume() / frames;
    std::int64_t others = 0, gradients = 0;
    for (std::int64_t rank = 0; rank < sp; ++rank) {
        std::int64_t const tokens = frames * run(image, rank) + (joint ? run(8, rank) : 0);
        if (rank != 0) others += tokens;
        if (rank != sp - 1) gradients += tokens;  // it sends the last rank's home
    }
    EXPECT_EQ(passed.bytes,
              passes * blocks * 2 * shape.hidden * 4 * ((times - 1) * others + gradients));
}

/// Never asked: for the sizes of a rank's slices.
struct OneOfTwo final : TokenRanks {
    int size() const override { return 2; }
    int rank() const override { return 1; }
    at::Tensor all_to_all(at::Tensor const& values, std::vector<std::int64_t> const&,
                          std::vector<std::int64_t> const&) override {
        return values;
    }
    at::Tensor all_gather(at::Tensor const& own) override { return own; }
};

TEST(Slices, AreThoseThatThePlanCounts) {
    auto const meta = at::TensorOptions().device(at::kMeta);
    auto const linears = std::make_shared<OneOfTwo>();
    auto const expect = [](char const* arch, Parameters const& own) {
        std::int64_t numbers = 0;
        for (NamedTensor const& each : own.all())
            if (each.kind != TensorKind::buffer) numbers += each.tensor.numel();
        auto const shape = plan::model_shape(arch).value();
        std::int64_t const shared = plan::parameters_of_blocks(shape, {}).shared;
        EXPECT_EQ(numbers, plan::parameter_count(shape).parameters - shared / 2) << arch;
    };
    expect("stdit3-xl/2",
           Stdit3(stdit3_config("stdit3-xl/2").value(), meta, {.linears = linears}).parameters());
    expect("stdit2-xl/2",
           Stdit2(stdit2_config("stdit2-xl/2").value(), meta, {.linears = linears}).parameters());
    expect("mmdit-11b",
           Mmdit(mmdit_config("mmdit-11b").value(), meta, {.linears = linears}).parameters());
}

/// Every linear layer of a block gathers its tokens and sums what it adds, forward and backward.
TEST_P(SharedLayers, ExchangesWhatTheFormulaSays) {
    Layout const layout = GetParam();
    std::int64_t const dp = layout.ranks / layout.sp / layout.tp, passes = kSamples / dp;
    auto const shape = plan::model_shape(layout.arch).value();
    bool const joint = shape.family == plan::ModelFamily::mmdit;
    std::int64_t const pairs = joint ? 4 * shape.depth + shape.single_depth
                               : shape.family == plan::ModelFamily::stdit2 ? 4 * shape.depth
                                                                           : 3 * shape.blocks();
    Trained const& trained = trained_in(layout);
    auto const summed = cost_of(trained, "layers all_to_all");
    auto const gathered = cost_of(trained, "layers all_gather");
    bool const again = layout.recompute == "full";
    // Besides: the output, and the norm of the slices.
    EXPECT_EQ(summed.calls, passes * pairs * (again ? 3 : 2));
    EXPECT_EQ(gathered.calls, passes * (pairs * (again ? 3 : 2) + 1) + 1);
    EXPECT_EQ(summed.ranks, layout.tp);
    if (joint) return;
    std::int64_t const tokens = 2 * 16 * 16 / shape.patch_volume() / layout.sp;
    EXPECT_EQ(summed.bytes, summed.calls * tokens * shape.hidden * 4);
}

/// Values that stages send on beside the tokens, of a step on this rank's samples, which are the
/// first ones: embedded captions of STDiT (null captions: one for all samples), times, modulation.
std::int64_t condition_values(Layout const& layout, std::int64_t samples, std::int64_t passes) {
    auto const shape = plan::model_shape(layout.arch).value();
    if (shape.family == plan::ModelFamily::mmdit) return samples * shape.hidden;
    std::int64_t text = passes * shape.text_tokens;
    if (layout.captions) {
        text = 0;
        for (std::int64_t i = 0; i < samples; ++i) text += caption_length(i);
    }
    std::int64_t const rows = shape.family == plan::ModelFamily::stdit2 ? 1 + 6 + 3 : 1 + 6;
    return (text + samples * rows) * shape.hidden;
}

/// Rank 0 is in the first stage: of each micro-batch it gets the gradient of its tokens, from each
/// of its runs of blocks, and what the last stage sends to all of these but the first; and the
/// gradient of the conditions once, whatever the runs.
TEST_P(Stages, ExchangeTokensOfEachRunAndConditionsOnce) {
    Layout const layout = GetParam();
    std::int64_t const together = layout.tp * layout.sp, dp = layout.ranks / layout.pp / together;
    std::int64_t const samples = layout.samples / dp;
    std::int64_t const passes = samples / std::min(layout.micro_batch_size, samples);
    auto const shape = plan::model_shape(layout.arch).value();
    bool const joint = shape.family == plan::ModelFamily::mmdit;
    Trained const& trained = trained_in(layout);
    auto const received = cost_of(trained, "stages receive");
    std::int64_t const messages = 2 * layout.virtual_stages - 1;
    EXPECT_EQ(received.calls, (messages + 1) * passes);
    std::int64_t const tokens = 2 * 16 * 16 / shape.patch_volume() + (joint ? 8 : 0);
    std::int64_t const values = messages * samples * tokens / together * shape.hidden;
    if (!layout.masks) {  // else some micro-batches have two times
        EXPECT_EQ(received.bytes, 4 * (values + condition_values(layout, samples, passes)));
    }
    EXPECT_EQ(received.ranks, layout.pp);
    EXPECT_EQ(cost_of(trained, "network all_gather").calls, 2);    // the norm and the loss
    EXPECT_EQ(cost_of(trained, "gradients all_reduce").calls, 0);  // no stage has what another has
}

/// Of p stages, never asked: for the tensors that a stage has.
struct OneStage final : StageRanks {
    OneStage(int rank, int size) : rank_(rank), size_(size) {}
    int size() const override { return size_; }
    int rank() const override { return rank_; }
    int virtual_stages() const override { return 1; }
    int virtual_stage() const override { return 0; }
    void send_forward(at::Tensor const&) override {}
    void receive_forward(at::Tensor const&) override {}
    void send_backward(at::Tensor const&) override {}
    void receive_backward(at::Tensor const&) override {}
    int rank_, size_;
};

/// Captions cannot be projected anywhere else.
TEST(StageParameters, EmbeddersAreOnTheFirstStageAndTheFinalLayerOnTheLast) {
    auto const meta = at::TensorOptions().device(at::kMeta);
    auto const expect = [](Parameters const& own, int rank) {
        for (NamedTensor const& each : own.all()) {
            if (each.name.find("blocks.") != std::string::npos || each.name == "rope.freqs")
                continue;
            int const of = each.name.starts_with("final_layer.") ? 2 : 0;
            EXPECT_EQ(own.is_here(each), rank == of) << each.name << " on stage " << rank;
        }
    };
    for (int rank = 0; rank < 3; ++rank) {
        LayerRanks const sharing{.stages = std::make_shared<OneStage>(rank, 3)};
        expect(Stdit3(stdit3_config("stdit3-tiny").value(), meta, sharing).parameters(), rank);
        expect(Stdit2(stdit2_config("stdit2-tiny").value(), meta, sharing).parameters(), rank);
        expect(Mmdit(mmdit_config("mmdit-tiny").value(), meta, sharing).parameters(), rank);
    }
}

std::vector<Layout> layouts_with_sp() {
    auto all = layouts();
    std::erase_if(all, [](Layout const& layout) {
        return layout.sp == 1 || layout.tp > 1 || layout.pp > 1 ||
               layout.attention == AttentionForm::ring;
    });
    return all;
}

std::vector<Layout> layouts_with_rings() {
    auto all = layouts();
    std::erase_if(all, [](Layout const& layout) {
        return layout.attention != AttentionForm::ring || layout.tp > 1 || layout.pp > 1;
    });
    return all;
}

/// Not with adapters: the first frozen layers need no gradient of what they read.
std::vector<Layout> layouts_with_tp() {
    auto all = layouts();
    std::erase_if(all, [](Layout const& layout) {
        return layout.tp == 1 || layout.pp > 1 || layout.recompute == "selective" || layout.image ||
               layout.store != "none" || layout.lora_rank > 0;
    });
    return all;
}

std::vector<Layout> layouts_with_pp() {
    auto all = layouts();
    std::erase_if(all, [](Layout const& layout) { return layout.pp == 1; });
    return all;
}

auto const kSamplesName = [](auto const& info) { return name_of(info.param); };
INSTANTIATE_TEST_SUITE_P(Layouts, SharedTokens, testing::ValuesIn(layouts_with_sp()), kSamplesName);
INSTANTIATE_TEST_SUITE_P(Layouts, Rings, testing::ValuesIn(layouts_with_rings()), kSamplesName);
INSTANTIATE_TEST_SUITE_P(Layouts, Stages, testing::ValuesIn(layouts_with_pp()), kSamplesName);
INSTANTIATE_TEST_SUITE_P(Layouts, SharedLayers, testing::ValuesIn(layouts_with_tp()), kSamplesName);

}  // namespace
}  // namespace osora::worker
