// Samples from checkpoints of the real trainer, as files that ffmpeg decodes.
#include "tests/e2e_worker/sample_fixture.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace osora::tests {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Sample : public SampleTest {
protected:
    void SetUp() override {
        SampleTest::SetUp();
        encode_clip(
            {"-f", "lavfi", "-i", "testsrc2=size=32x32:rate=12:duration=2", "-frames:v", "4"});
    }
};

TEST_F(Sample, BothFamiliesGiveAClipThatPlaysAndASheet) {
    for (char const* arch : {"stdit3-tiny", "mmdit-tiny"}) {
        train(arch, 4, 2);
        auto const out = sampled({run_dir().string(), "--steps", "2"});
        EXPECT_EQ(out.at("arch").as_string(), arch);
        EXPECT_EQ(out.at("step").as_int64(), 2);
        EXPECT_EQ(out.at("weights").as_string(), "ema");
        EXPECT_EQ(out.at("caption").as_string(), "null");
        fs::path const video(std::string(out.at("video").as_string()));
        EXPECT_EQ(video, run_dir() / "samples" / "step-00000002-seed-42.mp4");
        EXPECT_EQ(frames_of(video).size(), 4u * 32 * 32 * 3);
        EXPECT_EQ(out.at("fps").to_number<double>(), 12);
        fs::path const sheet(std::string(out.at("sheet").as_string()));
        auto const pixels = frames_of(sheet);  // 2 columns of 2 rows, 128 a side
        EXPECT_EQ(pixels.size(), (2u * 132 + 4) * (2 * 132 + 4) * 3);

        auto const other =
            sampled({run_dir().string(), "--frames", "3", "--size", "24x16", "--steps", "1",
                     "--seed", "9", "--no-ema", "--out", (folder_ / "a.mp4").string()});
        EXPECT_EQ(frames_of(folder_ / "a.mp4").size(), 3u * 24 * 16 * 3);
        EXPECT_EQ(other.at("weights").as_string(), "model");
        EXPECT_TRUE(fs::exists(folder_ / "a.png"));
    }
}

TEST_F(Sample, TheSeedDecidesTheClip) {
    train("stdit3-tiny", 4, 2);
    auto const clip = [&](std::string const& seed) {
        auto const file = folder_ / (seed + ".mp4");
        static_cast<void>(
            sampled({run_dir().string(), "--steps", "2", "--seed", seed, "--out", file.string()}));
        return content_of(file);
    };
    auto const first = clip("1");
    EXPECT_NE(first, clip("2"));
    EXPECT_EQ(first, clip("1"));
}

// Rounding changes pixels a little, and the noise that it starts from not at all.
TEST_F(Sample, TheNetworkMayRunInBf16) {
    train("stdit3-tiny", 4, 2);
    auto const pixels = [&](std::vector<std::string> words, std::string const& precision) {
        auto const file = folder_ / "clip.mp4.mp4";
        for (char const* word : {"--steps", "2", "--out"}) words.emplace_back(word);
        words.push_back(file.string());
        words.insert(words.begin(), run_dir().string());
        EXPECT_EQ(sampled(words).at("precision").as_string(), precision);
        return frames_of(file);
    };
    auto const usual = pixels({}, "fp32"), exact = pixels({"--precision", "fp32"}, "fp32"),
               rounded = pixels({"--precision", "bf16"}, "bf16");
    EXPECT_EQ(exact, usual);
    ASSERT_EQ(rounded.size(), exact.size());
    double difference = 0;
    for (std::size_t i = 0; i < exact.size(); ++i)
        difference +=
            std::abs(static_cast<unsigned char>(rounded[i]) - static_cast<unsigned char>(exact[i]));
    EXPECT_LT(difference / static_cast<double>(exact.size()), 3) << "of 255";
}

TEST_F(Sample, WhatIsWrongIsSaid) {
    train("stdit3-tiny", 4, 2);
    auto const checkpoint = run_dir() / "checkpoints" / "step-00000002";
    auto const refused = [&](std::vector<std::string> words, int code) {
        auto const ended = sample(std::move(words));
        EXPECT_EQ(ended.code, code) << ended.err;
        return ended.err;
    };
    EXPECT_THAT(refused({"no such run"}, 14), HasSubstr("no such checkpoint or run"));
    EXPECT_THAT(refused({folder_.string()}, 14), HasSubstr("no checkpoint in it"));
    EXPECT_THAT(refused({checkpoint.string(), "--size", "30x32"}, 14),
                HasSubstr("width 30: the network takes multiples of 4 pixels; nearest valid: 28, "
                          "32"));
    EXPECT_THAT(refused({checkpoint.string(), "--frames", "none"}, 14),
                HasSubstr("--frames none: expected a number"));
    EXPECT_THAT(refused({checkpoint.string(), "--embeddings", "/nowhere"}, 13),
                HasSubstr("/nowhere"));
    EXPECT_THAT(refused({checkpoint.string(), "--out", "/dev/null/x"}, 13), HasSubstr("/dev/null"));
    EXPECT_FALSE(fs::exists(run_dir() / "samples"));
    // Truncated weights, then truncated state.
    fs::resize_file(checkpoint / "ema.safetensors", 5000);
    EXPECT_THAT(refused({checkpoint.string()}, 13), HasSubstr("ema.safetensors"));
    EXPECT_EQ(sample({checkpoint.string(), "--no-ema", "--steps", "1"}).code, 0);
    fs::resize_file(checkpoint / "state.json", 20);
    EXPECT_THAT(refused({checkpoint.string()}, 13), HasSubstr("state.json"));
}

// The same file as from weights that the other command merged the adapters into.
TEST_F(Sample, AdaptersAreAddedToWhatTheyWereTrainedOn) {
    train("stdit3-tiny", 4, 2);
    fs::path const base = folder_ / "base.safetensors";
    fs::rename(run_dir() / "checkpoints" / "step-00000002" / "model.safetensors", base);
    lora_base_ = base;
    train("stdit3-tiny", 4, 3);
    fs::path const checkpoint = run_dir() / "checkpoints" / "step-00000003";
    auto const clip = [&](std::vector<std::string> more) {
        auto const file = folder_ / "tuned.mp4";
        for (char const* const each : {"--steps", "2", "--out"}) more.emplace_back(each);
        more.push_back(file.string());
        static_cast<void>(sampled(std::move(more)));
        return content_of(file);
    };
    auto const tuned = clip({run_dir().string()});
    fs::path const whole = folder_ / "whole";
    fs::create_directory(whole);
    EXPECT_EQ(
        program(OSORA_BIN_DIR "/osora-worker",
                {"--model", "merge", "--weights", base.string(), "--adapter",
                 (checkpoint / "ema.safetensors").string(), "--out", whole / "model.safetensors"})
            .code,
        0);
    std::string state = content_of(checkpoint / "state.json");
    std::string const rank = "\"lora_rank\":4";
    ASSERT_NE(state.find(rank), std::string::npos) << state;
    state.replace(state.find(rank), rank.size(), "\"lora_rank\":0");
    std::ofstream(whole / "state.json") << state;
    EXPECT_EQ(tuned, clip({whole.string(), "--no-ema"}));
    EXPECT_NE(tuned, clip({checkpoint.string(), "--no-ema", "--weights", whole.string()}));
    // Outside its run, the user must name the weights of the adapters.
    fs::rename(checkpoint, folder_ / "away");
    auto const refused = sample({(folder_ / "away").string()});
    EXPECT_EQ(refused.code, 14);
    EXPECT_THAT(refused.err, HasSubstr("--weights FILE says what they were trained on"));
    EXPECT_EQ(tuned, clip({(folder_ / "away").string(), "--weights", base.string()}));
}

/// A network that has seen one clip reproduces it: 20 dB is an error of a tenth of the range.
TEST_F(Sample, ResemblesTheClipItWasTrainedOn) {
    train("stdit3-tiny", 4, 200);
    double const psnr_db = sample_psnr_db(10);
    RecordProperty("psnr_db", std::to_string(psnr_db));
    EXPECT_GE(psnr_db, 20);
}

}  // namespace
}  // namespace osora::tests
