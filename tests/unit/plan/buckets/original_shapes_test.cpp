// The original's shapes against those in the recorded bucket choices, and their areas.
#include "plan/buckets/original_shapes.hpp"

#include "base/text/csv.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace osora::plan {
namespace {

TEST(OriginalShapes, AreThoseOfTheRecordedBuckets) {
    int rows = 0;
    for (std::string const name : {"keep1", "stage1_prob"}) {
        std::ifstream file(OSORA_SOURCE_DIR "/tests/data/buckets/D_buckets_" + name + ".csv");
        std::string const text{std::istreambuf_iterator<char>(file), {}};
        CsvReader reader(text);
        (void)reader.next();
        while (auto const row = reader.next()) {
            auto const& cells = row->fields;
            if (cells[6].empty()) continue;
            auto const shapes = original_shapes(cells[6]);
            auto const found =
                std::ranges::find(shapes, std::stod(cells[8]), &OriginalShape::ratio);
            ASSERT_NE(found, shapes.end()) << cells[6] << " " << cells[8];
            EXPECT_EQ(found->shape, (AspectShape{std::stoi(cells[10]), std::stoi(cells[11])}));
            ++rows;
        }
    }
    EXPECT_GT(rows, 80);
}

TEST(OriginalShapes, HaveTheirAreaAndRatio) {
    for (std::string const name : {"144p", "240p", "360p", "480p", "720p", "1080p", "2k", "4k",
                                   "256", "512", "1024", "2048"}) {
        auto const shapes = original_shapes(name);
        bool const square = name.find_first_of("pk") == std::string::npos;
        ASSERT_EQ(shapes.size(), square ? 40u : 17u) << name;
        auto const area = static_cast<double>(*resolution_area(name));
        for (auto const& [ratio, shape] : shapes) {
            EXPECT_NEAR(shape.height * double(shape.width) / area, 1.0, square ? 0.11 : 0.03)
                << name << " " << ratio;
            EXPECT_NEAR(shape.height / double(shape.width), ratio, 0.006 + 0.01 * ratio)
                << name << " " << ratio;
        }
        EXPECT_TRUE(std::ranges::is_sorted(shapes, {}, &OriginalShape::ratio)) << name;
    }
    EXPECT_TRUE(original_shapes("300").empty());
    EXPECT_TRUE(original_shapes("nonsense").empty());
}

TEST(OriginalShapes, TheFirstOfTwoNearestRatiosIsTaken) {
    std::vector<double> const ratios{0.5, 1.0, 1.5};
    EXPECT_EQ(nearest_ratio(ratios, 125, 100), 1u);
    EXPECT_EQ(nearest_ratio(ratios, 126, 100), 2u);
    EXPECT_EQ(nearest_ratio(ratios, 1, 100), 0u);
}

}  // namespace
}  // namespace osora::plan
