// Files that are written, as the ffmpeg program shows them.
#include "worker/data/video_writer.hpp"
#include "tests/unit/worker/data/clips.hpp"
#include "worker/data/contact_sheet.hpp"
#include "worker/data/frames/decoder.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <filesystem>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;

/// A smooth picture that moves.
RgbFrames moving(int frames, int height, int width) {
    RgbFrames clip{{}, frames, height, width};
    for (int t = 0; t < frames; ++t)
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x)
                for (int c = 0; c < 3; ++c) {
                    double const wave = std::sin(0.11 * (x + 3 * t) + 0.07 * y + c);
                    clip.pixels.push_back(static_cast<std::uint8_t>(std::lround(128 + 90 * wave)));
                }
    return clip;
}

double psnr_db(RgbFrames const& clip, std::string const& shown, int shown_width) {
    double sum = 0;
    for (int t = 0; t < clip.frames; ++t) {
        std::size_t const frame_bytes = shown.size() / static_cast<std::size_t>(clip.frames);
        for (int y = 0; y < clip.height; ++y)
            for (int x = 0; x < clip.width * 3; ++x) {
                auto const at = static_cast<std::size_t>(t) * frame_bytes +
                                static_cast<std::size_t>(y) * shown_width * 3 + x;
                double const is = static_cast<std::uint8_t>(shown[at]);
                double const was = clip.frame(t)[static_cast<std::size_t>(y) * clip.width * 3 + x];
                sum += (is - was) * (is - was);
            }
    }
    return 10 * std::log10(255.0 * 255.0 * static_cast<double>(clip.pixels.size()) / sum);
}

class VideoWriter : public testing::Test {
protected:
    void SetUp() override {
        silence_ffmpeg();
        if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    }
    TempFolder folder_;
};

TEST_F(VideoWriter, PlayersShowWhatWasWritten) {
    for (auto const& [height, width] : {std::pair{48, 64}, std::pair{33, 47}}) {
        RgbFrames const clip = moving(9, height, width);
        auto const path = folder_.file("a clip: 1.mp4");
        auto const written = write_mp4(path, clip, 12.5);
        ASSERT_TRUE(written.has_value()) << written.error().message;
        EXPECT_EQ(written->bytes, static_cast<std::int64_t>(fs::file_size(path)));
        int const shown_width = (width + 1) / 2 * 2, shown_height = (height + 1) / 2 * 2;
        std::string const shown = all_frames(path, "rgb24", folder_.file("raw"));
        ASSERT_EQ(shown.size(), static_cast<std::size_t>(9 * shown_width * shown_height * 3));
        EXPECT_GE(psnr_db(clip, shown, shown_width), 32);
        // Our own reader, too.
        auto const facts = ClipDecoder().probe(path);
        ASSERT_TRUE(facts.has_value()) << facts.error().message;
        EXPECT_EQ(facts->num_frames, 9);
        EXPECT_NEAR(facts->fps, 12.5, 1e-3);
        EXPECT_EQ(fs::file_size(folder_.file("raw")), shown.size());
    }
}

TEST_F(VideoWriter, APictureIsExact) {
    RgbFrames const picture = moving(1, 37, 51);
    ASSERT_TRUE(write_png(folder_.file("p.png"), picture).has_value());
    std::string const shown = all_frames(folder_.file("p.png"), "rgb24", folder_.file("raw"));
    EXPECT_EQ(shown, std::string(picture.pixels.begin(), picture.pixels.end()));
}

TEST_F(VideoWriter, WhatCannotBeWrittenLeavesNothing) {
    RgbFrames const clip = moving(3, 32, 32);
    auto const message = [&](Result<WrittenVideo> const& result) {
        return result.has_error() ? result.error().message : "written";
    };
    std::string const nowhere = folder_.file("none/a.mp4");
    EXPECT_EQ(message(write_mp4(nowhere, clip, 24)),
              nowhere + ": write: No such file or directory");
    std::string const path = folder_.file("a.mp4");
    EXPECT_EQ(message(write_mp4(path, RgbFrames{}, 24)), path + ": no frame to write");
    EXPECT_EQ(message(write_mp4(path, clip, 0)), path + ": 0 frames/s; valid: 0.01 to 1000");
    EXPECT_EQ(message(write_mp4(path, clip, std::nan(""))),
              path + ": nan frames/s; valid: 0.01 to 1000");
    EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(VideoWriter, AFullDiskKeepsTheOldFile) {
    RgbFrames clip = moving(40, 128, 128);
    for (std::size_t i = 0; i < clip.pixels.size(); ++i)
        clip.pixels[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);  // compresses badly
    std::string const path = folder_.file("a.mp4");
    write_all(path, "old");
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit const small{20'000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    auto const written = write_mp4(path, clip, 24);
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    ASSERT_TRUE(written.has_error());
    EXPECT_EQ(written.error().message, path + ": write: File too large");
    EXPECT_EQ(read_all(path), "old");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
}

TEST(ContactSheet, FramesInReadingOrder) {
    RgbFrames clip{{}, 31, 64, 64};
    for (int t = 0; t < 31; ++t)
        clip.pixels.insert(clip.pixels.end(), clip.frame_bytes(), static_cast<std::uint8_t>(t));
    auto const sheet = contact_sheet(clip);
    EXPECT_EQ(sheet.frames, 1);
    EXPECT_EQ(sheet.height, 4 * (128 + 4) + 4);
    EXPECT_EQ(sheet.width, 4 * (128 + 4) + 4);
    auto const at = [&](int row, int column) {
        int const y = 4 + row * 132 + 64, x = 4 + column * 132 + 64;
        return sheet.pixels[(static_cast<std::size_t>(y) * sheet.width + x) * 3];
    };
    EXPECT_EQ(at(0, 0), 0);
    EXPECT_EQ(at(0, 1), 2);
    EXPECT_EQ(at(1, 0), 8);
    EXPECT_EQ(at(3, 3), 30);
    EXPECT_EQ(sheet.pixels[0], 32);
}

TEST(ContactSheet, WideClipsStandInFewColumns) {
    RgbFrames clip{std::vector<std::uint8_t>(5 * 144 * 256 * 3), 5, 144, 256};
    auto const sheet = contact_sheet(clip);
    EXPECT_EQ(sheet.width, 2 * 260 + 4);
    EXPECT_EQ(sheet.height, 3 * 148 + 4);
    RgbFrames one{std::vector<std::uint8_t>(8 * 8 * 3), 1, 8, 8};
    EXPECT_EQ(contact_sheet(one).width, 128 + 8);
}

}  // namespace
}  // namespace osora::worker
