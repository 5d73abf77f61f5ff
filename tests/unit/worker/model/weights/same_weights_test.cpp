// Whether two files are the same weights.
#include "worker/model/weights/same_weights.hpp"

#include "tests/kit/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;

class SameWeightsTest : public testing::Test {
protected:
    fs::path file(std::string const& name, std::string const& content) {
        std::ofstream(folder_.path() / name, std::ios::binary) << content;
        return folder_.path() / name;
    }
    tests::TempFolder folder_;
};

TEST_F(SameWeightsTest, CopiesAreAndOtherTrainingsAreNot) {
    for (std::size_t const bytes : {std::size_t{1000}, std::size_t{3} << 20}) {
        std::string content(bytes, 'a');
        auto const one = file("one.safetensors", content);
        EXPECT_EQ(same_weights(one, one), SameWeights::yes);
        EXPECT_EQ(same_weights(one, file("copy.safetensors", content)), SameWeights::yes);
        // All numbers of another training differ; the header does not.
        for (std::size_t i = bytes / 8; i < bytes; i += 100) content[i] = 'b';
        EXPECT_EQ(same_weights(one, file("other.safetensors", content)), SameWeights::no);
    }
}

TEST_F(SameWeightsTest, PartsOfFilesAreComparedToo) {
    auto const part = [](fs::path const& file, char const* name) {
        return fs::path(file.string() + "#" + name);
    };
    auto const one = file("one.pt", std::string(1000, 'a'));
    auto const copy = file("copy.pt", std::string(1000, 'a'));
    auto const other = file("other.pt", std::string(1000, 'b'));
    EXPECT_EQ(same_weights(part(one, "ema"), part(copy, "ema")), SameWeights::yes);
    EXPECT_EQ(same_weights(part(one, "ema"), part(other, "ema")), SameWeights::no);
    EXPECT_EQ(same_weights(part(one, "ema"), part(one, "model")), SameWeights::unknown);
    EXPECT_EQ(same_weights(part(one, "ema"), one), SameWeights::unknown);
}

TEST_F(SameWeightsTest, WhatCannotBeComparedIsUnknown) {
    auto const one = file("one.safetensors", std::string(1000, 'a'));
    EXPECT_EQ(same_weights(one, folder_.path() / "gone"), SameWeights::unknown);
    EXPECT_EQ(same_weights(folder_.path() / "gone", one), SameWeights::unknown);
    EXPECT_EQ(same_weights(one, file("fp32.safetensors", std::string(2000, 'a'))),
              SameWeights::unknown);
    EXPECT_EQ(same_weights(one, folder_.path()), SameWeights::unknown);
    fs::create_symlink(one, folder_.path() / "link");
    EXPECT_EQ(same_weights(one, folder_.path() / "link"), SameWeights::yes);
    EXPECT_EQ(same_weights(folder_.path(), folder_.path() / "."), SameWeights::yes);
}

}  // namespace
}  // namespace osora::worker
