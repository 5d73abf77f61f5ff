// How many notices a list of unusable rows makes.
#include "worker/data/skipped_rows.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace osora::worker {
namespace {

std::vector<SkippedRow> skipped_rows(int count) {
    std::vector<SkippedRow> rows;
    for (int i = 0; i < count; ++i)
        rows.push_back({i + 2, "/data/" + std::to_string(i) + ".mp4", "no such file"});
    return rows;
}

TEST(SkippedRows, AFewAreAllNamed) {
    EXPECT_TRUE(describe_skipped({}, "clips.csv").empty());
    auto const lines = describe_skipped(skipped_rows(10), "clips.csv");
    ASSERT_EQ(lines.size(), 10u);
    EXPECT_EQ(lines.front(), "clips.csv:2: /data/0.mp4: no such file");
    EXPECT_EQ(lines.back(), "clips.csv:11: /data/9.mp4: no such file");
}

/// A list made for another mount point, for example.
TEST(SkippedRows, ManyAreCounted) {
    auto const lines = describe_skipped(skipped_rows(200'000), "clips.csv");
    ASSERT_EQ(lines.size(), 11u);
    EXPECT_EQ(lines.back(),
              "199990 more rows of clips.csv are not used; osora data check --manifest clips.csv "
              "names them all");
}

}  // namespace
}  // namespace osora::worker
