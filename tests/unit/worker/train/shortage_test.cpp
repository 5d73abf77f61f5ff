// One rank runs out of memory: all run the step again in smaller passes, and get what passes of
// that size from the start get. Ranks are threads, so an objective says what does not fit.
#include "tests/unit/worker/parallel/layouts.hpp"
#include "tests/unit/worker/parallel/ranks.hpp"
#include "worker/train/memory_guard.hpp"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <vector>

namespace osora::worker {
namespace {

enum class Where { forward, backward };

/// The identity; its gradient does not fit.
struct Refusing : torch::autograd::Function<Refusing> {
    static at::Tensor forward(torch::autograd::AutogradContext*, at::Tensor const& x) {
        return x.clone();
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                   torch::autograd::variable_list) {
        C10_THROW_ERROR(OutOfMemoryError, "9 GiB asked for");
    }
};

/// Has room for `most` samples in a pass, from pass `first` of a run on; with `recomputes` for
/// more, once activations are computed again.
class Cramped final : public Objective {
public:
    struct Room {
        std::size_t most = 100;
        int first = 0;
        Where where = Where::forward;
        bool recomputes = false;
    };
    Cramped(std::unique_ptr<Objective> inner, Room room) : inner_(std::move(inner)), room_(room) {}
    Parameters& parameters() override { return inner_->parameters(); }
    void begin_step(int step) override { inner_->begin_step(step); }
    at::Tensor loss(MicroBatch const& batch) override {
        bool const saves = room_.recomputes && *recompute_choice() == plan::RecomputeChoice::full();
        bool const fits = batch.samples.size() <= room_.most || passes_++ < room_.first || saves;
        if (!fits && room_.where == Where::forward)
            C10_THROW_ERROR(OutOfMemoryError, "7 GiB asked for");
        at::Tensor const loss = inner_->loss(batch);
        return fits ? loss : half_refused(loss);
    }

private:
    /// A parameter's gradient comes before backward fails.
    at::Tensor half_refused(at::Tensor const& loss) {
        at::Tensor const last = parameters().trainable().back();
        return Refusing::apply(loss).add(last.sum());
    }

    std::unique_ptr<Objective> inner_;
    Room room_;
    int passes_ = 0;
};

constexpr std::int64_t kLocal = 4;  // samples of a rank

StepInput input_of(std::vector<std::uint8_t>& pixels, int step, int rank, int ranks) {
    constexpr std::int64_t kSize = 16, kBytes = 2 * kSize * kSize * 3;
    pixels.resize(static_cast<std::size_t>(kLocal * kBytes));
    for (std::size_t i = 0; i < pixels.size(); ++i) {
        auto const at = static_cast<std::size_t>(rank * kLocal * kBytes) + i;
        pixels[i] = static_cast<std::uint8_t>(128 + 100 * std::sin(0.37 * static_cast<double>(at)));
    }
    StepInput input;
    input.step = step;
    input.pixels = pixels;
    input.samples = kLocal;
    input.frames = 2;
    input.height = input.width = kSize;
    for (std::int64_t i = 0; i < kLocal; ++i) {
        SampleIdentity sample;
        sample.id = static_cast<std::uint64_t>(rank * kLocal + i);
        sample.epoch = static_cast<std::uint64_t>(step);
        input.identities.push_back(sample);
    }
    input.global_samples = kLocal * ranks;
    return input;
}

struct Course {
    Layout layout;
    Cramped::Room room;  // of rank 1; the others have enough
    int steps = 2;
};

struct Ran {
    std::vector<double> losses, norms;
    std::vector<MemoryShortage> shortages;
    std::vector<std::string> errors;  // of a step
    std::vector<at::Tensor> pieces;   // weights
    int lacks = 0;                    // calls of on_lack
    std::int64_t reduced_last = 0;    // collectives of gradients in the last step
};

/// Of each rank.
std::vector<Ran> run(Course const& course) {
    std::vector<Ran> all(static_cast<std::size_t>(course.layout.ranks));
    auto const body = [&](std::optional<Group> const& group) {
        at::set_num_threads(1);
        int const rank = group ? group->rank() : 0;
        Ran& ran = all[static_cast<std::size_t>(rank)];
        bool const cramped = rank == 1 || course.layout.ranks == 1;
        auto objective = std::make_unique<Cramped>(objective_of(course.layout),
                                                   cramped ? course.room : Cramped::Room{});
        objective->set_recompute(std::make_shared<plan::RecomputeChoice>());
        Trainer trainer(job_of(course.layout), std::move(objective), {.all = group});
        std::vector<std::uint8_t> pixels;
        for (int step = 0; step < course.steps; ++step) {
            StepInput input = input_of(pixels, step, rank, course.layout.ranks);
            input.micro_batch_size = course.layout.micro_batch_size;
            input.on_lack = [&] { ++ran.lacks; };
            input.on_shortage = [&](auto const& each) { ran.shortages.push_back(each); };
            auto const output = trainer.step(input);
            if (output.has_error()) {
                EXPECT_EQ(output.error().code, Errc::out_of_memory);
                ran.errors.push_back(output.error().message);
                break;
            }
            EXPECT_FALSE(output->skipped);
            ran.losses.push_back(output->loss);
            ran.norms.push_back(output->grad_norm);
            ran.reduced_last = 0;
            for (auto const& each : output->collectives) ran.reduced_last += each.calls;
        }
        for (auto const& parts : trainer.tensors().model)
            for (auto const& part : parts.parts) ran.pieces.push_back(part.values.detach().clone());
    };
    if (course.layout.ranks == 1)
        body(std::nullopt);
    else
        run_ranks(course.layout.ranks, body);
    return all;
}

void expect_equal(std::vector<Ran> const& got, std::vector<Ran> const& expected) {
    for (std::size_t rank = 0; rank < got.size(); ++rank) {
        SCOPED_TRACE(rank);
        ASSERT_EQ(got[rank].losses.size(), expected[rank].losses.size());
        for (std::size_t i = 0; i < got[rank].losses.size(); ++i) {
            EXPECT_NEAR(got[rank].losses[i], expected[rank].losses[i], 1e-6) << i;
            EXPECT_NEAR(got[rank].norms[i], expected[rank].norms[i],
                        1e-6 * expected[rank].norms[i]);
        }
        ASSERT_EQ(got[rank].pieces.size(), expected[rank].pieces.size());
        for (std::size_t i = 0; i < got[rank].pieces.size(); ++i) {
            at::Tensor const& values = expected[rank].pieces[i];
            double const off = got[rank].pieces[i].sub(values).norm().item<double>();
            EXPECT_LE(off, 1e-6 * (values.norm().item<double>() + 1e-3)) << i;
        }
    }
}

std::vector<Layout> layouts() {
    std::vector<Layout> all{{.ranks = 1, .stage = 0}};
    for (int const stage : {0, 1, 2}) all.push_back({.ranks = 2, .stage = stage});
    all.push_back({.ranks = 2, .stage = 0, .overlap = false});
    all.push_back({.ranks = 2, .stage = 2, .collectives = "per_parameter"});
    all.push_back({.ranks = 2, .stage = 1, .recompute = "full", .store = "offload"});
    return all;
}

class Shortage : public testing::TestWithParam<Layout> {};

TEST_P(Shortage, RunsTheStepAgainInSmallerPasses) {
    Layout layout = GetParam();
    layout.micro_batch_size = 2;
    auto const small = run({.layout = layout, .room = {}});
    for (Where const where : {Where::forward, Where::backward}) {
        SCOPED_TRACE(where == Where::forward ? "forward" : "backward");
        layout.micro_batch_size = 4;
        auto const got = run({.layout = layout, .room = {.most = 2, .where = where}});
        expect_equal(got, small);
        for (std::size_t rank = 0; rank < got.size(); ++rank) {
            ASSERT_EQ(got[rank].shortages.size(), 1u);  // it is remembered
            MemoryShortage const& shortage = got[rank].shortages.front();
            EXPECT_EQ(shortage.micro_batch_size, 4);
            EXPECT_EQ(shortage.next, 2);
            EXPECT_EQ(shortage.lacked.empty(), rank == 0 && layout.ranks > 1);
            EXPECT_EQ(got[rank].lacks, shortage.lacked.empty() ? 0 : 1);
            EXPECT_EQ(small[rank].lacks, 0);
            // Steps that fit have no collective more.
            EXPECT_EQ(got[rank].reduced_last, small[rank].reduced_last);
        }
    }
}

/// Of four passes the third one fails, in the second step: gradients of two of them are there.
TEST_P(Shortage, InALaterPass) {
    Layout layout = GetParam();
    layout.micro_batch_size = 1;
    auto const small = run({.layout = layout, .room = {}});
    layout.micro_batch_size = 2;
    for (Where const where : {Where::forward, Where::backward}) {
        auto const got = run({.layout = layout, .room = {.most = 1, .first = 3, .where = where}});
        expect_equal(got, small);
        EXPECT_EQ(got.back().shortages.size(), 1u);
    }
}

TEST_P(Shortage, RecomputesOneSample) {
    Layout layout = GetParam();
    layout.micro_batch_size = 1;
    auto const plain = run({.layout = layout, .room = {}});
    auto const got = run({.layout = layout, .room = {.most = 0, .recomputes = true}});
    expect_equal(got, plain);
    for (Ran const& ran : got) {
        ASSERT_EQ(ran.shortages.size(), 1u);
        EXPECT_TRUE(ran.shortages.front().recomputes);
    }
}

/// All ranks end, and say the same.
TEST_P(Shortage, EndsWhereNothingIsLeft) {
    Layout layout = GetParam();
    layout.micro_batch_size = 4;
    auto const got = run({.layout = layout, .room = {.most = 0}});
    for (std::size_t rank = 0; rank < got.size(); ++rank) {
        bool const own = rank == 1 || layout.ranks == 1;
        EXPECT_EQ(got[rank].shortages.size(), 4u);  // 4, 2, 1, recompute
        ASSERT_EQ(got[rank].errors.size(), 1u);
        EXPECT_EQ(got[rank].errors[0], own ? "7 GiB asked for" : "another rank ran out of memory");
        EXPECT_TRUE(got[rank].losses.empty());
    }
}

auto const kShortageName = [](auto const& info) { return name_of(info.param); };
INSTANTIATE_TEST_SUITE_P(Layouts, Shortage, testing::ValuesIn(layouts()), kShortageName);

TEST(ShortageAnswer, HalvesThenRecomputes) {
    auto const next = [](std::int64_t tried) { return answer_to("", tried, true).next; };
    EXPECT_EQ(next(8), 4);
    EXPECT_EQ(next(3), 2);
    EXPECT_EQ(next(2), 1);
    EXPECT_FALSE(answer_to("", 2, true).recomputes);
    EXPECT_TRUE(answer_to("", 1, true).recomputes);
    EXPECT_EQ(answer_to("", 1, false).next, 0);
}

/// Rank 1 cannot be waited for where peers gather parameters in its pass: it says so at once.
TEST(ShortageAnswer, SharedParametersEndTheRun) {
    Layout const layout{.ranks = 2, .stage = 3, .micro_batch_size = 2};
    std::vector<std::string> errors(2);
    run_ranks(2, [&](Group const& group) {
        at::set_num_threads(1);
        auto const rank = static_cast<std::size_t>(group.rank());
        Cramped::Room const room{.most = rank == 1 ? std::size_t{1} : std::size_t{100}};
        Trainer trainer(job_of(layout), std::make_unique<Cramped>(objective_of(layout), room),
                        {.all = group});
        std::vector<std::uint8_t> pixels;
        StepInput input = input_of(pixels, 0, group.rank(), 2);
        input.micro_batch_size = 2;
        auto const output = trainer.step(input);
        ASSERT_TRUE(output.has_error());
        EXPECT_EQ(output.error().code, rank == 1 ? Errc::out_of_memory : Errc::unreachable);
        errors[rank] = output.error().message;
    });
    EXPECT_NE(errors[1].find("zero_stage 3"), std::string::npos) << errors[1];
}

}  // namespace
}  // namespace osora::worker
