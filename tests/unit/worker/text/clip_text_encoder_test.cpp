// CLIP's text encoder against Hugging Face's transformers, its files, and what it refuses.
#include "worker/text/clip_text_encoder.hpp"
#include "tests/parity/compare.hpp"
#include "worker/cases/clip_text_case.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>

#include <filesystem>
#include <fstream>

namespace osora::worker {
namespace {

CaseFile recorded() {
    auto content =
        *load_safetensors(OSORA_SOURCE_DIR "/tests/data/parity/T2_clip_text.safetensors");
    return {.component = content.metadata.at("component"),
            .config = content.metadata.at("config"),
            .content = content};
}

std::string refusal(CaseFile const& file) {
    auto const result = run_clip_text(file);
    return result.has_error() ? result.error().message : "accepted";
}

TEST(ClipText, EqualsTransformers) {
    CaseFile const file = recorded();
    EXPECT_EQ(file.component, "clip_text");
    auto const outputs = run_clip_text(file);
    ASSERT_TRUE(outputs.has_value()) << outputs.error().message;
    ASSERT_EQ(outputs->size(), 6u);  // two of each variant: plain, masked, short
    for (NamedTensor const& output : *outputs) {
        auto const* expected = file.content.find(output.name);
        ASSERT_NE(expected, nullptr) << output.name;
        ASSERT_EQ(output.tensor.sizes(), expected->sizes());
        double const difference = relative_error(output.tensor, *expected);
        RecordProperty(output.name, fmt::format("{:.1e}", difference));
        EXPECT_LE(difference, kFp32Output) << output.name;
    }
}

TEST(ClipText, OldFilesPoolAtTheLargestId) {
    CaseFile file = recorded();
    auto const pooled = [](CaseFile const& from) {
        auto const outputs = *run_clip_text(from);
        return std::ranges::find(outputs, "out/plain/pooler_output", &NamedTensor::name)->tensor;
    };
    at::Tensor const by_id = pooled(file);
    file.config.replace(file.config.find("\"eos_token_id\": 119"), 19, "\"eos_token_id\": 2");
    EXPECT_TRUE(at::equal(pooled(file), by_id));  // 119 is the largest id
    file.config.replace(file.config.find("\"eos_token_id\": 2"), 17, "\"eos_token_id\": 118");
    EXPECT_GT(relative_error(pooled(file), by_id), 0.1);  // the begin token
}

TEST(ClipText, LoadsTheTextPartOfAWholeClip) {
    CaseFile const file = recorded();
    auto const folder =
        std::filesystem::path(testing::TempDir()) / fmt::format("clip_{}", ::getpid());
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "config.json")
        << R"({"model_type": "clip", "projection_dim": 8, "text_config": )" << file.config << "}";
    std::vector<NamedTensor> tensors;
    for (NamedTensor const& entry : file.content.tensors) {
        if (!entry.name.starts_with("weights/")) continue;
        tensors.push_back(entry);
        tensors.back().name.erase(0, 8);
    }
    tensors.push_back({"text_model.embeddings.position_ids", at::arange(24)});
    tensors.push_back({"visual_projection.weight", tensors[0].tensor});
    ASSERT_TRUE(save_safetensors(folder / "model.safetensors", tensors).has_value());
    auto const encoder = load_clip_text(folder, at::TensorOptions(at::kFloat));
    std::filesystem::remove_all(folder);
    ASSERT_TRUE(encoder.has_value()) << encoder.error().message;
    auto const text = (*encoder)(*file.content.find("in/plain/input_ids"), {});
    EXPECT_FALSE(text.pooled.requires_grad());
    EXPECT_LE(relative_error(text.pooled, *file.content.find("out/plain/pooler_output")),
              kFp32Output);
}

TEST(ClipText, RefusesBadCases) {
    CaseFile file = recorded();
    file.train_step = true;
    EXPECT_EQ(refusal(file), "clip_text: it is never trained: no train step");
    file = recorded();
    file.config.replace(file.config.find("quick_gelu"), 10, "swish");
    EXPECT_EQ(refusal(file),
              "clip_text: config: hidden_act is \"swish\"; supported are quick_gelu and gelu");
    file = recorded();
    file.config.replace(file.config.find("\"max_position_embeddings\": 24"), 29,
                        "\"max_position_embeddings\": 11");
    EXPECT_EQ(refusal(file), "clip_text: in/masked/input_ids has 24 tokens; at most 11");
    file = recorded();
    file.config.replace(file.config.find("\"num_attention_heads\": 3"), 24,
                        "\"num_attention_heads\": 5");
    EXPECT_EQ(refusal(file), "clip_text: hidden_size 36 % num_attention_heads 5 != 0");
}

}  // namespace
}  // namespace osora::worker
