// Checks a resolved run file against model, machine and worker, section by section.
#include "plan/validate.hpp"

#include "plan/activation_choice.hpp"
#include "plan/autoencoder/autoencoder_checks.hpp"
#include "plan/config/frame_masks.hpp"
#include "plan/layout/batch_sizes.hpp"
#include "plan/layout/divisibility.hpp"
#include "plan/model/model_sizes.hpp"
#include "plan/model/trained_model.hpp"
#include "plan/model/trained_parameters.hpp"
#include "plan/plan_context.hpp"
#include "plan/worker_support.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace osora::plan {
namespace {

class LayoutChecker {
public:
    LayoutChecker(RunConfig const& config, topology::Cluster const& cluster)
        : config_(config), cluster_(cluster) {}

    std::vector<ConfigViolation> run() {
        check_machine();
        std::string const& job = config_.run.job;
        if (job == "exec" || job == "probe" || job == "score") return std::move(found_);
        check_model();
        if (shape_) check_buckets();
        check_loader();
        if (config_.run.job == "encode") return std::move(found_);
        if (shape_) check_parallel();
        check_batch();
        if (shape_) check_frame_masks();
        check_training();
        return std::move(found_);
    }

private:
    void add(std::string key, std::string message, Errc code = Errc::invalid_input) {
        found_.push_back({std::move(key), std::move(message), code});
    }
    void check_choice(std::string const& key, std::string const& value,
                      std::vector<std::string> const& supported) {
        if (std::ranges::find(supported, value) != supported.end()) return;
        add(key, fmt::format("this version's worker does not do it; valid: {}",
                             fmt::join(supported, ", ")));
    }
    [[nodiscard]] int ranks() const {
        return config_.resources.nodes * config_.resources.gpus_per_node;
    }

    void check_machine() {
        if (cluster_.nodes.empty()) return;
        auto const gpus = static_cast<int>(cluster_.nodes.front().gpus.size());
        if (gpus > 0 && config_.resources.gpus_per_node > gpus) {
            add("resources.gpus_per_node",
                fmt::format("this machine has {} GPU{}; nearest valid: {}", gpus,
                            gpus == 1 ? "" : "s", gpus));
        }
    }

    void check_model() {
        if (trains_autoencoder(config_)) {
            check_autoencoder();
            return;
        }
        auto const broken = size_violations(config_.model);
        for (SizeViolation const& each : broken) add(each.key, each.message, each.code);
        if (!broken.empty()) return;
        shape_ = model_shape(config_.model).value();
        check_arch();
    }

    void check_autoencoder() {
        auto shape = sample_shape(config_);
        if (!shape) {
            add("vae.arch", shape.error().message, shape.error().code);
            return;
        }
        for (auto& each : autoencoder_violations(config_)) found_.push_back(std::move(each));
        shape_ = std::move(*shape);
    }

    void check_arch() {
        check_choice("model.arch", config_.model.arch, support_.archs);
        bool const latent = shape_->vae.spatial > 1 || shape_->vae.temporal > 1;
        if (config_.run.job == "train" && latent && config_.data.latents.empty()) {
            add("model.arch", fmt::format("trains on latents: it needs data.latents; on pixels: {}",
                                          fmt::join(support_.pixel_archs, ", ")));
        }
    }

    void check_buckets() {
        for (std::size_t i = 0; i < config_.bucket.size(); ++i) {
            auto const key = bucket_key(config_.bucket[i], *shape_);
            if (!key) {
                add(fmt::format("bucket[{}].resolution", i), key.error().message);
                continue;
            }
            SampleCost const cost = sample_cost(*shape_, *key);
            tokens_.push_back(cost.tokens_per_frame);
            frames_.push_back(cost.frames);
        }
    }

    void check_frame_masks() {
        auto const& masks = config_.train.frame_masks;
        if (masks.empty()) return;
        if (shape_->family == ModelFamily::mmdit) {
            add("train.frame_masks", "is for STDiT; MMDiT takes no frames as a condition here");
            return;
        }
        bool const original = config_.debug.frame_mask_rule == "original";
        auto const quarter = std::ranges::find_if(
            masks, [](auto const& each) { return takes_a_quarter(each.first) && each.second > 0; });
        auto const few = std::ranges::find_if(
            frames_, [](std::int64_t frames) { return frames == 2 || frames == 3; });
        if (!original || quarter == masks.end() || few == frames_.end()) return;
        add("train.frame_masks",
            fmt::format("{}: a quarter of {} latent frames is none with debug.frame_mask_rule = "
                        "\"original\"; nearest valid: buckets of 4 latent frames",
                        quarter->first, *few));
    }

    void check_loader() {
        auto const& data = config_.data;
        if (data.num_workers.value_or(0) < 0) add("data.num_workers", "must be at least 0");
        if (data.prefetch_factor.value_or(1) < 1) add("data.prefetch_factor", "must be at least 1");
    }

    /// tp, pp and sp sizes of the run file.
    void check_parallel() {
        auto const& parallel = config_.parallel;
        Layout layout{.tp_size = std::max(1, parallel.tp_size.value_or(1)),
                      .pp_size = std::max(1, parallel.pp_size.value_or(1)),
                      .sp_size = std::max(1, parallel.sp_size.value_or(1)),
                      .virtual_stages = parallel.virtual_stages};
        layout.sp_kind = sp_kind(layout.tp_size, layout.sp_size);
        int const cut = layout.tp_size * layout.pp_size * layout.sp_size;
        layout.dp_size = std::max(1, ranks() / cut);
        auto const broken = layout_violations(layout, cut_limits(*shape_, tokens_), ranks());
        check_cut("parallel.tp_size", layout.tp_size, 1, broken);
        check_cut("parallel.pp_size", layout.pp_size, layout.tp_size, broken);
        check_cut("parallel.sp_size", layout.sp_size, layout.tp_size * layout.pp_size, broken);
        for (LayoutViolation const& each : broken) {
            if (each.key == "parallel.virtual_stages") add(each.key, each.why);
        }
        if (parallel.virtual_stages > 1 && !parallel.pp_schedule.is_auto()) {
            add("parallel.pp_schedule",
                "with virtual_stages above 1 passes are interleaved; valid: \"auto\"");
        }
        if (layout.pp_size > 1 && parallel.zero_stage.value_or(0) == 3) {
            add("parallel.zero_stage",
                "weights stay where a pipeline's stages need them; valid: 0 to 2");
        } else if (layout.virtual_stages > 1 && parallel.zero_stage.value_or(0) == 2) {
            add("parallel.zero_stage",
                "gradients would be reduced once for each of parallel.virtual_stages; "
                "valid: 0 and 1");
        }
        int const stage = parallel.zero_stage.value_or(0);
        if (stage < 0 || stage > support_.zero_stage_max) {
            add("parallel.zero_stage", fmt::format("valid: 0 to {}", support_.zero_stage_max));
        } else if (stage > 0 && trains_autoencoder(config_)) {
            add("parallel.zero_stage", "autoencoders are not shared out; valid: 0");
        }
        if (parallel.grad_bucket_mib.value_or(1) < 1) {
            add("parallel.grad_bucket_mib", "must be at least 1");
        }
        check_shard_size(layout);
    }
    [[nodiscard]] SpKind sp_kind(int tp_size, int sp_size) const {
        return sp_kind_of(config_.parallel.sp_kind.value_or("auto"), shape_->heads, tp_size,
                          sp_size);
    }
    void check_shard_size(Layout const& layout) {
        auto const& parallel = config_.parallel;
        if (parallel.shard_size.is_auto()) return;
        int const size = *parallel.shard_size.value;
        if (size < 2 || size > ranks() || ranks() % size != 0) {
            add("parallel.shard_size",
                fmt::format("{} does not divide {} ranks; nearest valid: {}", size, ranks(),
                            fmt::join(nearest_divisors(ranks(), std::max(2, size)), ", ")));
        } else if (size < ranks() && layout.tp_size * layout.pp_size > 1) {
            add("parallel.shard_size",
                fmt::format("with tp_size and pp_size all ranks share one copy; valid: \"auto\" "
                            "or {}",
                            ranks()));
        } else if (size < ranks() && !parallel.zero_stage.is_auto() &&
                   *parallel.zero_stage.value == 0) {
            add("parallel.shard_size",
                "zero_stage = 0 divides nothing; valid: \"auto\", or zero_stage = 1, 2 or 3");
        }
    }
    /// `with`: number of ranks that another cut already joins.
    void check_cut(std::string const& key, int size, int with,
                   std::vector<LayoutViolation> const& broken) {
        if (size == 1) return;
        if (!runs_network(config_)) {
            add(key, fmt::format("run.job = \"{}\" has no layers and tokens to cut; valid: 1",
                                 config_.run.job));
            return;
        }
        auto const rule = std::ranges::find(broken, key, &LayoutViolation::key);
        if (std::ranges::find(support_.cuts, key) == support_.cuts.end()) {
            add(key,
                fmt::format("this version's worker does not cut so; valid: 1{}",
                            rule == broken.end() ? "" : " (" + rule->message() + ")"),
                rule == broken.end() ? Errc::invalid_input : Errc::not_divisible);
        } else if (rule != broken.end()) {
            add(key, rule->why, Errc::not_divisible);
        } else if (ranks() % with == 0 && ranks() / with % size != 0) {
            add(key,
                fmt::format("does not divide {} rank{}{}; nearest valid: {}", ranks() / with,
                            ranks() / with == 1 ? "" : "s",
                            with > 1 ? fmt::format(" (of {})", ranks()) : "",
                            fmt::join(nearest_divisors(ranks() / with, size), ", ")),
                Errc::not_divisible);
        }
    }

    /// Whether a batch with fewer samples than ranks can be divided if some ranks share samples,
    /// which the run file leaves open. A cut without data parallel ranks must be requested
    /// explicitly.
    [[nodiscard]] bool some_cut_divides(std::int64_t global, std::int64_t micro) const {
        auto const& parallel = config_.parallel;
        if (!runs_network(config_) || !shape_ || global >= micro * ranks()) return false;
        int const node = config_.resources.gpus_per_node, pp = parallel.pp_size.value_or(1);
        auto const open = [](AutoOr<int> const& size, int wanted) {
            return size.is_auto() || *size.value == wanted;
        };
        CutLimits const limits = cut_limits(*shape_, tokens_);
        for (int tp = 1; tp <= node; ++tp) {
            for (int sp = 1; sp * tp <= node; ++sp) {
                bool const whole = node % (tp * sp) == 0 && ranks() % (tp * sp * pp) == 0;
                if (!whole || !open(parallel.tp_size, tp) || !open(parallel.sp_size, sp)) continue;
                int const dp = ranks() / (tp * sp * pp);
                Layout const layout{.tp_size = tp,
                                    .pp_size = pp,
                                    .sp_size = sp,
                                    .dp_size = dp,
                                    .sp_kind = sp_kind(tp, sp)};
                if (dp > 1 && global % (micro * dp) == 0 &&
                    layout_violations(layout, limits, ranks()).empty())
                    return true;
            }
        }
        return false;
    }

    void check_batch() {
        auto const& batch = config_.batch;
        for (std::size_t i = 0; i < config_.bucket.size(); ++i) {
            if (config_.bucket[i].micro_batch_size.value_or(1) >= 1) continue;
            add(fmt::format("bucket[{}].micro_batch_size", i), "must be at least 1");
            return;
        }
        if (config_.bucket.empty()) return;
        std::int64_t const micro = config_.bucket[0].micro_batch_size.value_or(1);
        // Ranks that share samples count once.
        auto const& parallel = config_.parallel;
        int together = 1;
        for (auto const* size : {&parallel.tp_size, &parallel.sp_size, &parallel.pp_size})
            together *= std::max(1, size->value_or(1));
        int const dp_size = std::max(1, ranks() / together);
        std::int64_t const unit = micro * dp_size;
        if (batch.global_batch_size.is_auto()) {
            // Every rank needs a micro-batch of the first bucket.
            std::int64_t const least = batch_unit(dp_size, static_cast<int>(micro));
            if (batch.max < least) {
                add("batch.max",
                    fmt::format("is below {}, the smallest batch that {} ranks and fewer share; "
                                "nearest valid: {}",
                                least, comparable_ranks(dp_size), least));
            }
            return;
        }
        int const global = *batch.global_batch_size.value;
        if (global >= 1 && (global % unit == 0 || some_cut_divides(global, micro))) return;
        std::string const cause =
            config_.bucket[0].micro_batch_size.is_auto()
                ? fmt::format("{} ranks", dp_size)
                : fmt::format("{} ranks x micro_batch_size {}", dp_size, micro);
        add("batch.global_batch_size",
            fmt::format("does not divide over {}; nearest valid: {}", cause,
                        fmt::join(nearest_multiples(unit, global), ", ")),
            Errc::not_divisible);
    }

    void check_activations() {
        std::string const recompute = config_.memory.recompute.value_or("none");
        std::string const store = config_.memory.activation_store.value_or("none");
        if (trains_autoencoder(config_)) {
            check_choice("memory.recompute", recompute, {"none"});
            check_choice("memory.activation_store", store, {"none"});
            return;
        }
        auto const choice = recompute_choice(recompute);
        if (!choice) add("memory.recompute", choice.error().message);
        bool const counted = choice && !choice->attention && *choice != RecomputeChoice::full();
        if (counted && shape_ && choice->first_blocks > shape_->blocks()) {
            add("memory.recompute",
                fmt::format("{} blocks of {}; nearest valid: {}, or \"full\"", choice->first_blocks,
                            shape_->blocks(), shape_->blocks()));
        }
        check_choice("memory.activation_store", store, support_.activation_stores);
        bool const on_cpus = !cluster_.nodes.empty() && cluster_.nodes.front().gpus.empty();
        bool const lossy = is_lossy(store, on_cpus ? "fp32" : config_.optim.precision);
        if (lossy && config_.parallel.pp_size.value_or(1) > 1) {
            add("memory.activation_store",
                fmt::format("\"{}\" rounds activations, and what that does to gradients is not "
                            "measured in a pipeline; valid: none, offload",
                            store));
        } else if (lossy && !config_.memory.allow_lossy) {
            add("memory.activation_store",
                fmt::format("\"{}\" rounds activations: it needs memory.allow_lossy = true; "
                            "without: none, offload",
                            store));
        }
    }

    void check_offload() {
        if (!config_.memory.offload_frozen.value_or(false)) return;
        std::string const key = "memory.offload_frozen";
        auto const& optim = config_.optim;
        if (trains_autoencoder(config_)) {
            add(key, "autoencoders stay on the device; nearest valid: false");
        } else if (shape_ && !has_frozen_blocks(*shape_, optim.lora_rank, optim.freeze)) {
            add(key,
                "no block has frozen weights; nearest valid: false, or optim.lora_rank above 0, or "
                "optim.freeze with parts of blocks");
        } else if (config_.parallel.pp_size.value_or(1) > 1) {
            add(key,
                "the stages of a pipeline keep their blocks on the device; nearest valid: false, "
                "or parallel.pp_size = 1");
        }
    }

    void check_training() {
        check_activations();
        check_offload();
        check_choice("optim.name", config_.optim.name, support_.optimizers);
        check_choice("optim.precision", config_.optim.precision, support_.precisions);
        check_choice("debug.collectives", config_.debug.collectives, support_.collectives);
        check_choice("debug.bucket_schedule", config_.debug.bucket_schedule,
                     support_.bucket_schedules);
    }

    RunConfig const& config_;
    topology::Cluster const& cluster_;
    WorkerSupport const support_;
    std::optional<ModelShape> shape_;
    std::vector<std::int64_t> tokens_;  // per frame, of each bucket
    std::vector<std::int64_t> frames_;  // in tokens, of each bucket
    std::vector<ConfigViolation> found_;
};

}  // namespace

std::vector<ConfigViolation> config_violations(RunConfig const& config,
                                               topology::Cluster const& cluster) {
    return LayoutChecker(config, cluster).run();
}

}  // namespace osora::plan
