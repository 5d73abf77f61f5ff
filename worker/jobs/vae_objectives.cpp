#include "worker/jobs/vae_objectives.hpp"

#include "worker/jobs/train_data.hpp"
#include "worker/jobs/vae_of_job.hpp"
#include "worker/model/weights/weight_files.hpp"
#include "worker/vae_training/vae_objective.hpp"
#include "worker/vae_training/vqvae_objective.hpp"

#include <utility>

namespace osora::worker {
namespace {

Result<void> load_part(Parameters& parameters, plan::WorkerJob const& job, std::string const& key,
                       std::string const& file, Notices& notices) {
    std::string const path = resolve(job, file);
    auto const weights = load_network_weights(path);
    if (weights.has_error()) return Error(weights.error()).in(key);
    auto const loaded = parameters.load(weights->tensors);
    if (loaded.has_error()) return Error(loaded.error()).in(key + ": " + path);
    for (auto const& each : weights->notices) notices.push_back(key + ": " + each);
    return {};
}

std::unique_ptr<Adversary> adversary_of(plan::RunConfig const& config, std::uint64_t seed,
                                        Device const& device) {
    if (config.vae_loss.adversarial_weight <= 0) return nullptr;
    AdversaryConfig adversary;
    adversary.weight = config.vae_loss.adversarial_weight;
    adversary.start = config.vae_loss.adversarial_start;
    adversary.lr = config.optim.lr;
    adversary.warmup_steps = config.optim.warmup_steps;
    return std::make_unique<Adversary>(adversary, seed, at::TensorOptions().device(device.torch()));
}

}  // namespace

Result<std::unique_ptr<Objective>> make_vae_objective(plan::WorkerJob const& job,
                                                      Device const& device,
                                                      std::optional<Group> const& group,
                                                      Notices& notices) {
    auto const& config = job.config;
    auto const seed = static_cast<std::uint64_t>(config.train.seed);
    OSORA_TRY(auto vae, make_vae(job, device, notices));
    VaeObjective::Parts parts{std::move(vae), nullptr, adversary_of(config, seed, device), group};
    if (!config.vae_loss.lpips.empty() && config.vae_loss.perceptual_weight > 0) {
        parts.perceptual = std::make_unique<Perceptual>(at::TensorOptions().device(device.torch()));
        OSORA_TRY_VOID(load_part(parts.perceptual->parameters, job, "vae_loss.lpips",
                                 config.vae_loss.lpips, notices));
    }
    return std::make_unique<VaeObjective>(std::move(parts), config.vae_loss, seed);
}

Result<std::unique_ptr<Objective>> make_vqvae_objective(plan::WorkerJob const& job,
                                                        Device const& device,
                                                        std::optional<Group> const& group,
                                                        Notices& notices) {
    auto const& config = job.config;
    OSORA_TRY_VOID(check_vqvae(config.vqvae));
    Vqvae model(config.vqvae, at::TensorOptions().device(device.torch()));
    VqvaeObjectiveOptions options;
    options.seed = static_cast<std::uint64_t>(config.train.seed);
    options.group = group;
    options.micro_frame_size =
        config.vae.micro_frame_size.value_or(job.plan.chosen.vae_micro_frame_size);
    model.initialise(options.seed);
    if (!config.vae.weights.empty())
        OSORA_TRY_VOID(
            load_part(model.parameters(), job, "vae.weights", config.vae.weights, notices));
    return std::make_unique<VqvaeObjective>(std::move(model), std::move(options));
}

}  // namespace osora::worker
