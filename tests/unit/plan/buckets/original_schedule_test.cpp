// The original order against Open-Sora's sampler, and as a schedule.
#include "plan/buckets/original_schedule.hpp"

#include "base/text/csv.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

namespace osora::plan {
namespace {

std::string golden(std::string const& name) {
    std::ifstream file(OSORA_SOURCE_DIR "/tests/data/buckets/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
}

struct Setting {
    std::vector<BucketEntry> entries;
    std::vector<std::int64_t> batches;  // of a rank
    std::vector<ClipShape> clips;
    int frame_interval = 1;

    [[nodiscard]] BucketTable table() const {
        return *BucketTable::make(entries,
                                  {.frame_stride = frame_interval, .rule = AssignRule::original});
    }
    [[nodiscard]] OriginalSchedule schedule(std::uint64_t seed, int dp_size) const {
        std::vector<std::int64_t> global;
        for (std::int64_t const batch : batches) global.push_back(batch * dp_size);
        return *OriginalSchedule::make(table(), clips, global, {.seed = seed, .dp_size = dp_size});
    }
};

Setting recorded_setting() {
    auto const json = boost::json::parse(golden("D_sampler.json"));
    Setting setting;
    for (auto const& [resolution, frames] : json.at("config").as_object()) {
        for (auto const& [num_frames, value] : frames.as_object()) {
            BucketEntry entry{.resolution = std::string(resolution),
                              .num_frames = std::stoi(std::string(num_frames))};
            auto const& keep = value.as_array()[0];
            entry.keep_prob = (keep.is_array() ? keep.as_array()[0] : keep).to_number<double>();
            if (keep.is_array()) entry.frame_keep_prob = keep.as_array()[1].to_number<double>();
            setting.entries.push_back(entry);
            setting.batches.push_back(value.as_array()[1].to_number<std::int64_t>());
        }
    }
    for (auto const& clip : json.at("clips").as_array()) {
        auto const sizes = boost::json::value_to<std::vector<int>>(clip);
        setting.clips.push_back({sizes[0], sizes[1], sizes[2]});
    }
    setting.frame_interval = json.at("frame_interval").to_number<int>();
    return setting;
}

std::vector<std::uint32_t> numbers(std::string const& text) {
    std::istringstream stream(text);
    return {std::istream_iterator<std::uint32_t>(stream), {}};
}

using Case = std::tuple<std::uint64_t, int>;                   // seed, dp_size
using StepOf = std::tuple<std::uint64_t, std::uint64_t, int>;  // epoch, step of the epoch, rank

struct RecordedStep {
    BucketKey key;
    std::vector<std::uint32_t> clips;
};

std::map<Case, std::map<StepOf, RecordedStep>> recorded_steps() {
    std::map<Case, std::map<StepOf, RecordedStep>> cases;
    std::string const text = golden("D_sampler.csv");
    CsvReader reader(text);
    (void)reader.next();
    while (auto const row = reader.next()) {
        auto const& cells = row->fields;
        cases[{std::stoull(cells[0]), std::stoi(cells[1])}]
             [{std::stoull(cells[2]), std::stoull(cells[3]), std::stoi(cells[4])}] = {
                 .key = {std::stoi(cells[6]), std::stoi(cells[7]), std::stoi(cells[5])},
                 .clips = numbers(cells[8])};
    }
    return cases;
}

std::vector<std::uint32_t> clips_of(std::vector<SampleRef> const& refs) {
    std::vector<std::uint32_t> clips;
    for (SampleRef const& ref : refs) clips.push_back(ref.clip);
    return clips;
}

TEST(OriginalSchedule, EveryStepIsOpenSorasOwn) {
    Setting const setting = recorded_setting();
    auto const cases = recorded_steps();
    ASSERT_EQ(cases.size(), 4u);
    for (auto const& [which, steps] : cases) {
        auto const [seed, dp_size] = which;
        OriginalSchedule const schedule = setting.schedule(seed, dp_size);
        std::uint64_t run_step = 0;
        int rank_before = -1;
        for (auto const& [place, expected] : steps) {
            auto const [epoch, step, rank] = place;
            if (rank_before >= rank) ++run_step;
            rank_before = rank;
            auto const refs = schedule.rank_samples(run_step, rank, dp_size);
            EXPECT_EQ(clips_of(refs), expected.clips)
                << "seed " << seed << " epoch " << epoch << " step " << step << " rank " << rank;
            EXPECT_EQ(schedule.buckets()[refs.front().bucket].key, expected.key);
            EXPECT_EQ(refs.front().epoch, epoch);
            EXPECT_EQ(refs.front().bucket, schedule.bucket_of(run_step, rank));
        }
    }
}

TEST(OriginalSchedule, AnyStepAloneIsTheUninterruptedOrder) {
    Setting const setting = recorded_setting();
    OriginalSchedule const whole = setting.schedule(7, 2);
    std::vector<std::vector<SampleRef>> order;
    for (std::uint64_t step = 0; step < 60; ++step) {
        for (int rank : {0, 1}) order.push_back(whole.rank_samples(step, rank, 2));
    }
    for (std::uint64_t const step : {59ull, 0ull, 13ull, 40ull, 12ull}) {
        OriginalSchedule const resumed = setting.schedule(7, 2);
        EXPECT_EQ(resumed.rank_samples(step, 1, 2), order[2 * step + 1]) << step;
        EXPECT_EQ(whole.rank_samples(step, 0, 2), order[2 * step]) << step;
    }
}

TEST(OriginalSchedule, RanksOftenHaveOtherBucketsAndClipsComeOnceAnEpoch) {
    OriginalSchedule const schedule = recorded_setting().schedule(3, 2);
    std::set<std::pair<std::uint64_t, std::uint32_t>> seen;
    std::set<std::uint64_t> randoms;
    std::size_t samples = 0;
    int different = 0;
    for (std::uint64_t step = 0; step < 100; ++step) {
        std::vector<std::size_t> buckets;
        for (int rank : {0, 1}) {
            auto const refs = schedule.rank_samples(step, rank, 2);
            buckets.push_back(refs.front().bucket);
            for (SampleRef const& ref : refs) {
                EXPECT_TRUE(seen.insert({ref.epoch, ref.clip}).second);
                randoms.insert(ref.random);
                ++samples;
                auto const& clips = schedule.buckets()[ref.bucket].clips;
                EXPECT_TRUE(std::ranges::binary_search(clips, ref.clip));
            }
        }
        different += buckets[0] != buckets[1] ? 1 : 0;
    }
    EXPECT_EQ(randoms.size(), samples);
    EXPECT_GT(different, 30);
}

TEST(OriginalSchedule, RefusesTooFewClips) {
    Setting setting = recorded_setting();
    auto const table = setting.table();
    std::vector<std::int64_t> const large(setting.batches.size(), 1000);
    auto const none =
        OriginalSchedule::make(table, setting.clips, large, {.seed = 1, .dp_size = 2});
    EXPECT_NE(none.error().message.find("do not fill one batch for each of 2 ranks"),
              std::string::npos);
    auto const odd = OriginalSchedule::make(table, setting.clips, large, {.seed = 1, .dp_size = 3});
    EXPECT_EQ(odd.error().code, Errc::not_divisible);
    EXPECT_EQ(OriginalSchedule::make(table, {}, large, {}).error().code, Errc::invalid_input);
}

}  // namespace
}  // namespace osora::plan
