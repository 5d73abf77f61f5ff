// Steps of a training from a cache, in this process.
#include "tests/e2e_worker/cache_fixture.hpp"
#include "worker/jobs/step_source.hpp"
#include "worker/jobs/train_data.hpp"

#include <ATen/ops/equal.h>
#include <gmock/gmock.h>

namespace osora::tests {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

using CachedSource = CacheTest;

/// In the prefetcher's thread; the samples are those of a run that waits for nothing.
TEST_F(CachedSource, WaitsForShardsThatAreAwayForAMoment) {
    encode();
    auto const job = train_job(1, 2);
    auto const data = worker::open_train_data(job);
    ASSERT_TRUE(data.has_value()) << data.error().message;
    auto const latents_of = [&](worker::SourceSteps const& steps) {
        std::vector<at::Tensor> latents;
        auto const source = worker::make_step_source(**data, job, steps);
        for (int step = 0; step < 2; ++step) {
            auto const batch = (*source)->next(step);
            if (batch.has_error()) {
                ADD_FAILURE() << batch.error().message;
                break;
            }
            latents.push_back(batch->input.latents);
        }
        return latents;
    };
    auto const expected = latents_of({.stop = 2});
    fs::rename(folder_ / "cache" / "latents", folder_ / "cache" / "away");
    int waits = 0;
    auto const found =
        latents_of({.stop = 2, .on_slow_clip = [&](std::string const& said) {
                        EXPECT_THAT(said, HasSubstr("tried again in 0.1 s"));
                        if (++waits > 1) return;
                        fs::rename(folder_ / "cache" / "away", folder_ / "cache" / "latents");
                    }});
    EXPECT_EQ(waits, 1);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(at::equal(found[i], expected[i]));
}

/// Peers wait in a collective meanwhile.
TEST(WaitForFiles, IsShorterThanPeersWait) {
    plan::WorkerJob job;
    EXPECT_EQ(worker::loader_options(job).wait_for_files_s, 120);
    job.config.faults.collective_timeout = 60;
    EXPECT_EQ(worker::loader_options(job).wait_for_files_s, 30);
}

}  // namespace
}  // namespace osora::tests
