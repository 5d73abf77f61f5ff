// Assignment against recorded choices of Open-Sora 1.2, and shares against repeated draws.
#include "plan/buckets/assign.hpp"
#include "plan/buckets/hash.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <fstream>
#include <map>
#include <sstream>

namespace osora::plan {
namespace {

std::string const kData = OSORA_SOURCE_DIR "/tests/data/buckets/";

std::string content(std::string const& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<BucketEntry> config(std::string const& name) {
    auto const all = boost::json::parse(content(kData + "D_bucket_configs.json"));
    std::vector<BucketEntry> entries;
    for (auto const& [resolution, frames] : all.at(name).as_object()) {
        for (auto const& [num_frames, value] : frames.as_object()) {
            BucketEntry entry{.resolution = std::string(resolution),
                              .num_frames = std::stoi(std::string(num_frames))};
            auto const& prob = value.as_array()[0];
            if (prob.is_array()) {
                entry.keep_prob = prob.as_array()[0].to_number<double>();
                entry.frame_keep_prob = prob.as_array()[1].to_number<double>();
            } else {
                entry.keep_prob = prob.to_number<double>();
            }
            entries.push_back(entry);
        }
    }
    return entries;
}

int batch_size(std::string const& name, BucketEntry const& entry) {
    auto const all = boost::json::parse(content(kData + "D_bucket_configs.json"));
    auto const& frames = all.at(name).at(entry.resolution).at(std::to_string(entry.num_frames));
    return frames.as_array()[1].to_number<int>();
}

std::vector<std::string> split(std::string const& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
    return parts;
}

/// One recorded call of Open-Sora's get_bucket_id.
struct Recorded {
    std::string line, config;
    ClipShape clip;
    int frame_interval = 0;
    std::uint64_t seed = 0;
    std::vector<std::string> bucket;  // hw_id, t_id, ar_id, T, H, W, batch_size; empty: none
    std::size_t num_bucket = 0;
    std::map<std::size_t, std::vector<double>> draws;  // by entry
};

std::vector<Recorded> recorded(std::string const& file) {
    std::ifstream stream(kData + file);
    std::string line;
    std::getline(stream, line);
    std::vector<Recorded> rows;
    while (std::getline(stream, line)) {
        auto const cells = split(line + ", ", ',');
        Recorded row{.line = line,
                     .config = cells[0],
                     .clip = {std::stoi(cells[1]), std::stoi(cells[2]), std::stoi(cells[3])},
                     .frame_interval = std::stoi(cells[4]),
                     .seed = std::stoull(cells[5]),
                     .bucket = {},
                     .num_bucket = std::stoul(cells[13]),
                     .draws = {}};
        if (!cells[6].empty()) row.bucket.assign(cells.begin() + 6, cells.begin() + 13);
        for (std::string const& draw : split(cells[14], ';')) {
            auto const parts = split(draw, ':');
            if (parts.size() != 2) continue;
            row.draws[std::stoull(parts[0]) - row.seed].push_back(std::stod(parts[1]));
        }
        rows.push_back(row);
    }
    return rows;
}

void compare_with_recording(std::string const& file, std::size_t rows_expected) {
    auto const rows = recorded(file);
    EXPECT_EQ(rows.size(), rows_expected);
    for (Recorded const& expected : rows) {
        SCOPED_TRACE(expected.line);
        auto const table = *BucketTable::make(
            config(expected.config),
            {.frame_stride = expected.frame_interval, .rule = AssignRule::original});
        EXPECT_EQ(table.shape_count(), expected.num_bucket);
        std::map<std::size_t, std::vector<double>> drawn;
        Draw const draw = original_draws(expected.seed);
        auto const row = table.draw_row(expected.clip, [&](std::size_t entry, int k) {
            return drawn[entry].emplace_back(draw(entry, k));
        });
        // Open-Sora also draws where the clip is too short for the entry.
        for (auto const& [entry, values] : drawn) {
            ASSERT_TRUE(expected.draws.contains(entry)) << "entry " << entry;
            EXPECT_EQ(values, expected.draws.at(entry)) << "entry " << entry;
        }
        ASSERT_EQ(row.has_value(), !expected.bucket.empty());
        if (!row) continue;
        auto const& found = table.rows()[*row];
        std::size_t const shape = table.nearest(expected.clip, *row);
        EXPECT_EQ(found.entry.resolution, expected.bucket[0]);
        EXPECT_EQ(found.entry.num_frames, std::stoi(expected.bucket[1]));
        EXPECT_EQ(found.ratios[shape], std::stod(expected.bucket[2]));
        EXPECT_EQ(found.entry.num_frames, std::stoi(expected.bucket[3]));
        EXPECT_EQ(found.shapes[shape].height, std::stoi(expected.bucket[4]));
        EXPECT_EQ(found.shapes[shape].width, std::stoi(expected.bucket[5]));
        EXPECT_EQ(batch_size(expected.config, found.entry), std::stoi(expected.bucket[6]));
    }
}

TEST(Assign, OriginalRuleAgreesWithOpenSora) {
    compare_with_recording("D_buckets_keep1.csv", 110);
    compare_with_recording("D_buckets_stage1_prob.csv", 60);
}

TEST(Assign, SharesAreTheProbabilitiesOfTheDraws) {
    for (AssignRule rule : {AssignRule::osora, AssignRule::original}) {
        auto const table =
            *BucketTable::make(config("stage1"), {.images_from_videos = true, .rule = rule});
        for (ClipShape const clip : {ClipShape{450, 720, 1280}, {1, 720, 1280}, {60, 360, 640}}) {
            auto const shares = table.row_shares(clip);
            constexpr int kDraws = 40'000;
            std::vector<int> count(shares.size(), 0);
            for (std::uint64_t i = 0; i < kDraws; ++i) {
                auto const row = table.draw_row(clip, [i](std::size_t entry, int k) {
                    return unit_interval(hash64({i, entry, static_cast<std::uint64_t>(k)}));
                });
                if (row) ++count[*row];
            }
            for (std::size_t i = 0; i < shares.size(); ++i) {
                // 5 standard deviations of a share of 40,000 draws are at most 0.0125.
                EXPECT_NEAR(count[i] / double{kDraws}, shares[i], 0.0125) << "row " << i;
            }
        }
    }
}

TEST(Assign, EnoughFramesAreTheWindow) {
    auto const table = *BucketTable::make({{"64", 8}, {"64", 1}}, {.frame_stride = 3});
    EXPECT_TRUE(table.fits({22, 64, 64}, 0));  // 7 * 3 + 1
    EXPECT_FALSE(table.fits({21, 64, 64}, 0));
    EXPECT_FALSE(table.fits({22, 48, 64}, 0));  // 0.75 of the area
    EXPECT_TRUE(table.fits({22, 52, 64}, 0));   // 0.8125
    EXPECT_TRUE(table.fits({1, 64, 64}, 1));
    EXPECT_FALSE(table.fits({22, 64, 64}, 1));  // a video is no image ...
    auto const both = *BucketTable::make({{"64", 1}}, {.images_from_videos = true});
    EXPECT_TRUE(both.fits({22, 64, 64}, 0));  // ... unless asked for
}

TEST(Assign, FillsBucketsInTheOrderOfTheRunFile) {
    auto const table =
        *BucketTable::make({{"48", 4}, {"64", 8, 0.5}, {"512", 8}, {"64", 1}}, {.multiple = 8});
    std::vector<ClipShape> const clips{{8, 64, 64}, {8, 90, 160}, {8, 90, 160},
                                       {1, 64, 64}, {3, 64, 64},  {8, 10, 10}};
    BucketSet const set = fill_buckets(table, clips);
    ASSERT_EQ(set.buckets.size(), 5u);
    EXPECT_EQ(set.buckets[0].entry, 0u);
    EXPECT_EQ(set.buckets[0].key, (BucketKey{40, 64, 4}));  // two of 16:9, one square
    EXPECT_EQ(set.buckets[0].clips, (std::vector<std::uint32_t>{1, 2}));
    EXPECT_EQ(set.buckets[1].key, (BucketKey{48, 48, 4}));
    EXPECT_EQ(set.buckets[4].key, (BucketKey{64, 64, 1}));
    EXPECT_DOUBLE_EQ(set.buckets[2].weight, 1.0);  // half of two
    EXPECT_EQ(set.unused_clips, (std::vector<std::uint32_t>{4, 5}));
    EXPECT_EQ(set.empty_entries, (std::vector<std::size_t>{2}));
}

TEST(Assign, RefusesBadEntriesAllAtOnce) {
    auto const bad = BucketTable::make({{"359p", 4}, {"64", 0}, {"64", 8, 1.5}});
    for (std::string const part : {"359p", "num_frames must be >= 1", "keep_prob 1.5"}) {
        EXPECT_NE(bad.error().message.find(part), std::string::npos) << bad.error().message;
    }
    EXPECT_TRUE(BucketTable::make({}).has_error());
    EXPECT_NE(BucketTable::make({{"256", 4}, {"256", 4}}).error().message.find("twice"),
              std::string::npos);
}

}  // namespace
}  // namespace osora::plan
