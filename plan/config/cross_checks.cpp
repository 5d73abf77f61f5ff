// Each rule names the key to change; its place in the file comes from the origins.
#include "plan/config/cross_checks.hpp"

#include "base/files/part_of_file.hpp"
#include "base/host_list.hpp"
#include "plan/buckets/clip_columns.hpp"
#include "plan/config/fields.hpp"
#include "plan/config/frame_masks.hpp"
#include "plan/config/notify_checks.hpp"
#include "plan/config/slurm_checks.hpp"
#include "plan/config/ssh_checks.hpp"
#include "plan/config/step_pattern.hpp"
#include "protocol/clip_score.hpp"

#include <fmt/format.h>

#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <string_view>
#include <system_error>

namespace osora::plan {
namespace {

bool readable(ResolvedConfig const& resolved, std::initializer_list<char const*> keys) {
    return std::ranges::none_of(keys,
                                [&](char const* key) { return resolved.unread.contains(key); });
}

bool written(ResolvedConfig const& resolved, std::string const& key) {
    return resolved.origins.contains(key);
}

/// Jobs that read clips and update weights.
bool trains(std::string_view job) {
    return job == "train" || job == "train_vae" || job == "train_vqvae";
}

void check_batch(ResolvedConfig& resolved) {
    auto const& batch = resolved.config.batch;
    if (!readable(resolved, {"batch.min", "batch.max", "batch.global_batch_size"})) return;
    if (batch.min > batch.max) {
        // The key that the user wrote is the one to change.
        bool const blame_max = written(resolved, "batch.max");
        complain(resolved, blame_max ? "batch.max" : "batch.min",
                 blame_max ? fmt::format("is below batch.min = {}", batch.min)
                           : fmt::format("is above batch.max = {}", batch.max));
        return;
    }
    if (batch.global_batch_size.is_auto()) return;
    // The defaults only limit auto; a number is compared with limits that the user wrote.
    int const global = *batch.global_batch_size.value;
    if (written(resolved, "batch.min") && global < batch.min) {
        complain(resolved, "batch.global_batch_size",
                 fmt::format("is below batch.min = {0}; nearest valid: {0}", batch.min));
    }
    if (written(resolved, "batch.max") && global > batch.max) {
        complain(resolved, "batch.global_batch_size",
                 fmt::format("is above batch.max = {0}; nearest valid: {0}", batch.max));
    }
}

void check_buckets(ResolvedConfig& resolved) {
    auto const& buckets = resolved.config.bucket;
    if (!readable(resolved, {"bucket", "run.job"})) return;
    auto const& job = resolved.config.run.job;
    if (buckets.empty() && (trains(job) || job == "encode" || job == "rehearse")) {
        complain(resolved, "bucket",
                 "none is given; add [[bucket]] with resolution = \"64\" and num_frames = 8");
    }
    for (std::size_t i = 0; i < buckets.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (buckets[i].resolution != buckets[j].resolution || buckets[i].resolution.empty() ||
                buckets[i].num_frames != buckets[j].num_frames) {
                continue;
            }
            complain(resolved, fmt::format("bucket[{}]", i),
                     fmt::format("{} x {} is given twice (also as bucket[{}])",
                                 buckets[i].resolution, buckets[i].num_frames, j));
            break;
        }
    }
    for (std::size_t i = 0; i < buckets.size(); ++i) {
        if (buckets[i].keep_prob > 0) continue;
        complain(resolved, fmt::format("bucket[{}].keep_prob", i),
                 "no clip would be in it; leave the bucket out");
    }
}

void check_optim(ResolvedConfig& resolved) {
    auto const& optim = resolved.config.optim;
    if (readable(resolved, {"optim.lr", "optim.lr_min"}) && optim.lr_min > optim.lr) {
        complain(resolved, "optim.lr_min",
                 fmt::format("is above optim.lr = {0}; nearest valid: {0}", optim.lr));
    }
    if (!readable(resolved, {"optim.lora_rank", "optim.freeze"})) return;
    if (optim.lora_rank > 0 && !optim.freeze.empty()) {
        complain(resolved, "optim.freeze",
                 "with optim.lora_rank all weights are frozen; nearest valid: []");
    }
    if (!readable(resolved, {"run.job", "optim.precision"})) return;
    std::string const& job = resolved.config.run.job;
    bool const autoencoder = job == "train_vae" || job == "train_vqvae";
    if (autoencoder && written(resolved, "optim.precision") && optim.precision != "fp32") {
        complain(resolved, "optim.precision",
                 "autoencoders are trained in fp32; nearest valid: fp32");
    }
    if (autoencoder && optim.lora_rank > 0) {
        complain(resolved, "optim.lora_rank", "autoencoders take no adapters; nearest valid: 0");
    }
}

void check_self_check(ResolvedConfig& resolved) {
    if (!readable(resolved, {"run.job", "train.self_check"})) return;
    if (!resolved.config.train.self_check || resolved.config.run.job == "train") return;
    complain(resolved, "train.self_check",
             "is used with run.job = \"train\" only; nearest valid: false");
}

/// The speed of steps decides what the next ones do, on all ranks at once.
void check_progressive(ResolvedConfig& resolved) {
    if (!readable(resolved,
                  {"run.job", "tune.progressive", "train.deterministic", "debug.bucket_schedule"}))
        return;
    auto const& config = resolved.config;
    if (!config.tune.progressive) return;
    auto const refuse = [&](std::string const& why) {
        complain(resolved, "tune.progressive", why + "; nearest valid: false");
    };
    if (config.run.job != "train") refuse("is used with run.job = \"train\" only");
    if (config.train.deterministic)
        refuse(
            "train.deterministic asks for the same bits every time, and the time that steps "
            "take would decide about rounding");
    if (config.debug.bucket_schedule == "original")
        refuse("with debug.bucket_schedule = \"original\" ranks train different buckets in a step");
}

void check_step_pattern(ResolvedConfig& resolved) {
    if (!readable(resolved, {"run.job", "worker.step_pattern"})) return;
    auto const& pattern = resolved.config.worker.step_pattern;
    if (pattern == kStepPatternAuto || pattern == kStepPatternNone) return;
    if (resolved.config.run.job != "exec") {
        complain(resolved, "worker.step_pattern", "is used with run.job = \"exec\" only");
        return;
    }
    auto const compiled = StepPattern::make(pattern);
    if (compiled.has_error()) complain(resolved, "worker.step_pattern", compiled.error().message);
}

void check_frame_masks(ResolvedConfig& resolved) {
    if (!readable(resolved, {"train.frame_masks"})) return;
    for (std::string const& fault : frame_mask_faults(resolved.config.train.frame_masks)) {
        complain(resolved, "train.frame_masks", fault);
    }
}

void check_columns(ResolvedConfig& resolved) {
    for (auto const& name : resolved.config.data.columns) {
        auto const checked = check_column_names({name});
        if (checked.has_value()) continue;
        complain(resolved, "data.columns." + name.first, checked.error().message);
    }
}

void check_job(ResolvedConfig& resolved) {
    auto const& config = resolved.config;
    if (!readable(resolved, {"run.job", "worker.command", "data.manifest"})) return;
    bool const exec = config.run.job == "exec";
    if (exec && config.worker.command.empty()) {
        complain(resolved, "run.job",
                 "needs worker.command, as in command = [\"python\", \"train.py\"]");
    }
    if (!exec && !config.worker.command.empty()) {
        complain(resolved, "worker.command", "is used with run.job = \"exec\" only");
    }
    bool const cached = config.run.job == "train" && !config.data.latents.empty();
    bool const reads_clips =
        trains(config.run.job) || config.run.job == "encode" || config.run.job == "score";
    if (reads_clips && config.data.manifest.empty() && !cached) {
        complain(resolved, "data.manifest", "the job needs one: a CSV with a column path");
    }
}

/// Requirements of encode, and of training on its result.
void check_cache(ResolvedConfig& resolved) {
    if (!readable(resolved,
                  {"run.job", "encode.out", "text.encoder", "text.clip_encoder", "data.latents"}))
        return;
    auto const& config = resolved.config;
    bool const encode = config.run.job == "encode";
    if (encode && config.encode.out.empty()) {
        complain(resolved, "encode.out", "the job needs one: the folder of the cache");
    }
    if (encode && !config.encode.latents && config.text.encoder.empty()) {
        complain(resolved, "encode.latents", "is false and text.encoder is empty: nothing is left");
    }
    if (encode && config.text.encoder.empty() && !config.text.clip_encoder.empty()) {
        complain(resolved, "text.clip_encoder",
                 "needs text.encoder: pooled vectors go beside T5's");
    }
    bool const original = config.debug.bucket_schedule == "original";
    if (original && !config.data.latents.empty()) {
        complain(resolved, "debug.bucket_schedule",
                 "\"original\" needs clips; with data.latents: balanced");
    }
}

void check_score(ResolvedConfig& resolved) {
    if (!readable(resolved,
                  {"run.job", "score.output", "score.scores", "score.aesthetic", "score.flow"}))
        return;
    auto const& config = resolved.config;
    if (config.run.job != "score") return;
    if (config.score.output.empty()) complain(resolved, "score.output", "the job needs one: a CSV");
    auto const models = model_files(config.score);
    if (config.score.scores.empty() && models.empty())
        complain(resolved, "score.scores", "is empty: nothing is left to measure");
    for (std::string_view const score : protocol::kModelScores) {
        std::string const name(score);
        bool const asked =
            std::ranges::find(config.score.scores, name) != config.score.scores.end();
        if (!asked || models.contains(name)) continue;
        complain(resolved, "score.scores",
                 fmt::format("{0} needs a TorchScript file: {0} = \"{0}.pt\" in [score]", name));
    }
}

constexpr std::array<std::string_view, 4> kFolders{"data.latents", "text.embeddings",
                                                   "text.encoder", "text.clip_encoder"};
constexpr std::array<std::string_view, 3> kFilesOrFolders{"data.eval_manifest", "model.init",
                                                          "vae.weights"};

/// "n[1-3]" is three names, as for sbatch.
void check_excluded(ResolvedConfig& resolved) {
    if (!readable(resolved, {"faults.exclude_nodes"})) return;
    std::vector<std::string> names;
    for (auto const& each : resolved.config.faults.exclude_nodes) {
        auto const expanded = expand_host_list(each);
        if (expanded.has_error()) {
            return complain(resolved, "faults.exclude_nodes", expanded.error().message);
        }
        names.insert(names.end(), expanded->begin(), expanded->end());
        if (names.size() > kHostsMax) {
            return complain(resolved, "faults.exclude_nodes",
                            fmt::format("more than {} hosts", kHostsMax));
        }
    }
    resolved.config.faults.exclude_nodes = std::move(names);
}

bool is_one_of(std::string_view key, std::span<std::string_view const> keys) {
    return std::ranges::find(keys, key) != keys.end();
}

/// 0 when `path` is a file that can be read, else an errno.
int file_state(std::filesystem::path const& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return EISDIR;
    return ::access(path.c_str(), R_OK) == 0 ? 0 : errno;
}

}  // namespace

void check_keys(ResolvedConfig& resolved) {
    check_batch(resolved);
    check_buckets(resolved);
    check_frame_masks(resolved);
    check_columns(resolved);
    check_job(resolved);
    check_cache(resolved);
    check_score(resolved);
    check_optim(resolved);
    check_notify(resolved);
    check_metrics(resolved);
    check_excluded(resolved);
    check_slurm(resolved);
    check_self_check(resolved);
    check_progressive(resolved);
    check_step_pattern(resolved);
}

void check_files(ResolvedConfig& resolved, std::filesystem::path const& base_dir) {
    RunConfig copy = resolved.config;
    for (Field const& field : fields_of(copy)) {
        auto* const* value = std::get_if<std::string*>(&field.value);
        if (field.row->shape != Shape::path || value == nullptr || (*value)->empty()) continue;
        bool const resume = field.row->section == "checkpoint";
        if (resume && (**value == "auto" || **value == "none")) continue;
        std::string const key = fmt::format("{}.{}", field.row->section, field.row->key);
        int const error = file_state(part_of_file(base_dir / **value).file);
        bool const folder = resume || is_one_of(key, kFolders);
        if (error == 0 && !folder) continue;
        if (error == EISDIR && (folder || is_one_of(key, kFilesOrFolders))) continue;
        bool const relative = !std::filesystem::path(**value).is_absolute();
        std::string const why = folder && error == 0 ? "not a folder"
                                : error == EISDIR    ? "is a folder, not a file"
                                : error == ENOENT    ? folder ? "no such folder" : "no such file"
                                                     : std::generic_category().message(error);
        auto problem = problem_of(resolved, key, "");
        problem.message = fmt::format("{}: {}: {}{}", key, **value, why,
                                      relative ? " (looked in the run file's folder)" : "");
        resolved.problems.push_back(std::move(problem));
    }
}

std::vector<ConfigProblem> unsupported(ResolvedConfig const& resolved) {
    ResolvedConfig probe = resolved;
    probe.problems.clear();
    auto const& resources = probe.config.resources;
    bool const slurm = resources.backend == "slurm";
    if (resources.nodes != 1 && resources.backend == "local") {
        complain(probe, "resources.nodes", "the local backend has one node; nearest valid: 1");
    }
    auto const& job = probe.config.run.job;
    if (job == "sample")
        complain(probe, "run.job", "is a command, no run: osora sample CHECKPOINT");
    if (!probe.stages.empty() && job != "train") {
        complain(probe, "stage", "is used with run.job = \"train\" only");
    }
    RunConfig defaults;
    auto const before = fields_of(defaults);
    auto const now = fields_of(probe.config);
    for (std::size_t i = 0; i < now.size(); ++i) {
        if (now[i].row->support != Support::none || same_value(now[i].value, before[i].value)) {
            continue;
        }
        if (slurm && is_done_by_slurm(now[i].row->section, now[i].row->key)) continue;
        complain(probe, fmt::format("{}.{}", now[i].row->section, now[i].row->key),
                 "not available in this version");
    }
    return probe.problems;
}

std::vector<ConfigProblem> without_effect(ResolvedConfig const& resolved) {
    ResolvedConfig probe = resolved;
    probe.problems.clear();
    bool const slurm = probe.config.resources.backend == "slurm";
    RunConfig defaults;
    auto const before = fields_of(defaults);
    auto const now = fields_of(probe.config);
    for (std::size_t i = 0; i < now.size(); ++i) {
        if (now[i].row->support != Support::none_harmless) continue;
        if (slurm && is_done_by_slurm(now[i].row->section, now[i].row->key)) continue;
        bool const ssh = probe.config.resources.backend == "ssh";
        if (ssh && is_done_by_ssh(now[i].row->section, now[i].row->key)) continue;
        if (same_value(now[i].value, before[i].value)) continue;
        complain(probe, fmt::format("{}.{}", now[i].row->section, now[i].row->key),
                 "has no effect in this version");
    }
    note_no_receiver(probe);
    int const steps = probe.config.train.steps;
    for (ResolvedStage const& stage : probe.stages) {
        if (stage.at_step < steps) continue;
        probe.problems.push_back({stage.where, 0,
                                  fmt::format("stage at step {}: is not reached: train.steps = {}",
                                              stage.at_step, steps)});
    }
    return probe.problems;
}

}  // namespace osora::plan
