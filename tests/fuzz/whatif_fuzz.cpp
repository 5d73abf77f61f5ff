// Damaged traces, packed and plain, and damaged meta files: refused with a reason, or answered with
// figures that hold together. OSORA_FUZZ_ROUNDS is small in the gate, large in the soak tier.
#include "base/files/files.hpp"
#include "db/analysis/whatif/gunzip.hpp"
#include "db/analysis/whatif/whatif.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/kit/size.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

namespace osora::fuzz {
namespace {

using namespace db::whatif;

int const kRounds = tests::test_size("OSORA_FUZZ_ROUNDS", 500);

std::string file(char const* name) {
    return read_file(std::filesystem::path(OSORA_SOURCE_DIR) / "tests/data/stragglers" / name)
        .value();
}

/// The first steps of the published trace.
std::string few_steps() {
    auto const csv = gunzip(file("ops-ST.csv.gz")).value();
    return csv.substr(0, csv.find("\r\n33,") + 2);
}

void check(WhatIf const& found) {
    EXPECT_GT(found.ideal_s, 0);
    EXPECT_TRUE(std::isfinite(found.slowdown) && found.slowdown > 0);
    EXPECT_FALSE(found.steps.empty());
    EXPECT_EQ(found.workers.size(),
              static_cast<std::size_t>(found.dp_size) * static_cast<std::size_t>(found.pp_size));
    EXPECT_LE(found.dp_size, found.shape.dp_size);
    for (auto const& [type, slowdown] : found.slowdown_of_type) {
        EXPECT_TRUE(std::isfinite(slowdown)) << type;
    }
    EXPECT_EQ(found.holder == Holder::none, found.slowdown < kStraggling);
}

TEST(Fuzz, TracesOfOps) {
    std::vector<std::string> const corpus{few_steps()};
    auto const shape = read_job_shape(file("meta-ST.yaml")).value();
    Mutator mutator(11);
    int answered = 0, refused = 0;
    for (int round = 0; round < kRounds; ++round) {
        auto const csv = mutator.mutate(corpus);
        auto const found = what_if(csv, shape);
        if (found.has_value()) {
            check(*found);
        } else {
            EXPECT_FALSE(found.error().message.empty());
        }
        ++(found.has_value() ? answered : refused);
        if (testing::Test::HasFailure()) FAIL() << "round " << round;
    }
    EXPECT_GT(answered, kRounds / 10);
    EXPECT_GT(refused, 0);
}

TEST(Fuzz, PackedFiles) {
    std::vector<std::string> const corpus{file("ops-ST.csv.gz").substr(0, 4096),
                                          file("ops-ST.csv.gz"),
                                          std::string("\x1f\x8b\x08\0\0\0\0\0\0\3", 10)};
    constexpr std::size_t kLimit = 100'000;
    Mutator mutator(12);
    for (int round = 0; round < kRounds; ++round) {
        auto const text = gunzip(mutator.mutate(corpus), kLimit);
        ASSERT_TRUE(text.has_error() || text->size() <= kLimit) << "round " << round;
    }
}

TEST(Fuzz, MetaFiles) {
    std::vector<std::string> const corpus{file("meta-ST.yaml"), "{dp_size: 2, pp_size: &a [*a]}",
                                          "dp_size: !!int 2\n? pp_size\n: 4\n"};
    Mutator mutator(13);
    for (int round = 0; round < kRounds; ++round) {
        auto const text = mutator.mutate(corpus);
        auto const shape = read_job_shape(text);
        if (shape.has_error()) continue;
        ASSERT_TRUE(shape->dp_size >= 1 && shape->pp_size >= 1 && shape->world_size >= 1) << text;
        ASSERT_EQ(shape->world_size,
                  shape->dp_size * shape->pp_size * shape->tp_size * shape->dsp_size)
            << text;
    }
}

}  // namespace
}  // namespace osora::fuzz
