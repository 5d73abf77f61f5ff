// Damaged files of many kinds: each is found with its reason, none crashes or holds up the check.
#include "worker/clips/check.hpp"

#include "tests/unit/worker/data/clips.hpp"
#include "worker/data/frames/decoder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>

namespace osora::worker {
namespace {

class Check : public testing::Test {
protected:
    void SetUp() override {
        silence_ffmpeg();
        if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
        ASSERT_TRUE(
            make_clip(folder_.file("good.mp4"), "128x96", 1.0,
                      {"-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart"}));
        content_ = read_all(folder_.file("good.mp4"));
    }

    [[nodiscard]] Result<protocol::ClipCheck> check(std::string const& csv, bool full = false,
                                                    int workers = 2, double deadline_s = 20) {
        write_all(folder_.file("clips.csv"), csv);
        return check_clips({.manifest = folder_.file("clips.csv"),
                            .full = full,
                            .deadline_s = deadline_s,
                            .workers = workers});
    }

    TempFolder folder_;
    std::string content_;
};

TEST_F(Check, EveryKindHasItsReason) {
    write_all(folder_.file("empty.mp4"), "");
    write_all(folder_.file("page.mp4"), "<html><head>\n<title>404 Not Found</title>");
    write_all(folder_.file("zeros.mp4"), std::string(10'000, '\0'));
    write_all(folder_.file("video.txt"), content_);  // what is in it counts
    ASSERT_EQ(mkfifo(folder_.file("pipe.mp4").c_str(), 0600), 0);
    auto const checked = check(
        "path,num_frames\ngood.mp4,25\nnone.mp4,\nempty.mp4,\npage.mp4,\nzeros.mp4,\n"
        "pipe.mp4,\ngood.mp4,26\ngood.mp4,-1\nvideo.txt,\n");
    ASSERT_TRUE(checked) << checked.error().message;
    EXPECT_EQ(checked->checked, 9);
    EXPECT_EQ(checked->mode, "quick");
    std::vector<std::string> found;
    for (auto const& clip : checked->damaged) {
        found.push_back(fmt::format("{} {} {}: {}", clip.line, clip.path, clip.kind, clip.reason));
    }
    std::vector<std::string> const expected{
        "3 none.mp4 missing: no such file",
        "4 empty.mp4 empty: the file is empty",
        "5 page.mp4 damaged: no video but text: \"<html><head>\"",
        "6 zeros.mp4 damaged: open: Invalid data found when processing input",
        "7 pipe.mp4 damaged: open: not a regular file",
        "8 good.mp4 short: it has 25 frames, the row says 26",
        "9 good.mp4 row: num_frames \"-1\" is not a positive number"};
    EXPECT_EQ(found, expected);
}

TEST_F(Check, SizesAreThoseThatPlayersShow) {
    ASSERT_TRUE(make_clip(folder_.file("wide.mp4"), "96x96", 0.4,
                          {"-vf", "setsar=4/3", "-c:v", "libx264", "-pix_fmt", "yuv420p"}));
    auto const checked =
        check("path,height,width\nwide.mp4,96,128\nwide.mp4,96,96\nwide.mp4,50,50\nwide.mp4,,\n");
    ASSERT_TRUE(checked) << checked.error().message;
    ASSERT_EQ(checked->damaged.size(), 2u);
    EXPECT_EQ(checked->damaged[0].kind, "size");
    EXPECT_EQ(checked->damaged[0].reason,
              "the row says 96 x 96, as the file stores it, players show 128 x 96");
    EXPECT_EQ(checked->damaged[1].reason, "the row says 50 x 50, players show 128 x 96");
}

TEST_F(Check, AFileThatMayNotBeReadIsUnreadable) {
    if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
    chmod(folder_.file("good.mp4").c_str(), 0);
    auto const checked = check("path\ngood.mp4\n");
    ASSERT_TRUE(checked) << checked.error().message;
    ASSERT_EQ(checked->damaged.size(), 1u);
    EXPECT_EQ(checked->damaged[0].kind, "unreadable");
}

// 8 GiB that would be read to their end for want of an index.
TEST_F(Check, AnEndlessFileEndsAtTheDeadline) {
    std::string const path = folder_.file("endless.ts");
    ASSERT_TRUE(make_clip(path, "64x48", 0.4, {"-c:v", "mpeg2video"}));
    ASSERT_EQ(truncate(path.c_str(), off_t{8} << 30), 0);
    auto const checked = check("path\nendless.ts\ngood.mp4\n", false, 2, 0.3);
    ASSERT_TRUE(checked) << checked.error().message;
    ASSERT_GE(checked->damaged.size(), 1u);
    EXPECT_EQ(checked->damaged[0].kind, "slow") << checked->damaged[0].reason;
}

TEST_F(Check, DamageOfManyKindsNeverCrashesAndIsTheSameWithAnyWorkers) {
    std::string csv = "path,num_frames\n";
    auto const add = [&](std::string const& name, std::string const& content) {
        write_all(folder_.file(name), content);
        csv += name + ",25\n";
    };
    constexpr int kCut = 24, kFlipped = 24;
    for (int i = 0; i < kCut; ++i) {
        add(fmt::format("cut{}.mp4", i), content_.substr(0, content_.size() * i / kCut));
    }
    std::mt19937 random(11);
    for (int i = 0; i < kFlipped; ++i) {
        std::string bad = content_;
        for (int flip = 0; flip < 20; ++flip) {
            std::size_t const end = i % 2 == 0 ? bad.size() : 1500;
            std::size_t const at = random() % end;
            bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 8));
        }
        add(fmt::format("flipped{}.mp4", i), bad);
    }
    add("text.mp4", "just text, whatever the name says");
    csv += "good.mp4,25\n";
    for (bool const full : {false, true}) {
        auto const first = check(csv, full, 0);
        ASSERT_TRUE(first) << first.error().message;
        EXPECT_EQ(first->checked, kCut + kFlipped + 2);
        // All that was cut; of the flipped ones a quick check sees the headers' at least.
        EXPECT_GT(first->damaged.size(), static_cast<std::size_t>(kCut + kFlipped / 4));
        for (int i = 0; i < kCut; ++i) {
            EXPECT_EQ(first->damaged.at(static_cast<std::size_t>(i)).line, i + 2) << full;
        }
        EXPECT_NE(first->damaged.back().path, "good.mp4");
        auto const second = check(csv, full, 3);
        ASSERT_TRUE(second) << second.error().message;
        EXPECT_EQ(protocol::encode(*first), protocol::encode(*second));
    }
}

TEST_F(Check, TheManifestItselfMayBeWrong) {
    EXPECT_EQ(check("file\ngood.mp4\n").error().code, Errc::invalid_input);
    EXPECT_EQ(check("path\n").error().code, Errc::invalid_input);
    EXPECT_EQ(check_clips({.manifest = folder_.file("none.csv")}).error().code, Errc::not_found);
}

}  // namespace
}  // namespace osora::worker
