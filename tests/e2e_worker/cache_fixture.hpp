// Clips with captions, a tiny T5 in a folder, and jobs that encode them and train on the result.
// Runs real osora-worker processes.
#pragma once

#include "protocol/cache_index.hpp"
#include "tests/e2e_worker/worker_fixture.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace osora::tests {

constexpr int kClipWidth = 24;  // the width of mmdit-tiny's pooled vectors

class CacheTest : public WorkerTest {
protected:
    void SetUp() override;

    /// A tiny CLIP text encoder in the form of Hugging Face.
    static void make_clip_folder(std::filesystem::path const& folder);
    /// clips.csv with columns path,text.
    void write_captions(std::vector<std::pair<std::string, std::string>> const& rows);
    /// Encodes clips.csv into `out` with the tiny VAE and the tiny T5.
    [[nodiscard]] plan::WorkerJob encode_job(int ranks, std::string const& out = "cache") const;
    /// Trains a small STDiT3 on latents and captions of `cache`.
    [[nodiscard]] plan::WorkerJob train_job(int ranks, int steps,
                                            std::string const& cache = "cache") const;
    /// One rank encodes into `out`; the test fails when it does not succeed.
    void encode(std::string const& out = "cache");
    [[nodiscard]] protocol::CacheIndex index_of(std::string const& out = "cache") const;
    /// Content of every file below the folder, by its path in it.
    [[nodiscard]] std::map<std::string, std::string> files_of(std::string const& out) const;
    [[nodiscard]] static std::string last_output_lines(WorkerRun const& run);

    std::vector<std::pair<std::string, std::string>> captions_;  // as SetUp writes them
};

}  // namespace osora::tests
