// Folders and files of weights as they are published: shards with an index, variants in fp16
// beside the plain set, fp8 with scales, names behind a wrapper's.
#include "worker/model/weights/weight_files.hpp"

#include "base/files/files.hpp"
#include "tests/kit/temp_folder.hpp"
#include "worker/model/weights/safetensors.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class WeightFiles : public testing::Test {
protected:
    void save(std::string const& name, std::vector<NamedTensor> const& tensors) const {
        ASSERT_TRUE(save_safetensors(folder_.path() / name, tensors, {}).has_value());
    }
    void write(std::string const& name, std::string const& text) const {
        ASSERT_TRUE(write_file_atomic(folder_.path() / name, text).has_value());
    }
    /// Values of `w`, which say the file that was read.
    [[nodiscard]] static NamedTensor w(float value, std::string const& name = "w") {
        return {name, at::full({2}, value)};
    }
    [[nodiscard]] float first(std::string const& name = "") const {
        auto const loaded = load_network_weights(folder_.path() / name);
        EXPECT_TRUE(loaded.has_value()) << loaded.error().message;
        return loaded.has_value() ? loaded->tensors.front().tensor.flatten()[0].item<float>() : -1;
    }
    [[nodiscard]] std::string refusal(std::string const& name = "") const {
        auto const loaded = load_network_weights(folder_.path() / name);
        return loaded.has_error() ? loaded.error().message : "loaded";
    }
    tests::TempFolder folder_;
};

TEST_F(WeightFiles, APlainSetComesBeforeItsVariants) {
    save("diffusion_pytorch_model.fp16.safetensors", {w(16)});
    EXPECT_EQ(first(), 16) << "where there is no other";
    save("diffusion_pytorch_model.safetensors", {w(32)});
    save("diffusion_pytorch_model.non_ema.safetensors", {w(1)});
    EXPECT_EQ(first(), 32);
}

TEST_F(WeightFiles, AVariantOfTheIndexIsNoSecondIndex) {
    save("vae-00001-of-00001.safetensors", {w(32)});
    save("vae.fp16-00001-of-00001.safetensors", {w(16)});
    write("vae.safetensors.index.json", R"({"weight_map":{"w":"vae-00001-of-00001.safetensors"}})");
    write("vae.fp16.safetensors.index.json",
          R"({"weight_map":{"w":"vae.fp16-00001-of-00001.safetensors"}})");
    EXPECT_EQ(first(), 32);
}

TEST_F(WeightFiles, SeveralFilesAreNotGuessedAmong) {
    save("a.safetensors", {w(1)});
    save("b.safetensors", {w(2)});
    EXPECT_THAT(refusal(), HasSubstr("found 0, 2 and 0: name the file"));
    EXPECT_EQ(first("b.safetensors"), 2);
}

/// As T5-XXL is published: torch.save's shards behind pytorch_model.bin.index.json.
TEST_F(WeightFiles, ShardsOfTorchSaveHaveAnIndexToo) {
    auto const recorded = fs::path(OSORA_SOURCE_DIR) / "tests/data/torch_files";
    fs::copy_file(recorded / "parameters.pt", folder_.path() / "pytorch_model-00001-of-00002.bin");
    fs::copy_file(recorded / "eight_bits.pt", folder_.path() / "pytorch_model-00002-of-00002.bin");
    write("pytorch_model.bin.index.json",
          R"({"weight_map":{"w":"pytorch_model-00001-of-00002.bin"}})");
    EXPECT_THAT(first(), 0);
    write("pytorch_model.bin.index.json",
          R"({"weight_map":{"w":"pytorch_model-00001-of-00002.bin",
                            "x":"pytorch_model-00003-of-00003.bin"}})");
    EXPECT_THAT(refusal(), AllOf(HasSubstr("1 of the 2 files that it lists is not there"),
                                 HasSubstr("pytorch_model-00003-of-00003.bin")));
}

TEST_F(WeightFiles, APartOfAFileIsItsNamesAfterAPrefix) {
    save("both.safetensors", {w(1, "ema_model.w"), w(2, "online_model.w"), w(3, "step")});
    EXPECT_EQ(first("both.safetensors#ema_model"), 1);
    EXPECT_EQ(first("both.safetensors#online_model"), 2);
    EXPECT_THAT(refusal("both.safetensors#emma"),
                HasSubstr("no name begins with 'emma.'; names begin with ema_model. (1)"));
    save("hash#1.safetensors", {w(7)});
    EXPECT_EQ(first("hash#1.safetensors"), 7) << "a file that is there is whole";
}

TEST_F(WeightFiles, ScaledFp8IsMultipliedAndOtherScalesAreRefused) {
    at::Tensor const eighths = at::arange(8, at::kFloat).to(at::kFloat8_e4m3fn);
    save("comfy.safetensors", {{"a.weight", eighths},
                               {"a.scale_weight", at::full({}, 0.5)},
                               {"a.scale_input", at::ones({})},
                               {"scaled_fp8", at::ones({0}).to(at::kFloat8_e4m3fn)}});
    auto const loaded = load_network_weights(folder_.path() / "comfy.safetensors");
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    ASSERT_EQ(loaded->tensors.size(), 1u);
    EXPECT_TRUE(loaded->tensors.front().tensor.equal(at::arange(8, at::kFloat).mul(0.5)));
    EXPECT_THAT(loaded->notices, ElementsAre(HasSubstr("times their scales")));
    save("blocks.safetensors", {{"a.weight", eighths}, {"a.weight_scale_inv", at::ones({2, 2})}});
    EXPECT_THAT(refusal("blocks.safetensors"),
                AllOf(HasSubstr("a.weight_scale_inv"), HasSubstr("blocks.safetensors")));
}

TEST_F(WeightFiles, EachTensorThatIsLookedAtIsReported) {
    int looked = 0;
    std::vector<NamedTensor> weights{w(1), w(2, "x")};
    EXPECT_TRUE(check_finite(weights, [&] { ++looked; }).has_value());
    EXPECT_EQ(looked, 2);
    weights[1].tensor.fill_(std::nan(""));
    EXPECT_THAT(check_finite(weights, [&] { ++looked; }).error().message, HasSubstr("x["));
}

TEST_F(WeightFiles, HeadersMayEndInSpaces) {
    save("plain.safetensors", {w(5)});
    auto text = *read_file(folder_.path() / "plain.safetensors");
    auto const length = static_cast<unsigned char>(text[0]);
    ASSERT_LT(length, 200);
    text.insert(8u + length, 40, ' ');
    text[0] = static_cast<char>(length + 40);
    write("padded.safetensors", text);
    EXPECT_EQ(first("padded.safetensors"), 5);
}

}  // namespace
}  // namespace osora::worker
