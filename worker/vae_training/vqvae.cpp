#include "worker/vae_training/vqvae.hpp"

#include "base/check.hpp"
#include "worker/model/seeded_generator.hpp"
#include "worker/vae/vae_pipeline.hpp"
#include "worker/vae_training/vqvae_layers.hpp"

#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace osora::worker {
namespace {

int halvings(int factor) {
    return std::countr_zero(static_cast<unsigned>(factor));
}

/// Strides of the convolutions from the outside in: each halves the axes that are not done yet.
std::vector<Sides> strides_of(plan::VqvaeSection const& sizes) {
    int const frames = halvings(sizes.downsample_frames), side = halvings(sizes.downsample_pixels);
    std::vector<Sides> strides;
    for (int i = 0; i < std::max(frames, side); ++i)
        strides.push_back({i < frames ? 2 : 1, i < side ? 2 : 1, i < side ? 2 : 1});
    return strides;
}

Result<void> power_of_two(char const* key, int value) {
    if (std::has_single_bit(static_cast<unsigned>(value))) return {};
    unsigned const below = std::bit_floor(static_cast<unsigned>(value));
    return Error{Errc::not_divisible,
                 fmt::format("vqvae.{} = {}: must be a power of two; nearest valid: {}, {}", key,
                             value, below, 2 * below)};
}

CodebookConfig codebook_of(plan::VqvaeSection const& sizes) {
    return {sizes.n_codes, sizes.embedding_dim, sizes.decay, sizes.commitment, sizes.dead_below};
}

}  // namespace

Result<void> check_vqvae(plan::VqvaeSection const& sizes) {
    OSORA_TRY_VOID(power_of_two("downsample_frames", sizes.downsample_frames));
    OSORA_TRY_VOID(power_of_two("downsample_pixels", sizes.downsample_pixels));
    if (sizes.n_hiddens % 2 == 0) return {};
    return Error{Errc::not_divisible,
                 fmt::format("vqvae.n_hiddens = {}: two heads and half as many channels inside a "
                             "block; nearest valid: {}, {}",
                             sizes.n_hiddens, sizes.n_hiddens - 1, sizes.n_hiddens + 1)};
}

struct Vqvae::Layers {
    Layers(Scope const& scope, plan::VqvaeSection const& sizes)
        : convs(convs_of(scope / "encoder.convs", sizes)),
          conv_last(scope / "encoder.conv_last", {sizes.n_hiddens, sizes.n_hiddens, 3}, {1, 1, 1}),
          encoder(scope / "encoder.res_stack", sizes.n_hiddens, sizes.n_res_layers),
          pre_vq_conv(scope / "pre_vq_conv", {sizes.n_hiddens, sizes.embedding_dim, 1}, {1, 1, 1}),
          codebook(scope.parameters, codebook_of(sizes), "codebook."),
          post_vq_conv(scope / "post_vq_conv", {sizes.embedding_dim, sizes.n_hiddens, 1},
                       {1, 1, 1}),
          decoder(scope / "decoder.res_stack", sizes.n_hiddens, sizes.n_res_layers),
          convts(convts_of(scope / "decoder.convts", sizes)) {}

    static std::vector<SamePadConv3d> convs_of(Scope const& scope,
                                               plan::VqvaeSection const& sizes) {
        std::vector<SamePadConv3d> convs;
        std::int64_t in = 3;
        for (Sides const& stride : strides_of(sizes))
            convs.emplace_back(scope / std::ssize(convs),
                               Sides{std::exchange(in, sizes.n_hiddens), sizes.n_hiddens, 4},
                               stride);
        return convs;
    }
    static std::vector<SamePadConvTranspose3d> convts_of(Scope const& scope,
                                                         plan::VqvaeSection const& sizes) {
        std::vector<SamePadConvTranspose3d> convts;
        auto const strides = strides_of(sizes);
        for (Sides const& stride : strides)
            convts.emplace_back(scope / std::ssize(convts), sizes.n_hiddens,
                                convts.size() + 1 == strides.size() ? 3 : sizes.n_hiddens, stride);
        return convts;
    }

    std::vector<SamePadConv3d> convs;
    SamePadConv3d conv_last;
    ResidualStack encoder;
    SamePadConv3d pre_vq_conv;
    Codebook codebook;
    SamePadConv3d post_vq_conv;
    ResidualStack decoder;
    std::vector<SamePadConvTranspose3d> convts;
};

Vqvae::Vqvae(plan::VqvaeSection const& sizes, at::TensorOptions options)
    : parameters_(std::make_unique<Parameters>(options)) {
    OSORA_CHECK(check_vqvae(sizes).has_value());
    layers_ = std::make_unique<Layers>(Scope{*parameters_, ""}, sizes);
}
Vqvae::~Vqvae() = default;
Vqvae::Vqvae(Vqvae&&) noexcept = default;

Codebook& Vqvae::codebook() {
    return layers_->codebook;
}
Codebook const& Vqvae::codebook() const {
    return layers_->codebook;
}

void Vqvae::initialise(std::uint64_t seed) {
    at::NoGradGuard const no_grad;
    initialise_vae(*parameters_, seed);
    for (auto const& [name, tensor, kind] : parameters_->all()) {
        if (kind == TensorKind::buffer) tensor.fill_(name.ends_with("running_var") ? 1 : 0);
        if (tensor.dim() != 2 || kind == TensorKind::buffer) continue;
        double const spread = 1 / std::sqrt(static_cast<double>(tensor.size(1)));
        tensor.copy_(at::randn(tensor.sizes(), generator_for(seed, name), at::kFloat).mul(spread));
    }
}

at::Tensor Vqvae::encode(at::Tensor const& x, bool training, NormLog* log) const {
    at::Tensor h = x;
    for (auto const& conv : layers_->convs) h = at::relu(conv(h));
    return layers_->pre_vq_conv(layers_->encoder(layers_->conv_last(h), training, log));
}

at::Tensor Vqvae::decode(at::Tensor const& vectors, bool training, NormLog* log) const {
    at::Tensor h = layers_->decoder(layers_->post_vq_conv(vectors), training, log);
    for (auto const& convt : layers_->convts)
        h = &convt == &layers_->convts.back() ? convt(h) : at::relu(convt(h));
    return h;
}

void Vqvae::move_norms(NormLog const& means_of_step) const {
    auto norms = layers_->encoder.norms();
    for (auto const* each : layers_->decoder.norms()) norms.push_back(each);
    OSORA_CHECK_EQ(norms.size(), means_of_step.means.size());
    for (std::size_t i = 0; i < norms.size(); ++i)
        norms[i]->move(means_of_step.means[i], means_of_step.variances[i]);
}

}  // namespace osora::worker
