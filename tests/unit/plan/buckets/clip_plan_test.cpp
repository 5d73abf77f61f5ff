// What training makes of each clip of a list, against the code that fills its buckets.
#include "plan/buckets/clip_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace osora::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ListRow listed(int num_frames, int height, int width, double fps = 25) {
    return {.name = "a.mp4",
            .path = "/d/a.mp4",
            .text = {},
            .num_frames = num_frames,
            .height = height,
            .width = width,
            .fps = fps,
            .line = 2,
            .fault = {}};
}

BucketTable table(std::vector<BucketEntry> entries, AssignOptions options) {
    auto made = BucketTable::make(std::move(entries), options);
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
}

BucketTable videos_and_images(AssignRule rule = AssignRule::osora) {
    return table({{.resolution = "256", .num_frames = 17, .keep_prob = 0.5},
                  {.resolution = "128", .num_frames = 9},
                  {.resolution = "128", .num_frames = 33}},
                 {.multiple = 16, .rule = rule});
}

TEST(ClipPlan, SaysBucketAndCrop) {
    auto const plan = plan_clip(videos_and_images(), listed(20, 360, 640));
    ASSERT_EQ(plan.places.size(), 2u);
    EXPECT_EQ(plan.kind, "");
    EXPECT_EQ(plan.places[0].entry, 0u);
    EXPECT_EQ(plan.places[0].key.num_frames, 17);
    EXPECT_DOUBLE_EQ(plan.places[0].share, 0.5);
    EXPECT_EQ(plan.places[1].entry, 1u);
    for (ClipPlace const& place : plan.places) {
        EXPECT_EQ(place.crop, centre_crop(640, 360, {place.key.height, place.key.width}));
        EXPECT_EQ(place.key.height % 16, 0);
        EXPECT_NEAR(static_cast<double>(place.key.width) / place.key.height, 16.0 / 9, 0.15);
    }
}

TEST(ClipPlan, SaysWhyAClipIsLeftOut) {
    auto const table = videos_and_images();
    struct Case {
        ListRow row;
        std::string_view kind;
        std::string reason;
    };
    auto broken = listed(20, 360, 640);
    broken.fault = "the path is empty";
    for (Case const& each : std::vector<Case>{
             {broken, "row", "the path is empty"},
             {listed(20, 0, 0), "unknown",
              "the row does not say height, width: run osora data index"},
             {listed(0, 360, 640), "unknown", "the row does not say num_frames"},
             {listed(8, 360, 640), "short", "it has 8 frames; 128 x 9 frames needs 9"},
             {listed(20, 64, 96), "small",
              "it has 96 x 64 = 6144 pixels; 128 x 9 frames needs 13108"},
             {listed(2, 64, 96), "small", "needs 13108"},
             {listed(1, 360, 640), "image", "no bucket has num_frames = 1"}}) {
        auto const plan = plan_clip(table, each.row);
        EXPECT_THAT(plan.places, IsEmpty()) << each.reason;
        EXPECT_EQ(plan.kind, each.kind) << plan.reason;
        EXPECT_THAT(plan.reason, HasSubstr(each.reason));
    }
    auto const original = videos_and_images(AssignRule::original);
    EXPECT_THAT(plan_clip(original, listed(9, 360, 640)).reason, HasSubstr("needs more than 9"));
    EXPECT_EQ(plan_clip(original, listed(10, 360, 640)).kind, "");
    auto const images = plan::BucketTable::make({{.resolution = "128", .num_frames = 1}});
    ASSERT_TRUE(images);
    EXPECT_EQ(plan_clip(*images, listed(9, 360, 640)).kind, "video");
}

/// Whether a reason is right: the numbers that it asks for are enough, one less is not.
TEST(ClipPlan, TheNumbersOfReasonsAreTheLimits) {
    auto const table = videos_and_images();
    EXPECT_EQ(plan_clip(table, listed(9, 360, 640)).kind, "");
    EXPECT_EQ(plan_clip(table, listed(9, 1, 13107)).kind, "small");
    EXPECT_EQ(plan_clip(table, listed(9, 1, 13108)).kind, "");
}

TEST(ClipPlan, AgreesWithTheBucketsOfTraining) {
    for (AssignRule const rule : {AssignRule::osora, AssignRule::original}) {
        auto const table = videos_and_images(rule);
        std::vector<ClipShape> shapes;
        ClipPlanTotals totals;
        std::map<std::pair<std::size_t, BucketKey>, double> weights;
        for (int i = 0; i < 600; ++i) {
            ClipShape const clip{
                .num_frames = 1 + i % 41, .height = 60 + 37 * i % 500, .width = 60 + 91 * i % 700};
            shapes.push_back(clip);
            auto const row = listed(clip.num_frames, clip.height, clip.width);
            auto const plan = plan_clip(table, row);
            totals.add(row, plan);
            EXPECT_EQ(plan.places.empty(), !plan.kind.empty());
        }
        auto const set = fill_buckets(table, shapes);
        auto const summary = totals.summary(table.rows().size());
        EXPECT_EQ(summary.rows, 600);
        EXPECT_EQ(summary.rows - summary.used, std::ssize(set.unused_clips));
        ASSERT_EQ(summary.buckets.size(), set.buckets.size());
        for (auto const& bucket : summary.buckets)
            weights[{bucket.entry, bucket.key}] = bucket.weight;
        for (std::size_t i = 0; i < set.buckets.size(); ++i) {
            auto const& bucket = set.buckets[i];
            EXPECT_NEAR((weights[{bucket.entry, bucket.key}]), bucket.weight, 1e-4);
            EXPECT_EQ(summary.buckets[i].entry, bucket.entry);
            EXPECT_EQ(summary.buckets[i].clips, std::ssize(bucket.clips));
        }
    }
}

TEST(ClipPlan, CountsTimeOnceOverTheBuckets) {
    auto const table = videos_and_images();
    ClipPlanTotals totals;
    for (ListRow const& row : {listed(50, 360, 640), listed(50, 360, 640, 0), listed(2, 360, 640)})
        totals.add(row, plan_clip(table, row));
    auto const summary = totals.summary(3);
    EXPECT_EQ(summary.used, 2);
    EXPECT_NEAR(summary.seconds, 2.0, 1e-9);
    EXPECT_NEAR(summary.weight, 2.0, 1e-9);
    EXPECT_EQ(summary.without_rate, 1);
    EXPECT_THAT(summary.left_out,
                ElementsAre(std::pair<std::string const, std::int64_t>("short", 1)));
    EXPECT_THAT(summary.empty_entries, ElementsAre(1));  // longer clips go to 33 frames
}

TEST(ListRows, AreThoseOfTraining) {
    std::vector<ListRow> rows;
    auto const take = [&rows](ListRow row) { rows.push_back(std::move(row)); };
    auto const done = read_list_rows(
        "path,text,num_frames,height,width,fps\n"
        "a.mp4,\"x, y\",51.0,360,640,30000/1001\n"
        "b.mp4,x,7\n"
        "../c.mp4,x,many,1,1,\n"
        "d.mp4,\"open,9,1,1,\ne.mp4,x,9,1,1,\n",
        "/d", {}, take);
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_EQ(rows.size(), 5u);
    EXPECT_EQ(rows[0].path, "/d/a.mp4");
    EXPECT_EQ(rows[0].num_frames, 51);
    EXPECT_NEAR(rows[0].fps, 29.97, 0.01);
    EXPECT_THAT(rows[1].fault, HasSubstr("it has 3 fields, the header has 6"));
    EXPECT_EQ(rows[2].path, "/c.mp4");
    EXPECT_THAT(rows[2].fault, HasSubstr("num_frames"));
    EXPECT_EQ(rows[2].num_frames, 0);
    EXPECT_THAT(rows[3].fault, HasSubstr("a quote is opened and never closed"));
    EXPECT_EQ(rows[4].fault, "");
    EXPECT_EQ(rows[4].line, 6);
    auto const empty = read_list_rows("path\n", "/d", {}, take);
    ASSERT_FALSE(empty);
    EXPECT_THAT(empty.error().message, HasSubstr("lists no clip"));
    EXPECT_THAT(read_list_rows("PAR1", "/d", {}, take).error().message, HasSubstr("Parquet"));
}

}  // namespace
}  // namespace osora::plan
