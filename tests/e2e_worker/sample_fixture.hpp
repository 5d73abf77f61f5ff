// Training on one clip of 32 x 32 pixels and sampling from its checkpoint, by the real programs.
#pragma once

#include "tests/e2e_worker/worker_fixture.hpp"
#include "tests/kit/program.hpp"

#include <boost/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace osora::tests {

class SampleTest : public WorkerTest {
protected:
    [[nodiscard]] std::filesystem::path run_dir() const { return folder_ / "run dir"; }
    [[nodiscard]] std::filesystem::path clip() const { return folder_ / "clip.mp4"; }

    /// clip.mp4 from these arguments of ffmpeg, and a manifest of it alone.
    void encode_clip(std::vector<std::string> source);
    /// On the whole, unscaled clip; each step sees it 4 times.
    void train(std::string const& arch, int num_frames, int steps);

    /// osora-worker --sample WORDS.
    [[nodiscard]] Ended sample(std::vector<std::string> words) const;
    /// The output of a sample that succeeds.
    [[nodiscard]] boost::json::value sampled(std::vector<std::string> words) const;
    /// (frames, height, width, 3) as ffmpeg decodes the file.
    [[nodiscard]] std::string frames_of(std::filesystem::path const& file) const;
    /// PSNR of a sample in `steps` Euler steps against the clip, both as ffmpeg decodes them.
    [[nodiscard]] double sample_psnr_db(int steps) const;

    [[nodiscard]] Ended program(std::string const& path, std::vector<std::string> words) const;
    std::filesystem::path lora_base_;  // set: train adapters to these weights
};

}  // namespace osora::tests
