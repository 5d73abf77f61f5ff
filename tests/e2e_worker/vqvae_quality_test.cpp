// A VQ-VAE on real video, with the sizes of examples/train_vqvae.toml: how well it reconstructs,
// and how many of its codes it uses.
#include "tests/e2e_worker/worker_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace osora::tests {
namespace {

namespace fs = std::filesystem;

class VqvaeQuality : public WorkerTest {
protected:
    struct Quality {
        double psnr_db = 0, codes_used = 0;
    };

    /// Means of the last five figures, ten steps apart; one rank with one thread.
    Quality train(int steps) {
        std::vector<std::string> paths;
        for (auto const& entry : fs::directory_iterator(clips_))
            if (entry.path().extension() == ".mp4") paths.push_back(entry.path().string());
        std::ranges::sort(paths);
        paths.resize(std::min<std::size_t>(paths.size(), 8));
        write_manifest(paths);
        auto made = job(1, steps);
        auto& config = made.config;
        config.run.job = "train_vqvae";
        config.vqvae = {.n_codes = 512,
                        .embedding_dim = 32,
                        .n_hiddens = 32,
                        .n_res_layers = 1,
                        .downsample_frames = 2};
        config.optim.lr = 2e-3;
        config.optim.warmup_steps = 20;
        config.checkpoint.every = 10;
        config.checkpoint.keep = 1;
        config.bucket = {{.resolution = "64", .num_frames = 8, .micro_batch_size = {}}};
        auto& buckets = made.plan.chosen.buckets;
        buckets.resize(1);
        buckets[0].resolution = "64";
        buckets[0].num_frames = 8;
        buckets[0].global_batch_size = buckets[0].micro_batch_size = 4;
        auto const ended = run(made, 1)[0];
        EXPECT_EQ(ended.exit_code, 0);
        std::vector<Quality> figures;
        for (auto const& notice : ended.of("notice")) {
            if (notice.at("kind") != "figures") continue;
            std::string const detail(notice.at("detail").as_string());
            Quality each;
            double restarted = 0, perplexity = 0;
            if (std::sscanf(detail.c_str(),
                            "codes_restarted %lf, codes_used %lf, perplexity %lf, psnr_db %lf",
                            &restarted, &each.codes_used, &perplexity, &each.psnr_db) == 4)
                figures.push_back(each);
        }
        if (figures.size() < 5) {
            ADD_FAILURE() << figures.size() << " figures";
            return {};
        }
        Quality mean;
        for (std::size_t i = figures.size() - 5; i < figures.size(); ++i) {
            mean.psnr_db += figures[i].psnr_db / 5;
            mean.codes_used += figures[i].codes_used / 5;
        }
        std::printf("%d steps: PSNR %.2f dB, %.0f %% of the codes used\n", steps, mean.psnr_db,
                    100 * mean.codes_used);
        return mean;
    }

    fs::path const clips_ = fs::path(OSORA_SOURCE_DIR) / ".deps/clips";
};

TEST_F(VqvaeQuality, LearnsSoon) {
    if (!fs::exists(clips_)) GTEST_SKIP() << "no demo clips: scripts/bootstrap makes them";
    auto const quality = train(90);
    EXPECT_GE(quality.psnr_db, 20);
    EXPECT_GE(quality.codes_used, 0.5);
}

TEST_F(VqvaeQuality, ReconstructsRealClips) {
    if (!fs::exists(clips_)) GTEST_SKIP() << "no demo clips: scripts/bootstrap makes them";
    auto const quality = train(600);
    EXPECT_GE(quality.psnr_db, 25);
    EXPECT_GE(quality.codes_used, 0.8);
}

}  // namespace
}  // namespace osora::tests
