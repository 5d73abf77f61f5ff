// Frames to latents in chunks, against the counts of Open-Sora v1.2's own configurations.
#include "plan/vae/vae_chunks.hpp"

#include <gtest/gtest.h>

#include <map>

namespace osora::plan {
namespace {

TEST(VaeChunks, LatentFramesOfThePublishedModel) {
    std::map<std::int64_t, std::int64_t> const published{
        {1, 1}, {17, 5}, {22, 7}, {34, 10}, {51, 15}, {102, 30}, {204, 60}, {408, 120}};
    for (auto const& [frames, latents] : published)
        EXPECT_EQ(latent_frames(frames, 17, 4), latents) << frames;
}

TEST(VaeChunks, AtOnceAndInChunksDiffer) {
    EXPECT_EQ(latent_frames(22, 0, 4), 6);
    EXPECT_EQ(latent_frames(22, 17, 4), 7);
}

TEST(VaeChunks, CoverFramesAndLatentsWithoutGaps) {
    for (std::int64_t frames = 1; frames < 60; ++frames) {
        for (std::int64_t const micro : {0, 1, 3, 17}) {
            std::int64_t frame = 0;
            std::int64_t latent = 0;
            for (auto const& chunk : frame_chunks(frames, micro, 4)) {
                EXPECT_EQ(chunk.start, frame);
                EXPECT_EQ(chunk.latent_start, latent);
                EXPECT_EQ((chunk.frames + front_padding(chunk.frames, 4)), 4 * chunk.latents);
                frame += chunk.frames;
                latent += chunk.latents;
            }
            EXPECT_EQ(frame, frames);
            EXPECT_EQ(latent, latent_frames(frames, micro, 4));
        }
    }
}

}  // namespace
}  // namespace osora::plan
