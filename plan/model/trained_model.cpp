#include "plan/model/trained_model.hpp"

#include "plan/model/model_sizes.hpp"
#include "plan/vae/vae_sizes.hpp"

#include <fmt/format.h>

namespace osora::plan {

bool trains_autoencoder(RunConfig const& config) {
    return config.run.job == "train_vae" || config.run.job == "train_vqvae";
}

bool runs_network(RunConfig const& config) {
    return config.run.job == "train" || config.run.job == "rehearse";
}

std::string trained_arch(RunConfig const& config) {
    if (config.run.job == "train_vae") return "vae " + config.vae.arch;
    if (config.run.job == "train_vqvae")
        return fmt::format("vqvae {} x {}", config.vqvae.n_codes, config.vqvae.embedding_dim);
    return config.model.arch;
}

Result<ModelShape> sample_shape(RunConfig const& config) {
    if (!trains_autoencoder(config)) return model_shape(config.model);
    ModelShape shape;
    shape.arch = trained_arch(config);
    shape.in_channels = 3;
    shape.patch_size = {1, 1, 1};
    if (config.run.job == "train_vae") {
        OSORA_TRY(auto const sizes, vae_sizes(config.vae.arch));
        shape.vae.spatial = static_cast<int>(sizes.spatial.factor());
    } else {
        shape.vae.spatial = config.vqvae.downsample_pixels;
    }
    return shape;
}

}  // namespace osora::plan
