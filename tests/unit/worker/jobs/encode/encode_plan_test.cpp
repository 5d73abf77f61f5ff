// What rank 0 says of shards that are not there.
#include "worker/jobs/encode/encode_plan.hpp"

#include "tests/unit/worker/data/clips.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace osora::worker {
namespace {

TEST(EncodeIndex, TellsShardsThatAreNotWrittenFromAFolderThatCannotBeRead) {
    TempFolder const folder;
    EncodePlan plan;
    plan.out = folder.path();
    plan.latents.resize(2);
    auto const said = [&] {
        auto const index = index_of({}, plan);
        EXPECT_TRUE(index.has_error());
        if (index.has_value()) return std::string();
        EXPECT_EQ(index.error().code, Errc::io);
        return index.error().message;
    };
    EXPECT_EQ(said().find("encode: 2 of 2 shards of latents are not written"), 0u) << said();
    // Rights do not bind root, but nobody can follow such a link.
    std::filesystem::create_symlink("latents", folder.file("latents"));
    EXPECT_EQ(said().find("encode.out: " + plan.latent_path(0).string() + ": "), 0u) << said();
}

}  // namespace
}  // namespace osora::worker
