#include "plan/layout/divisibility.hpp"

#include <gtest/gtest.h>

namespace osora::plan {
namespace {

constexpr CutLimits kXl{.heads = 16, .mlp_hidden = 4608, .blocks = 56, .tokens = 3600};

TEST(Divisibility, LegalLayoutHasNoViolations) {
    EXPECT_TRUE(
        layout_violations({.tp_size = 4, .pp_size = 2, .sp_size = 2, .dp_size = 8}, kXl, 128)
            .empty());
}

TEST(Divisibility, NamesTheRuleTheKeyAndTheNearestValues) {
    auto const broken = layout_violations({.tp_size = 5, .dp_size = 2}, kXl, 10);
    ASSERT_EQ(broken.size(), 3u);  // heads, mlp, heads by tp * sp
    EXPECT_EQ(broken[0].message(), "tp_size 5 does not divide 16 heads; nearest valid: 4, 8");
    EXPECT_EQ(broken[0].key, "parallel.tp_size");
    EXPECT_EQ(broken[2].key, "parallel.sp_size");
}

TEST(Divisibility, ARingNeedsNoDivisorOfTheHeads) {
    Layout layout{.sp_size = 3};
    ASSERT_EQ(layout_violations(layout, kXl, 3).size(), 1u);
    layout.sp_kind = SpKind::ring;
    EXPECT_TRUE(layout_violations(layout, kXl, 3).empty());
    layout.sp_size = 7;
    auto const broken = layout_violations(layout, kXl, 7);
    ASSERT_EQ(broken.size(), 1u);
    EXPECT_EQ(broken[0].message(), "sp_size 7 does not divide 3600 tokens; nearest valid: 6, 8");
}

TEST(Divisibility, AutoIsUlyssesWhereHeadsDivide) {
    EXPECT_EQ(sp_kind_of("auto", 16, 1, 8), SpKind::ulysses);
    EXPECT_EQ(sp_kind_of("auto", 16, 4, 8), SpKind::ring);
    EXPECT_EQ(sp_kind_of("auto", 16, 1, 3), SpKind::ring);
    EXPECT_EQ(sp_kind_of("ring", 16, 1, 8), SpKind::ring);
    EXPECT_EQ(sp_kind_of("ulysses", 16, 1, 3), SpKind::ulysses);
}

TEST(Divisibility, SaysWhenRanksWouldBeLeftOver) {
    auto const broken = layout_violations({.tp_size = 2, .dp_size = 3}, kXl, 7);
    ASSERT_EQ(broken.size(), 1u);
    EXPECT_EQ(broken[0].message(), "the sizes multiply to 6, not to world_size 7");
}

// Exhaustive over small worlds: a layout is legal exactly when every cut divides (written here a
// second way).
TEST(Divisibility, AgreesWithBruteForceOnSmallWorlds) {
    CutLimits const mmdit{.heads = 24, .mlp_hidden = 12288, .blocks = 6, .tokens = 920};
    for (CutLimits const& m : {kXl, mmdit})
        for (int world = 1; world <= 24; ++world)
            for (int tp = 1; tp <= world; ++tp)
                for (int sp = 1; sp * tp <= world; ++sp)
                    for (int pp = 1; pp * sp * tp <= world; ++pp) {
                        int const dp = world / (tp * sp * pp);
                        bool const legal = m.heads % tp == 0 && m.mlp_hidden % tp == 0 &&
                                           m.heads % (tp * sp) == 0 && m.tokens % sp == 0 &&
                                           pp <= m.blocks && tp * sp * pp * dp == world;
                        EXPECT_EQ(layout_violations({tp, pp, sp, dp}, m, world).empty(), legal)
                            << tp << ' ' << pp << ' ' << sp << ' ' << dp;
                    }
}

TEST(Divisibility, NearestDivisorsAreTheNearestOfAll) {
    for (std::int64_t total = 1; total <= 60; ++total)
        for (std::int64_t wanted = -2; wanted <= 70; ++wanted) {
            std::vector<std::int64_t> expected;
            for (std::int64_t d = 1; d <= total; ++d) {
                if (total % d != 0) continue;
                if (d <= wanted) {
                    expected = {d};
                } else {
                    expected.push_back(d);
                    break;
                }
            }
            EXPECT_EQ(nearest_divisors(total, wanted), expected) << total << ' ' << wanted;
        }
}

TEST(Divisibility, NearestMultiples) {
    EXPECT_EQ(nearest_multiples(4, 6), (std::vector<std::int64_t>{4, 8}));
    EXPECT_EQ(nearest_multiples(4, 3), (std::vector<std::int64_t>{4}));
    EXPECT_EQ(nearest_multiples(4, -7), (std::vector<std::int64_t>{4}));
}

TEST(Divisibility, TokensOfAllBucketsMustDivide) {
    ModelShape const xl = model_shape("stdit3-xl/2").value();
    CutLimits const limits = cut_limits(xl, {920, 144});
    EXPECT_EQ(limits.tokens, 8);
    EXPECT_EQ(limits.blocks, 56);
    EXPECT_EQ(limits.mlp_hidden, 4608);
    EXPECT_EQ(layout_violations({.sp_size = 16}, limits, 16).size(), 1u);
}

}  // namespace
}  // namespace osora::plan
