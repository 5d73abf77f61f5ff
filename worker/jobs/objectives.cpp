// Each family: its network, its weights, and what its objective reads of the run file.
#include "worker/jobs/objectives.hpp"

#include "plan/activation_choice.hpp"
#include "plan/config/frame_masks.hpp"
#include "plan/model/model_sizes.hpp"
#include "worker/cache/text_cache.hpp"
#include "worker/jobs/cached_data.hpp"
#include "worker/jobs/train_data.hpp"
#include "worker/jobs/vae_objectives.hpp"
#include "worker/model/weights/older_weights.hpp"
#include "worker/model/weights/weight_files.hpp"
#include "worker/train/objective/mmdit_objective.hpp"
#include "worker/train/objective/stdit3_objective.hpp"
#include "worker/train/objective/stored_objective.hpp"
#include "worker/train/precision.hpp"

#include <utility>

namespace osora::worker {
namespace {

using SharedRecompute = std::shared_ptr<plan::RecomputeChoice>;

/// Open-Sora's: class_dropout_prob of v1.2, dropout_ratio of v2.0.
constexpr double kStdit3DropProb = 0.1, kMmditDropProb = 0.316;

TimestepSampling sampling_of(plan::WorkerJob const& job, char const* usual) {
    bool const uniform = job.config.train.timesteps.value_or(usual) == "uniform";
    return uniform ? TimestepSampling::uniform : TimestepSampling::logit_normal;
}

/// In the order of plan::kFrameMasks, so that a number picks the same strategy everywhere.
Result<std::optional<MaskMixture>> frame_masks_of(plan::WorkerJob const& job) {
    auto const& shares = job.config.train.frame_masks;
    if (shares.empty()) return std::optional<MaskMixture>();
    for (auto const& [name, share] : shares) {
        auto const known = mask_strategy(name);
        if (known.has_error()) return Error(known.error()).in("train.frame_masks");
    }
    std::vector<MaskMixture::Part> parts;
    for (std::size_t i = 0; i < plan::kFrameMasks.size(); ++i) {
        auto const found = shares.find(std::string(plan::kFrameMasks[i]));
        if (found == shares.end()) continue;
        parts.push_back({static_cast<MaskStrategy>(i), found->second});
    }
    bool const original = job.config.debug.frame_mask_rule == "original";
    auto made =
        MaskMixture::make(std::move(parts), original ? MaskRule::original : MaskRule::osora);
    if (made.has_error()) return Error(made.error()).in("train.frame_masks");
    return std::optional(std::move(*made));
}

at::TensorOptions options_of(plan::WorkerJob const& job, Device const& device) {
    return at::TensorOptions(scalar_type_of(job.plan.chosen.precision)).device(device.torch());
}

/// What every network is made with.
struct NetworkParts {
    plan::ModelShape const& shape;
    Device const& device;
    Notices& notices;
    RankGroups const& groups;
    SharedRecompute const& recompute;
    Progressed const& progressed;
};

/// model.init, as tensors; none when it is empty.
Result<std::vector<NamedTensor>> first_weights(plan::WorkerJob const& job,
                                               NetworkParts const& parts) {
    if (job.config.model.init.empty()) return std::vector<NamedTensor>();
    auto weights = load_network_weights(resolve(job, job.config.model.init));
    if (weights.has_error()) return Error(weights.error()).in("model.init");
    for (std::string& each : weights->notices) parts.notices.push_back("model.init: " + each);
    auto const finite = check_finite(weights->tensors, parts.progressed);
    if (finite.has_error()) {
        return Error(finite.error()).in("model.init: " + resolve(job, job.config.model.init));
    }
    return std::move(weights->tensors);
}

Result<void> load_network(Parameters& parameters, std::vector<NamedTensor> const& weights,
                          plan::WorkerJob const& job) {
    if (weights.empty()) return {};
    auto const loaded = parameters.load(weights);
    if (loaded.has_value()) return {};
    return Error(loaded.error()).in("model.init: " + resolve(job, job.config.model.init));
}

Result<void> load_older(Parameters& parameters, ConvertedWeights converted,
                        plan::WorkerJob const& job, Notices& notices) {
    keep_initial(converted, parameters);
    OSORA_TRY_VOID(load_network(parameters, converted.weights, job));
    for (std::string& each : converted.notices) notices.push_back("model.init: " + each);
    return {};
}

/// What ranks will divide (ZeRO) gets its memory as it is divided (make_data_parallel), and frozen
/// blocks that are offloaded get none before they are first read (FrozenBlocks). Pipeline stages
/// have the blocks that the plan has counted for them.
LayerRanks layers_of(plan::WorkerJob const& job, NetworkParts const& parts) {
    LayerRanks layers = parts.groups.layers();
    bool const divides =
        job.plan.chosen.zero_stage > 0 && parts.groups.all && parts.groups.all->world_size() > 1;
    layers.delays_memory = divides || job.plan.chosen.offload_frozen;
    if (layers.stages) layers.run_ends = job.plan.chosen.run_ends;
    return layers;
}

Result<Stdit3Training> stdit_training(plan::WorkerJob const& job, plan::ModelShape const& shape) {
    Stdit3Training training;
    training.flow = flow_of(job, shape);
    training.seed = static_cast<std::uint64_t>(job.config.train.seed);
    training.caption_drop_prob = job.config.text.drop_prob.value_or(kStdit3DropProb);
    OSORA_TRY(training.frame_masks, frame_masks_of(job));
    return training;
}

Result<std::unique_ptr<Objective>> stdit3_objective(plan::WorkerJob const& job,
                                                    NetworkParts const& parts) {
    OSORA_TRY(auto const config, stdit3_config(parts.shape));
    OSORA_TRY(auto training, stdit_training(job, parts.shape));
    Stdit3 model(config, options_of(job, parts.device), layers_of(job, parts));
    model.initialise(training.seed);
    OSORA_TRY(auto weights, first_weights(job, parts));
    if (!weights.empty()) {
        auto converted = as_stdit3_weights(std::move(weights), config);
        OSORA_TRY_VOID(load_older(model.parameters(), std::move(converted), job, parts.notices));
    }
    model.share_tokens(parts.groups.tokens);
    model.set_recompute(parts.recompute);
    return std::make_unique<Stdit3Objective>(std::move(model), std::move(training));
}

Result<std::unique_ptr<Objective>> stdit2_objective(plan::WorkerJob const& job,
                                                    NetworkParts const& parts) {
    OSORA_TRY(auto const config, stdit2_config(parts.shape));
    OSORA_TRY(auto training, stdit_training(job, parts.shape));
    Stdit2 model(config, options_of(job, parts.device), layers_of(job, parts));
    model.initialise(training.seed);
    OSORA_TRY(auto weights, first_weights(job, parts));
    if (!weights.empty()) {
        auto converted = as_stdit2_weights(std::move(weights), config);
        OSORA_TRY_VOID(load_older(model.parameters(), std::move(converted), job, parts.notices));
    }
    model.share_tokens(parts.groups.tokens);
    model.set_recompute(parts.recompute);
    return std::make_unique<Stdit2Objective>(std::move(model), std::move(training));
}

Result<std::unique_ptr<Objective>> mmdit_objective(plan::WorkerJob const& job,
                                                   NetworkParts const& parts) {
    OSORA_TRY(auto const config, mmdit_config(parts.shape));
    MmditTraining training;
    training.sampling = sampling_of(job, "logit_normal");
    training.timestep_shift = shifts_timesteps(job, parts.shape);
    training.seed = static_cast<std::uint64_t>(job.config.train.seed);
    training.caption_drop_prob = job.config.text.drop_prob.value_or(kMmditDropProb);
    training.text_tokens = parts.shape.text_tokens;
    OSORA_TRY(training.null, cached_null(job, parts.shape));
    Mmdit model(config, options_of(job, parts.device), layers_of(job, parts));
    model.initialise(training.seed);
    OSORA_TRY(auto const weights, first_weights(job, parts));
    OSORA_TRY_VOID(load_network(model.parameters(), weights, job));
    model.share_tokens(parts.groups.tokens);
    model.set_recompute(parts.recompute);
    return std::make_unique<MmditObjective>(std::move(model), training);
}

/// One choice for all buckets, as the plan has it; a store and a network read theirs in each
/// forward pass, so a choice for each bucket is a matter of what is set before it.
Result<std::unique_ptr<Objective>> with_store(std::unique_ptr<Objective> objective,
                                              plan::WorkerJob const& job,
                                              SharedRecompute const& recompute) {
    auto const& chosen = job.plan.chosen;
    OSORA_TRY(StoreForm const form, store_form(chosen.activation_store));
    if (form == StoreForm::none) return objective;
    StoredObjective::Settings settings;
    settings.store.form = form;
    settings.store.stochastic = job.config.memory.store_rounding == "stochastic";
    settings.store.seed = static_cast<std::uint64_t>(job.config.train.seed);
    settings.lossy = plan::is_lossy(chosen.activation_store, chosen.precision);
    return std::make_unique<StoredObjective>(std::move(objective), settings, recompute);
}

}  // namespace

Result<NullCaption> cached_null(plan::WorkerJob const& job, plan::ModelShape const& shape) {
    if (job.config.text.embeddings.empty()) return NullCaption();
    OSORA_TRY(auto const folder,
              open_cache_folder(resolve(job, job.config.text.embeddings), "text.embeddings"));
    OSORA_TRY_VOID(check_text_fits(folder, shape));
    TextCache cache(folder.path, folder.index);
    OSORA_TRY(auto const null, cache.null_caption());
    return NullCaption{null.embedding, null.pooled};
}

bool shifts_timesteps(plan::WorkerJob const& job, plan::ModelShape const& shape) {
    return job.config.train.timestep_shift.value_or(shape.family == plan::ModelFamily::mmdit);
}

RectifiedFlowConfig flow_of(plan::WorkerJob const& job, plan::ModelShape const& shape) {
    RectifiedFlowConfig config;
    config.sampling = sampling_of(job, "uniform");
    config.use_timestep_transform = shifts_timesteps(job, shape);
    // STDiT2's latents are of single frames, of an autoencoder without time.
    bool const frames = shape.family == plan::ModelFamily::stdit2 && shape.vae.spatial > 1;
    bool const pixels = shape.vae.temporal == 1 && (frames || job.config.data.latents.empty());
    config.latent_frames = pixels ? LatentFrames::pixels : LatentFrames::also_of_short_clips;
    return config;
}

Result<std::unique_ptr<Objective>> make_objective(plan::WorkerJob const& job, Device const& device,
                                                  RankGroups const& groups, Notices& notices,
                                                  Progressed const& progressed) {
    if (job.config.run.job == "train_vae") {
        return make_vae_objective(job, device, groups.all, notices);
    }
    if (job.config.run.job == "train_vqvae") {
        return make_vqvae_objective(job, device, groups.all, notices);
    }
    OSORA_TRY(auto const shape, plan::model_shape(job.config.model));
    OSORA_TRY(auto const choice, plan::recompute_choice(job.plan.chosen.recompute));
    auto const recompute = std::make_shared<plan::RecomputeChoice>(choice);
    auto const make = shape.family == plan::ModelFamily::mmdit    ? mmdit_objective
                      : shape.family == plan::ModelFamily::stdit2 ? stdit2_objective
                                                                  : stdit3_objective;
    OSORA_TRY(auto objective, make(job, {shape, device, notices, groups, recompute, progressed}));
    OSORA_TRY(auto stored, with_store(std::move(objective), job, recompute));
    stored->set_recompute(recompute);
    return stored;
}

}  // namespace osora::worker
