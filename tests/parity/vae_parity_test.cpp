// The video autoencoder against tensors that Open-Sora v1.2 and diffusers themselves computed
// (tests/data/parity/README.md, tests/data/vae/README.md), and its parameter names against the
// published state dict.
#include "compare.hpp"
#include "recorded.hpp"
#include "worker/cases/vae_pipeline_case.hpp"
#include "worker/cases/vae_spatial_case.hpp"
#include "worker/cases/vae_temporal_case.hpp"
#include "worker/vae/gaussian.hpp"
#include "worker/vae/vae_pipeline.hpp"

#include <ATen/ops/cat.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

namespace osora::worker {
namespace {

// Cases of parity/ were computed in fp32 (kRecordedFp32), those of vae/ in fp64 and rounded once
// (kExact); both are run in fp64 here.

CaseFile case_file(std::string const& path) {
    auto content = recorded(path);
    CaseFile file;
    file.component = content.metadata.at("component");
    file.config = content.metadata.at("config");
    file.content = std::move(content);
    return file;
}

/// The gradient of to_k.bias is 0 in exact arithmetic: its rounding is compared with to_q.bias.
void expect_gradient(std::map<std::string, at::Tensor> const& actual, CaseFile const& file,
                     std::string const& name, double limit) {
    at::Tensor const expected = *file.content.find(name);
    auto const found = actual.find(name);
    ASSERT_TRUE(found != actual.end() && found->second.defined()) << name;
    if (!name.ends_with("to_k.bias")) {
        EXPECT_LE(relative_error(found->second, expected), limit) << name;
        return;
    }
    std::string other = name;
    other[other.size() - 6] = 'q';
    double const norm = file.content.find(other)->norm().item<double>();
    double const error = found->second.sub(expected).norm().item<double>();
    EXPECT_LE(error, limit * norm) << name;
}

/// Every out/, grad/ and grad_in/ tensor of the file is in `results` and close.
void expect_same(CaseFile const& file, CaseResult const& results, double limit) {
    ASSERT_TRUE(results.has_value()) << results.error().message;
    std::map<std::string, at::Tensor> actual;
    for (auto const& entry : *results) actual[entry.name] = entry.tensor;
    std::size_t compared = 0;
    for (auto const& expected : file.content.tensors) {
        bool const output = expected.name.starts_with("out/");
        if (!output && !expected.name.starts_with("grad")) continue;
        ++compared;
        if (!output) {
            expect_gradient(actual, file, expected.name, limit);
            continue;
        }
        EXPECT_LE(relative_error(actual[expected.name], expected.tensor), limit) << expected.name;
    }
    EXPECT_EQ(compared, actual.size());
}

TEST(VaeParity, TemporalVae) {
    auto const file = case_file("parity/E1_vae_temporal");
    expect_same(file, run_vae_temporal(file), kRecordedFp32);
}

TEST(VaeParity, Pipeline) {
    auto const file = case_file("parity/E3_vae_pipeline");
    expect_same(file, run_vae_pipeline(file), kRecordedFp32);
}

TEST(VaeParity, PipelineInFp32) {
    auto const file = case_file("vae/pipeline");
    auto const tensor = [&](std::string const& name) { return *file.content.find(name); };
    VaePipeline vae(parse_vae_pipeline_config(file.config).value());
    vae.parameters().load(recorded_weights(file.content)).value();
    at::NoGradGuard const no_grad;
    VaeNoise const noise{tensor("in/eps2d"),
                         at::cat({tensor("in/eps_temporal0"), tensor("in/eps_temporal1")}, 2)};
    auto const encoded = vae.encode(tensor("in/x"), noise);
    EXPECT_LE(relative_error(encoded.z, tensor("out/z")), kFp32ConvOutput);
    auto const decoded = vae.decode(encoded.z, tensor("in/x").size(2));
    EXPECT_LE(relative_error(decoded.x, tensor("out/decoded")), kFp32ConvOutput);
}

TEST(VaeParity, TemporalVaeOfOtherSizesWithGradients) {
    auto file = case_file("vae/temporal");
    file.train_step = true;
    expect_same(file, run_vae_temporal(file), kExact);
}

TEST(VaeParity, PipelineOfOtherSizesWithGradients) {
    auto file = case_file("vae/pipeline");
    file.train_step = true;
    expect_same(file, run_vae_pipeline(file), kExact);
}

struct SpatialCase {
    SpatialCase() { parameters.load(recorded_weights(file.content)).value(); }
    at::Tensor tensor(std::string const& name) const {
        return file.content.find(name)->to(at::kDouble);
    }

    CaseFile file = case_file("vae/spatial");
    Parameters parameters{at::TensorOptions(at::kDouble)};
    SpatialVae vae{parameters, parse_spatial_vae_config(file.config).value()};
};

TEST(VaeParity, SpatialVaeWithGradients) {
    auto file = case_file("vae/spatial");
    std::erase_if(file.content.tensors, [](auto const& entry) {
        return entry.name.find("/tiled/") != std::string::npos;
    });
    file.train_step = true;
    expect_same(file, run_vae_spatial(file), kExact);
}

TEST(VaeParity, TilesOfTheSpatialVae) {
    SpatialCase const test;
    at::NoGradGuard const no_grad;
    Tiling const tiling{16, 0.25};
    at::Tensor const moments = test.vae.encode(test.tensor("in/tiled/x"), tiling);
    EXPECT_LE(relative_error(moments, test.tensor("out/tiled/moments")), kExact);
    at::Tensor const decoded = test.vae.decode(gaussian_of(moments).mean, tiling);
    EXPECT_LE(relative_error(decoded, test.tensor("out/tiled/decoded")), kExact);
    EXPECT_GT(relative_error(test.vae.encode(test.tensor("in/tiled/x")), moments), 1e-3);
}

using Manifest = std::map<std::string, std::string>;  // name -> "shape kind"

Manifest read_manifest(std::string const& file) {
    std::ifstream manifest(OSORA_SOURCE_DIR "/tests/data/models/" + file);
    Manifest entries;
    for (std::string line; std::getline(manifest, line);) {
        if (line.starts_with('#')) continue;
        std::istringstream fields(line);
        std::string name, shape, kind;
        fields >> name >> shape >> kind;
        entries[name] = shape + " " + kind;
    }
    return entries;
}

TEST(VaeParity, NamesAndShapesOfThePublishedStateDict) {
    auto const temporal = read_manifest("opensora_vae_v1_2_temporal.tsv");
    auto const spatial = read_manifest("autoencoder_kl.tsv");
    ASSERT_EQ(temporal.size(), 269u);  // 267 parameters, shift and scale
    ASSERT_EQ(spatial.size(), 248u);
    Manifest expected = temporal;
    for (auto const& [name, entry] : spatial) expected["spatial_vae.module." + name] = entry;

    VaePipeline const vae({}, at::TensorOptions(at::kMeta));
    Manifest actual;
    std::int64_t temporal_parameters = 0;
    for (auto const& [name, tensor, kind] : vae.parameters().all()) {
        std::string shape;
        for (auto const size : tensor.sizes())
            shape += (shape.empty() ? "" : "x") + std::to_string(size);
        actual[name] = shape + (kind == TensorKind::buffer ? " buffer" : " param");
        if (name.starts_with("temporal_vae.")) temporal_parameters += tensor.numel();
    }
    EXPECT_EQ(actual, expected);
    EXPECT_EQ(temporal_parameters, 309'687'144);
    EXPECT_EQ(vae.parameters().trainable_count() - temporal_parameters, 83'653'863);
}

}  // namespace
}  // namespace osora::worker
