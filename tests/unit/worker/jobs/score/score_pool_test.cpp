// The ranks of a score run as pools over one counter, compared with the file of `osora data score`.
#include "worker/jobs/score/score_pool.hpp"

#include "protocol/clip_score.hpp"
#include "tests/unit/worker/data/clips.hpp"
#include "worker/clips/score.hpp"
#include "worker/data/frames/decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

namespace osora::worker {
namespace {

using testing::HasSubstr;

TEST(ScoreBlock, IsSmallSoThatRanksEndTogether) {
    EXPECT_EQ(score_block(3, 8), 1u);
    EXPECT_EQ(score_block(0, 0), 1u);
    EXPECT_EQ(score_block(64 * 8 * 5, 8), 5u);
    EXPECT_EQ(score_block(10'000'000, 64), 32u);
}

class ScoreRanks : public testing::Test {
protected:
    void SetUp() override {
        silence_ffmpeg();
        if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
        std::string list = "path,text\n";
        for (int i = 0; i < 7; ++i) {
            std::string const name = "clip, \"" + std::to_string(i) + "\".mp4";
            ASSERT_TRUE(make_clip(folder_.file(name), i % 2 == 0 ? "96x64" : "64x96", 0.6 + i * 0.2,
                                  {"-c:v", "libx264", "-pix_fmt", "yuv420p"}));
            list += "\"clip, \"\"" + std::to_string(i) + "\"\".mp4\",x\n";
        }
        write_all(folder_.file("damaged.mp4"), std::string(2000, 'x'));
        list += "damaged.mp4,x\ngone.mp4,x\n\"unclosed.mp4,x\n";
        write_all(folder_.file("clips.csv"), list);
        auto clips = list_clips(folder_.file("clips.csv"));
        ASSERT_TRUE(clips) << clips.error().message;
        clips_ = std::move(*clips);
        ASSERT_EQ(clips_.size(), 10u);
        asked_ = *asked_scores({"blur", "cuts", "motion"}, 4, 30);
        key_ = score_key(clips_, asked_);
    }
    [[nodiscard]] std::string by_data_score() {
        auto const done = score_clips({.manifest = folder_.file("clips.csv"),
                                       .scores = {"motion", "blur", "cuts"},
                                       .frames = 4,
                                       .out = folder_.file("alone.csv"),
                                       .workers = 2});
        EXPECT_TRUE(done) << done.error().message;
        return read_all(folder_.file("alone.csv"));
    }
    [[nodiscard]] ShardIndex rows() {
        auto index = read_shards(shards(), key_, clips_.size());
        EXPECT_TRUE(index) << index.error().message;
        return std::move(*index);
    }
    [[nodiscard]] std::vector<ScoreTools> tools() const {
        auto made = score_tools(asked_, {.threads = 2});
        EXPECT_TRUE(made) << made.error().message;
        return std::move(*made);
    }
    [[nodiscard]] std::filesystem::path shards() const { return folder_.path() / "score"; }
    /// Ranks of one attempt; each stops when `clips_max` clips of all are done.
    std::int64_t attempt(int number, int ranks, std::int64_t clips_max = 1000) {
        ShardIndex const had = rows();
        std::atomic<std::int64_t> counter = 0;
        auto const next = [&]() -> Result<std::int64_t> { return counter++; };
        std::vector<std::unique_ptr<ScorePool>> pools;
        for (int rank = 0; rank < ranks; ++rank) {
            auto writer = ShardWriter::open(shards(), key_, number, rank);
            EXPECT_TRUE(writer) << writer.error().message;
            pools.push_back(ScorePool::start({.clips = clips_,
                                              .asked = asked_,
                                              .had = had,
                                              .block = 2,
                                              .next = next,
                                              .tools = tools()},
                                             std::move(*writer)));
        }
        std::int64_t done = 0;
        auto const all_ended = [&] {
            return std::ranges::all_of(pools, [](auto const& each) { return each->ended(); });
        };
        for (bool last = false; !last;) {
            last = all_ended();
            for (auto& each : pools) done += each->take().clips;
            if (done >= clips_max) {
                for (auto& each : pools) each->stop();
            }
            std::this_thread::yield();
        }
        for (auto& each : pools) EXPECT_TRUE(each->result());
        return done;
    }
    [[nodiscard]] std::string merged() {
        auto const output = folder_.path() / "scores.csv";
        auto const done = merge_shards(rows(), score_header(asked_.columns()), output);
        EXPECT_TRUE(done) << done.error().message;
        return read_all(output);
    }

    TempFolder folder_;
    std::vector<ListedClip> clips_;
    AskedScores asked_;
    ScoreKey key_;
};

TEST_F(ScoreRanks, GiveTheFileOfDataScore) {
    std::string const wanted = by_data_score();
    EXPECT_THAT(wanted, HasSubstr("gone.mp4,,,,,4,0,0,missing: "));
    EXPECT_THAT(wanted, HasSubstr("unclosed"));
    EXPECT_EQ(attempt(0, 3), 10);
    EXPECT_EQ(merged(), wanted);
    EXPECT_EQ(attempt(1, 2), 0);  // nothing is done twice
    EXPECT_EQ(merged(), wanted);
}

TEST_F(ScoreRanks, GoOnAfterAStopAndAfterACutFile) {
    std::string const wanted = by_data_score();
    auto const before = attempt(0, 1, 3);
    EXPECT_GE(before, 3);
    EXPECT_EQ(rows().rows, before);
    std::string const file = (shards() / "0-0.rows").string();
    std::string const whole = read_all(file);
    write_all(file, whole.substr(0, whole.size() - 5));  // killed while it was written
    EXPECT_EQ(rows().rows, before - 1);
    // The same attempt again appends to its file; bytes that a crash left are passed over.
    write_all(file, whole.substr(0, whole.size() - 5) + std::string(40, '\0'));
    EXPECT_EQ(attempt(0, 1) + before - 1, 10);
    EXPECT_EQ(merged(), wanted);
}

class ThrowingReader final : public ClipReader {
public:
    [[nodiscard]] Result<DecodedClip> read(std::string const&, std::atomic<bool> const*) override {
        throw std::runtime_error("no room");
    }
};

/// Not the end of the process.
TEST_F(ScoreRanks, AnExceptionOfAThreadIsAnErrorThatNamesTheClip) {
    ShardIndex const had = rows();
    auto writer = ShardWriter::open(shards(), key_, 0, 0);
    ASSERT_TRUE(writer) << writer.error().message;
    std::vector<ScoreTools> tools(1);
    tools[0].reader = std::make_unique<ThrowingReader>();
    std::atomic<std::int64_t> counter = 0;
    auto const next = [&]() -> Result<std::int64_t> { return counter++; };
    auto const pool = ScorePool::start({.clips = clips_,
                                        .asked = asked_,
                                        .had = had,
                                        .block = 2,
                                        .next = next,
                                        .tools = std::move(tools)},
                                       std::move(*writer));
    while (!pool->ended()) std::this_thread::yield();
    ASSERT_TRUE(pool->result().has_error());
    EXPECT_EQ(pool->result().error().message, "score: " + clips_[0].name + ": no room");
}

TEST_F(ScoreRanks, LeaveRowsOfAnotherListAlone) {
    EXPECT_EQ(attempt(0, 1), 10);
    clips_[3].name = "other.mp4";
    key_ = score_key(clips_, asked_);
    auto const none = rows();
    EXPECT_EQ(none.rows, 0);
    auto const merge = merge_shards(none, "path\n", folder_.path() / "scores.csv");
    ASSERT_TRUE(merge.has_error());
    EXPECT_EQ(merge.error().code, Errc::corrupt);
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "scores.csv"));
    asked_.frames = 5;
    EXPECT_NE(score_key(clips_, asked_).list, key_.list);
}

TEST_F(ScoreRanks, RefuseRowsOfAnotherModel) {
    asked_.models = {{.score = "aesthetic", .file = "a.pt", .hash = "0123456789abcdef"}};
    auto const key = score_key(clips_, asked_);
    auto writer = ShardWriter::open(shards(), key, 0, 0);
    ASSERT_TRUE(writer);
    writer->add(2, {.path = "x", .cells = {"1"}});
    ASSERT_TRUE(writer->sync());
    auto const same = read_shards(shards(), key, clips_.size());
    ASSERT_TRUE(same) << same.error().message;
    EXPECT_TRUE(same->has(2));
    asked_.models[0].hash = "fedcba9876543210";
    auto const other = score_key(clips_, asked_);
    EXPECT_EQ(other.list, key.list);
    auto const refused = read_shards(shards(), other, clips_.size());
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, Errc::invalid_input);
    EXPECT_THAT(refused.error().message, HasSubstr("aesthetic=0123456789abcdef"));
    // Without the score the rows are of other columns: left alone.
    asked_.models.clear();
    auto const none = read_shards(shards(), score_key(clips_, asked_), clips_.size());
    ASSERT_TRUE(none);
    EXPECT_EQ(none->rows, 0);
}

TEST_F(ScoreRanks, EndWithTheErrorOfTheCounter) {
    ShardIndex const had = rows();
    auto const next = []() -> Result<std::int64_t> { return Error{Errc::unreachable, "store"}; };
    auto writer = ShardWriter::open(shards(), key_, 0, 0);
    ASSERT_TRUE(writer);
    auto const pool = ScorePool::start(
        {.clips = clips_, .asked = asked_, .had = had, .block = 1, .next = next, .tools = tools()},
        std::move(*writer));
    while (!pool->ended()) std::this_thread::yield();
    ASSERT_TRUE(pool->result().has_error());
    EXPECT_EQ(pool->result().error().code, Errc::unreachable);
}

}  // namespace
}  // namespace osora::worker
