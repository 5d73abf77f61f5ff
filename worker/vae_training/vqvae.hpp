// VideoGPT's VQ-VAE (videogpt/vqvae.py) with the names of its state dict: strided convolutions and
// blocks of axial attention around a codebook. Used by VqvaeObjective; wrong shapes are bugs.
#pragma once

#include "base/result.hpp"
#include "plan/config/sections/vqvae_section.hpp"
#include "worker/model/parameters.hpp"
#include "worker/vae/codebook.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace osora::worker {

struct NormLog;

/// not_divisible / invalid_input names the key that cannot work.
[[nodiscard]] Result<void> check_vqvae(plan::VqvaeSection const& sizes);

class Vqvae {
public:
    /// Uninitialised: call initialise() or parameters().load(). `sizes` has been checked.
    explicit Vqvae(plan::VqvaeSection const& sizes, at::TensorOptions options = {});
    ~Vqvae();
    Vqvae(Vqvae&&) noexcept;

    /// PyTorch's defaults, and VideoGPT's for attention; the same for a seed on every machine. The
    /// codebook stays empty: initialise it with vectors of the data.
    void initialise(std::uint64_t seed);

    /// x (B, 3, T, H, W) in [-0.5, 0.5] -> vectors (B, embedding_dim, t, h, w). `training`: norms
    /// by the batch, whose statistics are added to `log` unless that is null.
    [[nodiscard]] at::Tensor encode(at::Tensor const& x, bool training, NormLog* log) const;
    /// Vectors of codes -> (B, 3, T, H, W)
    [[nodiscard]] at::Tensor decode(at::Tensor const& vectors, bool training, NormLog* log) const;
    /// One step of the norms' running averages.
    void move_norms(NormLog const& means_of_step) const;

    [[nodiscard]] Codebook& codebook();
    [[nodiscard]] Codebook const& codebook() const;
    [[nodiscard]] Parameters& parameters() { return *parameters_; }
    [[nodiscard]] Parameters const& parameters() const { return *parameters_; }

private:
    struct Layers;
    std::unique_ptr<Parameters> parameters_;
    std::unique_ptr<Layers> layers_;
};

}  // namespace osora::worker
