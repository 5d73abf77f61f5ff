// What the VAE cases say about files that are not right: every problem is named, nothing aborts.
#include "worker/cases/vae_pipeline_case.hpp"
#include "worker/cases/vae_temporal_case.hpp"

#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace osora::worker {
namespace {

using testing::HasSubstr;

CaseFile open_case(std::string const& path) {
    auto content =
        load_safetensors(OSORA_SOURCE_DIR "/tests/data/vae/" + path + ".safetensors").value();
    CaseFile file;
    file.component = content.metadata.at("component");
    file.config = content.metadata.at("config");
    file.content = std::move(content);
    return file;
}

void drop(CaseFile& file, std::string_view name) {
    std::erase_if(file.content.tensors, [&](auto const& entry) { return entry.name == name; });
}

void put(CaseFile& file, std::string const& name, at::IntArrayRef shape) {
    drop(file, name);
    file.content.tensors.push_back({name, at::zeros(shape)});
}

void expect_refused(CaseResult const& result, char const* because) {
    ASSERT_TRUE(result.has_error());
    EXPECT_THAT(result.error().message, HasSubstr(because));
}

TEST(VaeCases, TemporalNamesWhatIsWrong) {
    auto const good = open_case("temporal");
    auto file = good;
    drop(file, "in/x");
    expect_refused(run_vae_temporal(file), "in/x is missing");
    file = good;
    put(file, "in/eps", {2, 5, 2, 3, 4});
    expect_refused(run_vae_temporal(file), "in/eps: shape [2,5,2,3,4], expected [2,5,3,3,4]");
    file = good;
    put(file, "in/y", {1});
    expect_refused(run_vae_temporal(file),
                   "in/y (did you mean x?) is not read; known: eps, loss_weight, x");
    file = good;
    drop(file, "weights/quant_conv.conv.bias");
    expect_refused(run_vae_temporal(file), "quant_conv.conv.bias is missing");
    file = good;
    put(file, "in/x", {2, 4, 5, 3, 4});
    expect_refused(run_vae_temporal(file), "in/x: shape");
    file = good;
    file.train_step = true;
    drop(file, "in/loss_weight");
    expect_refused(run_vae_temporal(file), "in/loss_weight is missing");
    file = good;
    file.config = R"({"filters": 3})";
    expect_refused(run_vae_temporal(file), "3 channels % 32 groups");
    file = good;
    std::erase_if(file.content.tensors, [](auto& entry) { return entry.name.starts_with("in/"); });
    expect_refused(run_vae_temporal(file), "in/x is missing");
}

TEST(VaeCases, PipelineNamesWhatIsWrong) {
    auto const good = open_case("pipeline");
    auto file = good;
    put(file, "in/x", {2, 3, 8, 5, 6});
    expect_refused(run_vae_pipeline(file), "5 x 6 pixels % 2 != 0");
    file = good;
    drop(file, "in/eps_temporal1");
    expect_refused(run_vae_pipeline(file), "in/eps_temporal1 is missing");
    file = good;
    drop(file, "in/eps2d");
    expect_refused(run_vae_pipeline(file), "in/eps2d is missing");
    file = good;
    put(file, "in/eps_temporal2", {1});
    expect_refused(run_vae_pipeline(file),
                   "in/eps_temporal2 (did you mean eps_temporal0?) is not read");
}

TEST(VaeCases, WithoutNoiseTheMeansAreTaken) {
    auto file = open_case("pipeline");
    for (auto const* name : {"in/eps2d", "in/eps_temporal0", "in/eps_temporal1"}) drop(file, name);
    auto const result = run_vae_pipeline(file);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    EXPECT_EQ(result->size(), 2u);
}

TEST(VaeCases, InputsBesideVariantsAreForAll) {
    auto file = open_case("temporal");
    for (auto& entry : file.content.tensors)
        if (entry.name == "in/x") entry.name = "in/first/x";
    put(file, "in/second/x", {2, 3, 6, 3, 4});
    drop(file, "in/loss_weight");  // of one shape
    auto const result = run_vae_temporal(file);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    auto const has = [&](char const* name) {
        return std::ranges::find(*result, name, &NamedTensor::name) != result->end();
    };
    EXPECT_TRUE(has("out/first/z"));
    EXPECT_TRUE(has("out/second/decoded"));
}

}  // namespace
}  // namespace osora::worker
