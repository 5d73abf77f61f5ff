// Layouts that are compared with one rank: their run file and their objective with a tiny network.
#pragma once

#include "worker/train/objective/mmdit_objective.hpp"
#include "worker/train/objective/stdit3_objective.hpp"
#include "worker/train/objective/stored_objective.hpp"
#include "worker/train/trainable.hpp"
#include "worker/train/trainer.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace osora::worker {

inline constexpr std::int64_t kSamples = 4;

struct Layout {
    char const* arch = "stdit3-tiny";
    int ranks = 2;
    int stage = 1;
    std::int64_t micro_batch_size = 1;
    std::string collectives = "bucketed";
    bool overlap = true;
    int bucket_mib = 1;
    int lora_rank = 0;
    bool image = false;  // one frame: temporal attention leaves parameters without a gradient
    int sp = 1;          // ranks that share the tokens of a sample
    int tp = 1;          // ranks that share linear layers
    int pp = 1;          // ranks that share blocks
    int virtual_stages = 1;
    bool eager = false;  // 1F1B
    int shard = 0;       // ranks that share what ZeRO divides; 0: all
    AttentionForm attention = AttentionForm::exchange;
    std::string recompute = "none", store = "none";
    std::int64_t samples = kSamples;          // of the global batch
    bool captions = false;                    // of different lengths; false: null captions
    bool masks = false;                       // STDiT: some frames are given
    std::vector<std::int64_t> run_ends = {};  // of stages' blocks; empty: equally many
    std::vector<std::string> freeze = {};     // prefixes of names
    bool offload = false;                     // frozen blocks are in host memory
};

inline std::string name_of(Layout const& layout) {
    std::ostringstream name;
    name << std::string_view(layout.arch).substr(0, std::string_view(layout.arch).find('-'))
         << "_ranks" << layout.ranks << "_zero" << layout.stage << "_micro"
         << layout.micro_batch_size << '_' << layout.collectives << (layout.overlap ? "" : "_after")
         << "_mib" << layout.bucket_mib << (layout.lora_rank > 0 ? "_lora" : "")
         << (layout.image ? "_image" : "");
    if (layout.pp > 1) name << "_pp" << layout.pp << (layout.eager ? "_eager" : "");
    if (layout.virtual_stages > 1) name << "_virtual" << layout.virtual_stages;
    if (layout.shard > 0) name << "_shard" << layout.shard;
    if (layout.samples != kSamples) name << "_samples" << layout.samples;
    if (layout.tp > 1) name << "_tp" << layout.tp;
    if (layout.sp > 1) name << "_sp" << layout.sp;
    if (layout.attention == AttentionForm::ring) name << "_ring";
    if (layout.recompute != "none") name << "_recompute_" << layout.recompute;
    if (layout.store != "none") name << "_store_" << layout.store;
    name << (layout.captions ? "_captions" : "") << (layout.masks ? "_masks" : "");
    for (std::int64_t const end : layout.run_ends) name << "_to" << end;
    name << (layout.freeze.empty() ? "" : "_freeze") << (layout.offload ? "_offload" : "");
    return name.str();
}

inline plan::WorkerJob job_of(Layout const& layout) {
    plan::WorkerJob job;
    job.config.optim.lr = 1e-3;
    job.config.optim.warmup_steps = 0;
    job.config.optim.weight_decay = 0.01;
    job.config.optim.eps = 1e-3;  // else rounding decides the sign of steps without a gradient
    job.config.optim.lora_rank = layout.lora_rank;
    job.config.optim.freeze = layout.freeze;
    job.config.debug.collectives = layout.collectives;
    job.config.parallel.overlap = layout.overlap;
    job.config.train.steps = 100;
    job.plan.chosen.zero_stage = layout.stage;
    job.plan.chosen.shard_size = layout.shard;
    job.plan.chosen.grad_bucket_mib = layout.bucket_mib;
    job.plan.chosen.offload_frozen = layout.offload;
    return job;
}

template <class Model>
void randomise(Model& model) {
    model.initialise(3);
    at::NoGradGuard const no_grad;  // weights that start at 0 would hide missing gradients
    auto const generator = at::make_generator<at::CPUGeneratorImpl>(7);
    for (NamedTensor const& each : model.parameters().all()) {
        if (each.kind != TensorKind::trainable) continue;
        auto const sizes = model.parameters().whole_sizes(each);
        at::Tensor const values = at::empty(sizes).normal_(0, 0.05, generator);
        if (model.parameters().is_here(each)) model.parameters().take(each, values);
    }
}

inline std::unique_ptr<Objective> stored(std::unique_ptr<Objective> inner, Layout const& layout,
                                         std::shared_ptr<plan::RecomputeChoice> recompute) {
    StoredObjective::Settings settings;
    settings.store.form = store_form(layout.store).value();
    settings.store.least_bytes = 0;
    settings.lossy = plan::is_lossy(layout.store, "fp32");
    settings.check_every = 2;
    if (settings.store.form == StoreForm::none) return inner;
    return std::make_unique<StoredObjective>(std::move(inner), settings, std::move(recompute));
}

inline std::unique_ptr<Objective> objective_of(Layout const& layout,
                                               RankGroups const& groups = {}) {
    std::unique_ptr<Objective> made;
    Stdit3Training stdit;
    if (layout.masks) stdit.frame_masks = MaskMixture::make({{MaskStrategy::random, 0.75}}).value();
    if (layout.captions) stdit.caption_drop_prob = 0.3;
    LayerRanks sharing = groups.layers();
    sharing.run_ends = layout.run_ends;
    auto const recompute =
        std::make_shared<plan::RecomputeChoice>(plan::recompute_choice(layout.recompute).value());
    auto const prepare = [&](auto& model) {
        randomise(model);
        model.share_tokens(groups.tokens);
        model.set_recompute(recompute);
    };
    if (std::string_view(layout.arch).starts_with("stdit2")) {
        Stdit2 model(stdit2_config(layout.arch).value(), {}, sharing);
        prepare(model);
        made = std::make_unique<Stdit2Objective>(std::move(model), stdit);
    } else if (layout.arch[0] == 's') {
        Stdit3 model(stdit3_config(layout.arch).value(), {}, sharing);
        prepare(model);
        made = std::make_unique<Stdit3Objective>(std::move(model), stdit);
    } else {
        Mmdit model(mmdit_config(layout.arch).value(), {}, sharing);
        prepare(model);
        MmditTraining training;
        training.text_tokens = 8;
        made = std::make_unique<MmditObjective>(std::move(model), training);
    }
    EXPECT_TRUE(choose_trainable(made->parameters(), job_of(layout).config.optim, 5).has_value());
    return stored(std::move(made), layout, recompute);
}

}  // namespace osora::worker
