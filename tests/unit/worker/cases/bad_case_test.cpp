// What is wrong with a case is named, and nothing is written.
#include "worker/cases/case_table.hpp"
#include "worker/cases/model_command.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

fs::path const kA1 = OSORA_SOURCE_DIR "/tests/data/parity/A1_stdit3_plain.safetensors";

class BadCase : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "osora-case-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
        content_ = load_safetensors(kA1).value();
    }
    void TearDown() override { fs::remove_all(folder_); }

    at::Tensor& tensor(std::string const& name) {
        return std::ranges::find(content_.tensors, name, &NamedTensor::name)->tensor;
    }
    void remove(std::string const& name) {
        std::erase_if(content_.tensors, [&](NamedTensor const& t) { return t.name == name; });
    }
    void add(std::string const& name, at::Tensor const& value) {
        content_.tensors.push_back({name, value});
    }

    /// The message of a run of `path`; "accepted" when there is none.
    [[nodiscard]] std::string run_file(fs::path const& path) const {
        ModelCommand command;
        command.case_path = path;
        command.out = folder_ / "o.safetensors";
        auto const result = run_model_command(command);
        EXPECT_EQ(fs::exists(command.out), result.has_value());
        if (result.has_value()) return "accepted";
        EXPECT_EQ(result.error().code == Errc::invalid_input ||
                      result.error().code == Errc::not_divisible,
                  true);
        return result.error().message;
    }
    [[nodiscard]] std::string run() const {
        auto const path = folder_ / "case.safetensors";
        EXPECT_TRUE(save_safetensors(path, content_.tensors, content_.metadata).has_value());
        return run_file(path);
    }
    [[nodiscard]] std::string run_bytes(std::string const& bytes) const {
        auto const path = folder_ / "bytes.safetensors";
        std::ofstream(path, std::ios::binary) << bytes;
        return run_file(path);
    }

    fs::path folder_;
    SafetensorsContent content_;
};

TEST_F(BadCase, TheFileItselfIsGood) {
    EXPECT_EQ(run(), "accepted");
}

TEST_F(BadCase, MissingWeight) {
    remove("weights/spatial_blocks.1.attn.q_norm.weight");
    EXPECT_THAT(run(), HasSubstr("spatial_blocks.1.attn.q_norm.weight is missing"));
}

TEST_F(BadCase, AdditionalWeight) {
    add("weights/pos_embed", at::ones({2}));
    EXPECT_THAT(run(), HasSubstr("pos_embed is unknown"));
}

TEST_F(BadCase, MisshapenWeight) {
    auto& weight = tensor("weights/t_block.1.bias");
    weight = weight.narrow(0, 0, 383);
    EXPECT_THAT(run(), HasSubstr("t_block.1.bias has shape [383], not [384]"));
}

TEST_F(BadCase, WeightOfAnotherType) {
    auto& weight = tensor("weights/t_block.1.bias");
    weight = weight.to(at::kLong);
    EXPECT_THAT(run(), HasSubstr("weights/t_block.1.bias: type I64, expected F32"));
    weight = weight.to(at::kHalf);
    EXPECT_THAT(run(), HasSubstr("weights/t_block.1.bias: type F16, but "));
}

TEST_F(BadCase, WeightThatIsNotFinite) {
    auto& weight = tensor("weights/x_embedder.proj.weight");
    weight = weight.clone();
    weight[3][2][0][1][1].fill_(NAN);
    EXPECT_THAT(run(), HasSubstr("weights/x_embedder.proj.weight[3,2,0,1,1] is NaN"));
    weight[3][2][0][1][1].fill_(-INFINITY);
    EXPECT_THAT(run(), HasSubstr("weights/x_embedder.proj.weight[3,2,0,1,1] is infinite"));
}

TEST_F(BadCase, Inputs) {
    auto const x = tensor("in/x");
    tensor("in/x") = x.to(at::kLong);
    EXPECT_THAT(run(), HasSubstr("in/x: type I64, expected F32"));
    tensor("in/x") = x.narrow(1, 0, 3);
    EXPECT_THAT(run(), HasSubstr("in/x: shape [2,3,3,4,8], expected [*,4,*,*,*]"));
    tensor("in/x") = x;
    auto const y = tensor("in/y");
    tensor("in/y") = at::cat({y, y}, 2);
    EXPECT_THAT(run(), HasSubstr("in/y: 24 tokens, model_max_length is 12"));
    tensor("in/y") = y;
    tensor("in/fps") = at::ones({3});
    EXPECT_THAT(run(), HasSubstr("in/fps: 3 rows do not divide a batch of 2"));
    tensor("in/fps") = at::ones({2});
    tensor("in/height") = at::full({2}, -1.0);
    EXPECT_THAT(run(), HasSubstr("in/height: -1 is not above 0"));
    remove("in/height");
    EXPECT_THAT(run(), HasSubstr("in/height is missing"));
}

TEST_F(BadCase, UnusedInput) {
    add("in/x_maks", at::ones({2, 3}, at::kBool));
    EXPECT_THAT(run(), AllOf(HasSubstr("in/x_maks"), HasSubstr("did you mean x_mask?")));
    content_.tensors.back().name = "imput/x";
    EXPECT_THAT(run(), HasSubstr("tensor 'imput/x': its name starts with none of weights/, in/"));
}

TEST_F(BadCase, Metadata) {
    content_.metadata["component"] = "stdit33";
    EXPECT_THAT(run(), AllOf(HasSubstr("did you mean stdit3?"), HasSubstr("mmdit_train_step")));
    content_.metadata["component"] = "vae";
    EXPECT_THAT(run(), HasSubstr("component 'vae' is unknown"));
    content_.metadata.erase("component");
    EXPECT_THAT(run(), HasSubstr("no metadata \"component\""));
    content_.metadata["component"] = "stdit3";
    content_.metadata["config"] = R"({"dept":2})";
    EXPECT_THAT(run(), HasSubstr("unknown key 'dept'; did you mean depth?"));
    content_.metadata["config"] = R"({"depth":200000000})";
    EXPECT_THAT(run(), HasSubstr("depth = 200000000: must be in [1, 1024]"));
    content_.metadata.erase("config");
    EXPECT_THAT(run(), HasSubstr("config"));
}

TEST_F(BadCase, Bytes) {
    std::ifstream file(kA1, std::ios::binary);
    std::stringstream all;
    all << file.rdbuf();
    std::string const bytes = all.str();
    EXPECT_THAT(run_bytes(bytes.substr(0, bytes.size() - 1)), HasSubstr("bytes of data"));
    EXPECT_THAT(run_bytes(bytes.substr(0, 100)), HasSubstr("is more than the file's 100 bytes"));
    EXPECT_THAT(run_bytes(bytes.substr(0, 5)), HasSubstr("5 bytes, fewer than 8"));
    EXPECT_THAT(run_bytes("\xff\xff\xff\xff\xff\xff\xff\x7f" + bytes.substr(8)),
                HasSubstr("is above 100000000"));
    EXPECT_THAT(run_bytes(bytes + "x"), HasSubstr("bytes of data"));
    EXPECT_THAT(run_file(folder_), HasSubstr("Is a directory"));
}

TEST_F(BadCase, WhereTheResultsGo) {
    auto const path = folder_ / "case.safetensors";
    fs::copy_file(kA1, path);
    ModelCommand command;
    command.case_path = command.out = path;
    EXPECT_THAT(run_model_command(command).error().message, HasSubstr("is what is read"));
    EXPECT_EQ(fs::file_size(path), fs::file_size(kA1));
    command.out = folder_ / "none" / "o.safetensors";
    EXPECT_THAT(run_model_command(command).error().message, HasSubstr("none is not a folder"));
}

TEST(CaseTable, IsSortedAndEveryRowIsFound) {
    auto const table = case_table();
    EXPECT_TRUE(std::ranges::is_sorted(table, {}, &CaseRow::component));
    for (auto const& row : table) EXPECT_EQ(find_case(row.component).value(), row.run);
}

}  // namespace
}  // namespace osora::worker
