#include "tests/e2e_worker/sample_fixture.hpp"

#include "base/environment.hpp"

#include <cmath>

namespace osora::tests {
namespace {

double psnr_db(std::string const& a, std::string const& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        double const difference =
            static_cast<std::uint8_t>(a[i]) - static_cast<double>(static_cast<std::uint8_t>(b[i]));
        sum += difference * difference;
    }
    return 10 * std::log10(255.0 * 255.0 * static_cast<double>(a.size()) / sum);
}

}  // namespace

void SampleTest::encode_clip(std::vector<std::string> source) {
    std::vector<std::string> words{"-v", "error", "-nostdin", "-y"};
    words.insert(words.end(), source.begin(), source.end());
    for (char const* each : {"-c:v", "libx264", "-crf", "4", "-pix_fmt", "yuv420p"})
        words.emplace_back(each);
    words.push_back(clip().string());
    auto const ended = program("/usr/bin/ffmpeg", std::move(words));
    ASSERT_EQ(ended.code, 0) << ended.err;
    write_manifest({"clip.mp4"});
}

void SampleTest::train(std::string const& arch, int num_frames, int steps) {
    std::filesystem::remove_all(run_dir() / "checkpoints");
    auto made = job(1, steps);
    made.config.model.arch = arch;
    made.config.model.hidden = 0;  // as the architecture
    made.config.optim.lr = 3e-3;
    made.config.optim.warmup_steps = 10;
    made.config.optim.ema_decay = 0.9;
    made.config.bucket = {
        {.resolution = "32", .num_frames = num_frames, .keep_prob = 1, .micro_batch_size = {}}};
    if (!lora_base_.empty()) {
        made.config.model.init = lora_base_.string();
        made.config.optim.lora_rank = 4;
    }
    made.plan.chosen.buckets.resize(1);
    made.plan.chosen.buckets[0].num_frames = num_frames;
    ASSERT_EQ(run(made, 1)[0].exit_code, 0);
}

Ended SampleTest::program(std::string const& path, std::vector<std::string> words) const {
    SpawnOptions options;
    options.program = path;
    options.arguments = std::move(words);
    options.environment = current_environment();
    set_variable(options.environment, "OMP_NUM_THREADS", "1");
    auto running = start_program(std::move(options), folder_ / "program");
    EXPECT_TRUE(running.has_value());
    return running->wait(300);
}

Ended SampleTest::sample(std::vector<std::string> words) const {
    words.insert(words.begin(), "--sample");
    return program(OSORA_BIN_DIR "/osora-worker", std::move(words));
}

boost::json::value SampleTest::sampled(std::vector<std::string> words) const {
    auto const ended = sample(std::move(words));
    EXPECT_EQ(ended.code, 0) << ended.err;
    boost::system::error_code failed;
    return boost::json::parse(ended.out, failed);
}

std::string SampleTest::frames_of(std::filesystem::path const& file) const {
    auto const raw = folder_ / "raw";
    auto const ended =
        program("/usr/bin/ffmpeg", {"-v", "error", "-nostdin", "-y", "-i", file.string(), "-f",
                                    "rawvideo", "-pix_fmt", "rgb24", raw.string()});
    EXPECT_EQ(ended.code, 0) << ended.err;
    return content_of(raw);
}

double SampleTest::sample_psnr_db(int steps) const {
    auto const file = folder_ / "sample.mp4";
    static_cast<void>(
        sampled({run_dir().string(), "--steps", std::to_string(steps), "--out", file.string()}));
    auto const shown = frames_of(file), was = frames_of(clip());
    EXPECT_EQ(shown.size(), was.size());
    return psnr_db(shown, was);
}

}  // namespace osora::tests
