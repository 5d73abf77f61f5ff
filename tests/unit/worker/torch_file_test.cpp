// Files of torch.save as PyTorch 2.11 wrote them (tests/data/torch_files), and broken ones.
#include "worker/model/torch_file.hpp"
#include "base/files.hpp"
#include "worker/model/weight_files.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <stdlib.h>

#include <fstream>
#include <map>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

fs::path recorded(std::string const& name) {
    return fs::path(OSORA_SOURCE_DIR) / "tests/data/torch_files" / (name + ".pt");
}

std::string refusal(fs::path const& path, Errc code) {
    auto const loaded = load_torch_file(path);
    if (!loaded.has_error()) return "no error";
    EXPECT_EQ(loaded.error().code, code) << loaded.error().message;
    EXPECT_THAT(loaded.error().message, HasSubstr(path.filename().string()));
    return loaded.error().message;
}

class TorchFile : public testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/osora-torch-file-XXXXXX";
        folder_ = ::mkdtemp(name);
    }
    void TearDown() override { fs::remove_all(folder_); }

    [[nodiscard]] fs::path written(std::string const& bytes) const {
        fs::path const path = folder_ / "broken.pt";
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
        return path;
    }

    fs::path folder_;
};

TEST_F(TorchFile, GivesTheTensorsOfADict) {
    at::Tensor const grid = at::arange(12, at::kFloat).view({3, 4});
    for (char const* name : {"plain", "nested"}) {
        auto const loaded = load_weight_files(recorded(name));
        ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
        std::map<std::string, at::Tensor> by_name;
        for (auto const& each : *loaded) by_name[each.name] = each.tensor;
        ASSERT_EQ(by_name.size(), 5u);
        EXPECT_TRUE(by_name["a.weight"].equal(grid.slice(0, 0, 2).slice(1, 0, 3)));
        EXPECT_TRUE(by_name["a.bias"].equal(at::ones({4}, at::kBFloat16)));
        EXPECT_EQ(by_name["count"].item<int>(), 3);
        EXPECT_TRUE(by_name["turned"].equal(grid.t()));
        EXPECT_TRUE(by_name["part"].equal(grid.slice(0, 1)));
    }
    auto const parameters = load_torch_file(recorded("parameters"));
    ASSERT_TRUE(parameters.has_value()) << parameters.error().message;
    EXPECT_FALSE(parameters->front().tensor.requires_grad());
}

TEST_F(TorchFile, NamesWhatItCannotReadAndTheWayOut) {
    auto const way_out = HasSubstr("save_file");
    EXPECT_THAT(refusal(recorded("ordered"), Errc::invalid_input),
                AllOf(HasSubstr("OrderedDict"), way_out));
    EXPECT_THAT(refusal(recorded("module"), Errc::invalid_input),
                AllOf(HasSubstr("torch.nn.modules.linear.Linear"), way_out));
    EXPECT_THAT(refusal(recorded("before_1_6"), Errc::invalid_input),
                AllOf(HasSubstr("before 1.6"), way_out));
    EXPECT_THAT(refusal(recorded("two_dicts"), Errc::invalid_input),
                AllOf(HasSubstr("2 dicts of tensors"), HasSubstr("ema"), way_out));
    EXPECT_THAT(refusal(recorded("no_tensor"), Errc::invalid_input), HasSubstr("epoch (Int)"));
    EXPECT_THAT(refusal(recorded("list"), Errc::invalid_input), HasSubstr("not a dict"));
}

TEST_F(TorchFile, SaysWhichFileIsMissingEmptyOrForeign) {
    EXPECT_THAT(refusal(folder_ / "none.pt", Errc::not_found), HasSubstr("none.pt"));
    EXPECT_THAT(refusal(written(""), Errc::corrupt), HasSubstr("shorter"));
    EXPECT_THAT(refusal(written("not weights"), Errc::corrupt), HasSubstr("PK"));
    EXPECT_TRUE(load_torch_file(folder_).has_error());
}

// Cut at any length and with any byte changed: an answer, never a crash.
TEST_F(TorchFile, SurvivesEveryCutAndManyFlips) {
    auto const whole = read_file(recorded("plain"), 1 << 20);
    ASSERT_TRUE(whole.has_value());
    for (std::size_t length = 0; length + 1 < whole->size(); length += 41) {
        EXPECT_TRUE(load_torch_file(written(whole->substr(0, length))).has_error()) << length;
    }
    for (std::size_t at = 0; at < whole->size(); at += 5) {
        std::string changed = *whole;
        changed[at] = static_cast<char>(changed[at] ^ (1 << (at / 5 % 8)));
        auto const loaded = load_torch_file(written(changed));
        if (loaded.has_error()) {
            EXPECT_THAT(loaded.error().code,
                        AnyOf(Errc::corrupt, Errc::invalid_input, Errc::not_found));
        }
    }
}

}  // namespace
}  // namespace osora::worker
