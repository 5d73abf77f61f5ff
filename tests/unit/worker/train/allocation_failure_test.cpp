// Any allocation of a step may fail: the step is run again with the same result, or all ranks end.
// OSORA_ALLOCATIONS: how many are tried, from the first to the last; OSORA_RANKS: of layouts with
// several.
#include "tests/kit/size.hpp"
#include "tests/unit/worker/parallel/layouts.hpp"
#include "tests/unit/worker/parallel/ranks.hpp"
#include "tests/unit/worker/train/failing_allocations.hpp"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::worker {
namespace {

constexpr std::int64_t kFrames = 2, kSize = 16, kLocal = 2;  // kLocal: samples of a rank
constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

/// A layout, and in which of its steps allocations fail. In a lossy store's layout it is one that
/// also compares gradients with exact ones.
struct Course {
    Layout layout;
    int faulty = 1;
};

struct Ran {
    std::vector<double> losses, norms;
    std::vector<std::int64_t> sizes;  // micro-batch sizes after shortages
    std::vector<at::Tensor> pieces;   // weights
    std::optional<Error> error;       // of the step after those in `losses`
    std::int64_t allocations = 0;     // of the faulty step
};

StepInput input_of(std::vector<std::uint8_t>& pixels, int step, int rank, int ranks) {
    constexpr std::int64_t kBytes = kFrames * kSize * kSize * 3;
    pixels.resize(static_cast<std::size_t>(kLocal * kBytes));
    for (std::size_t i = 0; i < pixels.size(); ++i) {
        auto const at = static_cast<std::size_t>(rank * kLocal * kBytes) + i;
        pixels[i] = static_cast<std::uint8_t>(128 + 100 * std::sin(0.37 * static_cast<double>(at)));
    }
    StepInput input;
    input.step = step;
    input.pixels = pixels;
    input.samples = kLocal;
    input.micro_batch_size = kLocal;
    input.frames = kFrames;
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

/// On this rank; one step follows the faulty one, so that a peer that has ended is noticed.
Ran steps_of(Course const& course, std::optional<Group> const& group, FailingRange range) {
    at::set_num_threads(1);
    int const rank = group ? group->rank() : 0;
    Ran ran;
    Trainer trainer(job_of(course.layout), objective_of(course.layout), {.all = group});
    std::vector<std::uint8_t> pixels;
    for (int step = 0; step <= course.faulty + 1; ++step) {
        StepInput input = input_of(pixels, step, rank, course.layout.ranks);
        input.on_shortage = [&](auto const& each) { ran.sizes.push_back(each.next); };
        auto const output = [&] {
            if (step != course.faulty) return trainer.step(input);
            FailingAllocations const mark(range);
            auto result = trainer.step(input);
            ran.allocations = mark.count();
            return result;
        }();
        if (output.has_error()) {
            ran.error = output.error();
            return ran;
        }
        EXPECT_FALSE(output->skipped);
        ran.losses.push_back(output->loss);
        ran.norms.push_back(output->grad_norm);
    }
    for (auto const& parts : trainer.tensors().model)
        for (auto const& part : parts.parts) ran.pieces.push_back(part.values.detach().clone());
    return ran;
}

/// `ranges`: by rank; others lack nothing.
std::vector<Ran> run(Course const& course, std::map<int, FailingRange> const& ranges) {
    std::vector<Ran> all(static_cast<std::size_t>(course.layout.ranks));
    auto const body = [&](std::optional<Group> const& group) {
        int const rank = group ? group->rank() : 0;
        auto const own = ranges.find(rank);
        all[static_cast<std::size_t>(rank)] =
            steps_of(course, group, own == ranges.end() ? FailingRange{} : own->second);
    };
    if (course.layout.ranks == 1)
        body(std::nullopt);
    else
        run_ranks(course.layout.ranks, body);
    return all;
}

/// Steps that were done have the undisturbed results. A step that was tried again adds gradients in
/// another order; what a lossy store keeps may then be rounded the other way.
void expect_same_steps(Ran const& got, Ran const& expected, Layout const& layout) {
    double const tolerance = layout.store == "bf16" ? 1e-4 : 1e-5;
    ASSERT_LE(got.losses.size(), expected.losses.size());
    for (std::size_t i = 0; i < got.losses.size(); ++i) {
        EXPECT_NEAR(got.losses[i], expected.losses[i], tolerance / 10) << i;
        EXPECT_NEAR(got.norms[i], expected.norms[i], tolerance * expected.norms[i]) << i;
    }
    for (std::size_t i = 0; i < got.pieces.size(); ++i) {
        at::Tensor const& values = expected.pieces[i];
        double const off = got.pieces[i].sub(values).norm().item<double>();
        EXPECT_LE(off, tolerance * (values.norm().item<double>() + 1e-3)) << i;
    }
}

enum class End { continued, stopped };

/// All ranks do the same: they go on with equal sizes of micro-batches, or they all end, of which
/// one that lacked memory says so.
End expect_agreement(std::vector<Ran> const& got, std::map<int, FailingRange> const& ranges) {
    bool const any =
        std::ranges::any_of(got, [](Ran const& each) { return each.error.has_value(); });
    bool out_of_memory = false;
    for (std::size_t rank = 0; rank < got.size(); ++rank) {
        auto const& error = got[rank].error;
        EXPECT_EQ(error.has_value(), any) << "rank " << rank;
        if (!error) {
            EXPECT_EQ(got[rank].sizes, got[0].sizes) << "rank " << rank;
            continue;
        }
        bool const own = error->code == Errc::out_of_memory;
        EXPECT_TRUE(own || error->code == Errc::unreachable) << error->message;
        out_of_memory = out_of_memory || (own && ranges.contains(static_cast<int>(rank)));
    }
    EXPECT_EQ(out_of_memory, any);
    return any ? End::stopped : End::continued;
}

std::vector<Course> courses() {
    int const ranks = tests::test_size("OSORA_RANKS", 2);
    std::vector<Course> all{{.layout = {.ranks = 1, .stage = 0}}};
    for (int const stage : {0, 1, 2, 3})
        all.push_back({.layout = {.ranks = ranks, .stage = stage}});
    all.push_back({.layout = {.ranks = 1, .stage = 0, .recompute = "full", .store = "offload"}});
    all.push_back({.layout = {.ranks = ranks, .stage = 1, .store = "bf16"}, .faulty = 2});
    // In the first step frozen blocks get their memory on the device.
    all.push_back(
        {.layout = {.ranks = ranks, .stage = 1, .lora_rank = 4, .offload = true}, .faulty = 0});
    for (Course& each : all) each.layout.micro_batch_size = kLocal;
    return all;
}

class AnyAllocation : public testing::TestWithParam<Course> {};

TEST_P(AnyAllocation, IsTriedAgainOrEndsAllRanks) {
    Course const& course = GetParam();
    auto const expected = run(course, {});
    std::int64_t const count = expected.back().allocations;
    ASSERT_GT(count, 500);
    std::int64_t const tried =
        std::min<std::int64_t>(tests::test_size("OSORA_ALLOCATIONS", 4), count);
    std::int64_t const before = CountedAllocator::install().allocated_bytes();
    std::map<End, int> ends;
    for (std::int64_t i = 0; i < tried; ++i) {
        std::int64_t const at = 1 + i * (count - 1) / (tried - 1);
        SCOPED_TRACE("allocation " + std::to_string(at) + " of " + std::to_string(count));
        std::map<int, FailingRange> ranges{{course.layout.ranks - 1, {at, at + 1}}};
        // Every other time another rank lacks memory elsewhere in the step.
        std::int64_t const other = at * 7919 % count + 1;
        if (course.layout.ranks > 1 && ends[End::continued] % 2 == 1)
            ranges[0] = {other, other + 1};
        auto const got = run(course, ranges);
        for (std::size_t rank = 0; rank < got.size(); ++rank)
            expect_same_steps(got[rank], expected[rank], course.layout);
        ++ends[expect_agreement(got, ranges)];
        if (HasFailure()) return;
    }
    // Dropped passes leave no tensors behind.
    EXPECT_LE(CountedAllocator::install().allocated_bytes(), before + (16 << 10));
    // With stage 3, peers wait within passes.
    EXPECT_EQ(ends[End::continued] == 0, course.layout.stage == 3);
    std::printf("%lld of %lld allocations: %d steps tried again, %d ends\n",
                static_cast<long long>(tried), static_cast<long long>(count), ends[End::continued],
                ends[End::stopped]);
}

/// When no allocation succeeds any more, a rank cannot even help its peers: all end.
TEST_P(AnyAllocation, EndsWhereAllFailFromThenOn) {
    Course const& course = GetParam();
    auto const expected = run(course, {});
    std::int64_t const count = expected.back().allocations;
    for (std::int64_t const at : {std::int64_t{1}, count / 2}) {
        SCOPED_TRACE(at);
        std::map<int, FailingRange> const ranges{{course.layout.ranks - 1, {at, kForever}}};
        auto const got = run(course, ranges);
        for (std::size_t rank = 0; rank < got.size(); ++rank)
            expect_same_steps(got[rank], expected[rank], course.layout);
        EXPECT_EQ(expect_agreement(got, ranges), End::stopped);
    }
}

/// The memory to which a block is copied, before its forward pass or beside that of the block
/// before it, is not there: the step is tried again.
TEST(FrozenBlockMemory, IsAskedForAgainInTheStepThatLacksIt) {
    Course course{.layout = {.ranks = 2, .stage = 0, .lora_rank = 4, .offload = true}, .faulty = 0};
    course.layout.micro_batch_size = kLocal;
    auto const objective = objective_of(course.layout);
    auto const block = FrozenBlocks(objective->parameters()).block_bytes();
    auto const expected = run(course, {});
    for (std::int64_t const at : {1, 2}) {
        SCOPED_TRACE(at);
        std::map<int, FailingRange> const ranges{
            {1, {at, at + 1, static_cast<std::size_t>(block)}}};
        auto const got = run(course, ranges);
        EXPECT_EQ(got[1].allocations, 3);  // one of the two a second time
        for (std::size_t rank = 0; rank < got.size(); ++rank)
            expect_same_steps(got[rank], expected[rank], course.layout);
        EXPECT_EQ(expect_agreement(got, ranges), End::continued);
        EXPECT_EQ(got[0].sizes, std::vector<std::int64_t>{kLocal / 2});
    }
}

auto const kCourseName = [](auto const& info) { return name_of(info.param.layout); };
INSTANTIATE_TEST_SUITE_P(Layouts, AnyAllocation, testing::ValuesIn(courses()), kCourseName);

}  // namespace
}  // namespace osora::worker
