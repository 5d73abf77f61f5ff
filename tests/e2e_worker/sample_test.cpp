// `osora sample` through the real programs, from checkpoints of the real trainer.
#include "base/environment.hpp"
#include "base/files.hpp"
#include "tests/e2e_worker/worker_fixture.hpp"
#include "tests/kit/program.hpp"

#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>

namespace osora::tests {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Sample : public WorkerTest {
protected:
    void SetUp() override {
        WorkerTest::SetUp();
        make_clip("clip.mp4", "32x32", 3);
        write_manifest({"clip.mp4"});
    }

    [[nodiscard]] fs::path run_dir() const { return folder_ / "run dir"; }

    [[nodiscard]] Ended program(std::string const& path, std::vector<std::string> words) const {
        SpawnOptions options;
        options.program = path;
        options.arguments = std::move(words);
        options.environment = current_environment();
        set_variable(options.environment, "OMP_NUM_THREADS", "1");
        set_variable(options.environment, "OSORA_STATE_DIR", (folder_ / "state").string());
        auto running = start_program(std::move(options), folder_ / "program");
        EXPECT_TRUE(running.has_value());
        return running->wait(120);
    }
    [[nodiscard]] Ended osora(std::vector<std::string> words) const {
        words.insert(words.begin(), "sample");
        return program(OSORA_BIN_DIR "/osora", std::move(words));
    }

    /// A short run of 4 frames of 32 x 32.
    void train(std::string const& arch, int steps, double lr = 1e-3) {
        auto made = job(1, steps);
        made.config.model.arch = arch;
        made.config.optim.lr = lr;
        made.config.optim.warmup_steps = 10;
        made.config.bucket = {
            {.resolution = "32", .num_frames = 12, .keep_prob = 1, .micro_batch_size = {}}};
        made.plan.chosen.buckets.resize(1);
        made.plan.chosen.buckets[0].num_frames = 12;
        auto const ended = run(made, 1)[0];
        ASSERT_EQ(ended.exit_code, 0);
    }

    /// (frames, 32, 32, 3) as ffmpeg shows the file.
    [[nodiscard]] std::string frames_of(fs::path const& file) const {
        auto const raw = folder_ / "raw";
        auto const ended =
            program("/usr/bin/ffmpeg", {"-v", "error", "-nostdin", "-y", "-i", file.string(), "-f",
                                        "rawvideo", "-pix_fmt", "rgb24", raw.string()});
        EXPECT_EQ(ended.code, 0) << ended.err;
        return content_of(raw);
    }

    [[nodiscard]] boost::json::value sampled(std::vector<std::string> words) const {
        words.emplace_back("--json");
        auto const ended = osora(std::move(words));
        EXPECT_EQ(ended.code, 0) << ended.err;
        boost::system::error_code failed;
        return boost::json::parse(ended.out, failed);
    }
};

double psnr_db(std::string const& a, std::string const& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        double const difference =
            static_cast<std::uint8_t>(a[i]) - static_cast<double>(static_cast<std::uint8_t>(b[i]));
        sum += difference * difference;
    }
    return 10 * std::log10(255.0 * 255.0 * static_cast<double>(a.size()) / sum);
}

TEST_F(Sample, BothFamiliesGiveAClipThatPlaysAndASheet) {
    for (char const* arch : {"stdit3-tiny", "mmdit-tiny"}) {
        fs::remove_all(run_dir() / "checkpoints");
        train(arch, 2);
        auto const out = sampled({run_dir().string(), "--steps", "2"});
        EXPECT_EQ(out.at("arch").as_string(), arch);
        EXPECT_EQ(out.at("step").as_int64(), 2);
        EXPECT_EQ(out.at("weights").as_string(), "ema");
        EXPECT_EQ(out.at("caption").as_string(), "null");
        fs::path const video(std::string(out.at("video").as_string()));
        EXPECT_EQ(video, run_dir() / "samples" / "step-00000002-seed-42.mp4");
        EXPECT_EQ(frames_of(video).size(), 12u * 32 * 32 * 3);
        EXPECT_EQ(out.at("fps").to_number<double>(), 12);
        fs::path const sheet(std::string(out.at("sheet").as_string()));
        auto const pixels = frames_of(sheet);  // 12 frames: 3 columns of 4 rows, 128 a side
        EXPECT_EQ(pixels.size(), (4u * 132 + 4) * (3 * 132 + 4) * 3);

        auto const other =
            sampled({run_dir().string(), "--frames", "3", "--size", "24x16", "--steps", "1",
                     "--seed", "9", "--no-ema", "--out", (folder_ / "a.mp4").string()});
        EXPECT_EQ(frames_of(folder_ / "a.mp4").size(), 3u * 24 * 16 * 3);
        EXPECT_EQ(other.at("weights").as_string(), "model");
        EXPECT_TRUE(fs::exists(folder_ / "a.png"));
    }
}

TEST_F(Sample, TheSeedDecidesTheClip) {
    train("stdit3-tiny", 2);
    auto const clip = [&](std::string const& seed) {
        auto const file = folder_ / (seed + ".mp4");
        sampled({run_dir().string(), "--steps", "2", "--seed", seed, "--out", file.string()});
        return content_of(file);
    };
    auto const first = clip("1");
    EXPECT_NE(first, clip("2"));
    EXPECT_EQ(first, clip("1"));
}

TEST_F(Sample, WhatIsWrongIsSaid) {
    train("stdit3-tiny", 2);
    auto const checkpoint = run_dir() / "checkpoints" / "step-00000002";
    auto const refused = [&](std::vector<std::string> words, int code) {
        auto const ended = osora(std::move(words));
        EXPECT_EQ(ended.code, code) << ended.err;
        return ended.err;
    };
    EXPECT_THAT(refused({"no such run"}, 2), HasSubstr("no such run"));
    EXPECT_THAT(refused({folder_.string()}, 2), HasSubstr("no checkpoint in it"));
    EXPECT_THAT(refused({checkpoint.string(), "--size", "30x32"}, 2),
                HasSubstr("width 30: the network takes multiples of 4 pixels; nearest valid: 28, "
                          "32"));
    EXPECT_THAT(refused({checkpoint.string(), "--frames", "none"}, 2),
                HasSubstr("--frames none: expected a number"));
    EXPECT_THAT(refused({checkpoint.string(), "--embeddings", "/nowhere"}, 1),
                HasSubstr("/nowhere"));
    EXPECT_THAT(refused({checkpoint.string(), "--out", "/dev/null/x"}, 1), HasSubstr("/dev/null"));
    EXPECT_FALSE(fs::exists(run_dir() / "samples"));
    // Cut weights, then cut state.
    fs::resize_file(checkpoint / "ema.safetensors", 5000);
    EXPECT_THAT(refused({checkpoint.string()}, 1), HasSubstr("ema.safetensors"));
    EXPECT_EQ(osora({checkpoint.string(), "--no-ema", "--steps", "1"}).code, 0);
    fs::resize_file(checkpoint / "state.json", 20);
    EXPECT_THAT(refused({checkpoint.string()}, 1), HasSubstr("state.json"));
}

/// A network that has seen one clip gives that clip: 20 dB is an error of a tenth of the range.
TEST_F(Sample, ResemblesTheClipItWasTrainedOn) {
    train("stdit3-tiny", 150, 3e-3);
    auto const file = folder_ / "a.mp4";
    auto const out = sampled({run_dir().string(), "--steps", "20", "--out", file.string()});
    double const psnr = psnr_db(frames_of(file), frames_of(folder_ / "clip.mp4"));
    RecordProperty("psnr_db", std::to_string(psnr));
    std::printf("PSNR %.2f dB\n", psnr);
    EXPECT_GE(psnr, 20);
}

}  // namespace
}  // namespace osora::tests
