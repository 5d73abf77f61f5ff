// The codebook of a VQ-VAE: nearest code, exponential moving averages instead of gradients, codes
// that nobody uses started again (van den Oord et al. 2017, appendix A.1; the numbers are those of
// VideoGPT, videogpt/vqvae.py Codebook). Sums over ranks and random choices are the caller's.
#pragma once

#include "worker/model/parameters.hpp"

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace osora::worker {

struct CodebookConfig {
    std::int64_t n_codes = 2048;
    std::int64_t embedding_dim = 256;
    double decay = 0.99;
    double commitment = 0.25;  // weight of the commitment loss
    double dead_below = 1.0;   // a code whose average use per update is less is started again
};

/// What one batch says about the codes; all_reduce adds it up over ranks.
struct CodebookCounts {
    at::Tensor uses;  // (n_codes)
    at::Tensor sums;  // (n_codes, embedding_dim): of the vectors that took the code
};

struct Quantized {
    at::Tensor codes;            // (B, ...) int64
    at::Tensor embeddings;       // (B, C, ...): the codes' vectors; gradients pass straight to z
    at::Tensor commitment_loss;  // commitment x mean (z - embedding)^2, the gradient goes to z
    at::Tensor perplexity;       // exp of the entropy of the codes' use: 1 to n_codes
    CodebookCounts counts;
};

class Codebook {
public:
    /// Adds the buffers embeddings, N and z_avg under `prefix`; initialise() or load() fills them.
    Codebook(Parameters& parameters, CodebookConfig const& config, std::string const& prefix = "");

    /// Codes from vectors of the data (n_codes, embedding_dim), each counted as used once.
    void initialise(at::Tensor const& vectors);

    /// Whether codes are usable: initialise() was called, or a trained codebook loaded.
    [[nodiscard]] bool is_initialised() const;

    /// z (B, embedding_dim, ...)
    [[nodiscard]] Quantized quantize(at::Tensor const& z) const;

    /// Whether update(counts, restart) would read `restart`.
    [[nodiscard]] bool any_dies(CodebookCounts const& counts) const;

    /// Share of the codes that are used dead_below a step or more, on average.
    [[nodiscard]] double share_used() const;

    /// One step of the averages: N <- decay N + (1 - decay) uses, z_avg alike, code = z_avg / N
    /// with N smoothed by 1e-7; then codes with N < dead_below take their row of `restart`
    /// (n_codes, embedding_dim), vectors of the data. Returns how many did.
    std::int64_t update(CodebookCounts const& counts, at::Tensor const& restart);

    /// n_codes different vectors of z (B, embedding_dim, ...), drawn with a CPU generator; where z
    /// has fewer they are repeated with a little noise. What initialise() and update() take.
    [[nodiscard]] at::Tensor draw_vectors(at::Tensor const& z,
                                          at::Generator const& generator) const;

private:
    CodebookConfig config_;
    at::Tensor embeddings_, uses_, sums_;  // (n_codes, C), (n_codes), (n_codes, C)
};

}  // namespace osora::worker
