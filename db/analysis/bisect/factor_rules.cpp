#include "db/analysis/bisect/factor_rules.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace osora::db::analysis {
namespace {

constexpr double kSuspectPrior = 4;

/// "data." matches by prefix, "train.seed" as a whole, ".micro_batch_size" by suffix.
bool matches(std::string_view name, std::string_view pattern) {
    if (pattern.ends_with('.') || pattern.ends_with('_') || pattern.ends_with('[')) {
        return name.starts_with(pattern);
    }
    return pattern.starts_with('.') || pattern.starts_with('_') ? name.ends_with(pattern)
                                                                : name == pattern;
}

bool matches_any(std::string_view name, std::span<std::string_view const> patterns) {
    return std::ranges::any_of(patterns, [&](auto each) { return matches(name, each); });
}

struct Harmless {
    std::string_view pattern, why;
};
constexpr std::string_view kNodesThemselves = "the nodes themselves are compared";
constexpr std::string_view kNoPartOfStep = "has no part in a step";
constexpr std::string_view kEveryRun = "differs from run to run";
constexpr std::string_view kFollows = "follows from the settings";
constexpr std::array kHarmless{
    Harmless{"collectives", kFollows},
    Harmless{"parameters", kFollows},
    Harmless{"run.name", "a name"},
    Harmless{"run.dir", kEveryRun},
    Harmless{"code.repository", "a path"},
    Harmless{"notify.", kNoPartOfStep},
    Harmless{"daemon.", kNoPartOfStep},
    Harmless{"bisect.", kNoPartOfStep},
    Harmless{"probe.", kNoPartOfStep},
    Harmless{"faults.", kNoPartOfStep},
    Harmless{"train.log_every", kNoPartOfStep},
    Harmless{"train.self_check", kNoPartOfStep},
    Harmless{"train.steps", "the length of a run is not part of a step"},
    Harmless{"checkpoint.keep", kNoPartOfStep},
    Harmless{"checkpoint.resume", kNoPartOfStep},
    Harmless{"resources.time_limit", kNoPartOfStep},
    Harmless{"resources.spares", kNoPartOfStep},
    Harmless{"slurm.account", kNoPartOfStep},
    Harmless{"slurm.qos", kNoPartOfStep},
    Harmless{"slurm.reservation", kNodesThemselves},
    Harmless{"slurm.partition", kNodesThemselves},
    Harmless{"slurm.constraint", kNodesThemselves},
    Harmless{"slurm.chain", kNoPartOfStep},
    Harmless{"ssh.", kNodesThemselves},
    Harmless{"worker.step_pattern", kNoPartOfStep},
    Harmless{"host.name", kNodesThemselves},
    Harmless{"preflight", kEveryRun},
    Harmless{"boot_id", kEveryRun},
    Harmless{"pid", kEveryRun},
    Harmless{"_pid", kEveryRun},
    Harmless{"_PID", kEveryRun},
    Harmless{"run_dir", kEveryRun},
    Harmless{"_dir", "a path"},
    Harmless{"date", kEveryRun},
    Harmless{"_date", kEveryRun},
    Harmless{"_at", kEveryRun},
    Harmless{"NCCL_DEBUG_FILE", "a path"},
    Harmless{"TORCHELASTIC_RUN_ID", kEveryRun},
    Harmless{"MASTER_PORT", kEveryRun},
    Harmless{"MASTER_ADDR", kNodesThemselves},
    Harmless{"SLURM_JOB_", kEveryRun},
    Harmless{"SLURM_JOBID", kEveryRun},
    Harmless{"SLURM_STEP_", kEveryRun},
    Harmless{"SLURM_NODELIST", kNodesThemselves},
};

// What the build of one commit determines.
constexpr std::array<std::string_view, 6> kCommit{"commit", "osora.commit",  "worker.sha256",
                                                  "osora",  "osora.version", "version"};
// Facts of a job = "exec" run's program.
constexpr std::array<std::string_view, 2> kCode{"code.commit", "code.dirty"};
constexpr std::array<std::string_view, 4> kData{"data.manifest", "data.latents", "text.embeddings",
                                                "data.eval_manifest"};
// Facts of the machine, including its software.
constexpr std::array<std::string_view, 5> kMachine{"os", "kernel", "host.", "driver", "device"};
constexpr std::array<std::string_view, 9> kCuda{"nccl",         "nccl.version",  "cuda",
                                                "cuda.version", "cudnn",         "cudnn.version",
                                                "torch",        "torch.version", "ofed"};
constexpr std::array<std::string_view, 8> kLayout{
    "parallel.tp_size", "parallel.pp_size", "parallel.sp_size",        "parallel.sp_kind",
    "parallel.dp_size", "resources.nodes",  "resources.gpus_per_node", "node_count"};
constexpr std::array<std::string_view, 4> kBatch{"batch.global_batch_size", ".micro_batch_size",
                                                 ".grad_accum_steps", "batch.min"};
constexpr std::array<std::string_view, 3> kThreads{"threads", "resources.cpus_per_worker",
                                                   "OMP_NUM_THREADS"};

constexpr std::array<std::string_view, 12> kComm{"NCCL_",     "nccl",
                                                 "nccl.",     "nccl.version",
                                                 "parallel.", "debug.collectives",
                                                 "UCX_",      "GLOO_",
                                                 "_IFNAME",   "batch.exposed_comm_target",
                                                 "ofed",      "resources.bind_cpus"};
constexpr std::array<std::string_view, 6> kLoader{
    "data.", "text.", "ffmpeg", "libav.", "rehearse.data_wait_s", "rehearse.data_wait_rank"};
constexpr std::array<std::string_view, 14> kCompute{"batch.",
                                                    "bucket[",
                                                    "optim.precision",
                                                    "model.",
                                                    "torch",
                                                    "torch.version",
                                                    "cuda",
                                                    "cudnn",
                                                    "debug.bucket_schedule",
                                                    "OMP_",
                                                    "train.deterministic",
                                                    "threads",
                                                    "rehearse.compute_s",
                                                    "rehearse.own_work"};
constexpr std::array<std::string_view, 3> kMemory{"memory.", "PYTORCH_CUDA_ALLOC_CONF",
                                                  "PYTORCH_ALLOC_CONF"};

/// "nccl.NCCL_IB_TC" and "worker.env.NCCL_IB_TC" -> "NCCL_IB_TC"; other names unchanged.
std::string_view variable_of(std::string_view name) {
    for (std::string_view const prefix : {"nccl.", "worker.env."}) {
        if (!name.starts_with(prefix)) continue;
        auto const rest = name.substr(prefix.size());
        bool const is_variable =
            std::ranges::none_of(rest, [](char c) { return c >= 'a' && c <= 'z'; });
        if (is_variable) return rest;
    }
    return name;
}

}  // namespace

std::string why_harmless(std::string_view name, FactorKind) {
    auto const* const rule = std::ranges::find_if(
        kHarmless, [&](Harmless const& each) { return matches(variable_of(name), each.pattern); });
    return rule == kHarmless.end() ? "" : std::string(rule->why);
}

FactorKind kind_of_factor(std::string_view name, FactKind kind) {
    bool const is_commit = matches_any(name, kCommit) || matches_any(name, kCode);
    if (is_commit && kind == FactKind::software) return FactorKind::commit;
    if (matches_any(name, kMachine)) return FactorKind::hardware;
    if (matches_any(name, kData)) return FactorKind::data;
    if (name == "resources.nodes") return FactorKind::node_count;
    switch (kind) {
        case FactKind::config:
            return FactorKind::config;
        case FactKind::software:
            return FactorKind::software;
        case FactKind::env:
            return FactorKind::env;
        case FactKind::hardware:
            return FactorKind::hardware;
    }
    return FactorKind::config;
}

std::vector<std::string> couplings_of(Factor const& factor) {
    std::string_view const name = variable_of(factor.name);
    std::vector<std::string> labels{std::string(name)};
    if (factor.kind == FactorKind::commit && !matches_any(name, kCode)) {
        labels.emplace_back("commit");
    }
    bool const is_machine =
        factor.kind == FactorKind::hardware || factor.kind == FactorKind::node_set;
    if (is_machine) labels.emplace_back("nodes");
    if (factor.kind == FactorKind::software && matches_any(name, kCuda)) {
        labels.emplace_back("nccl with cuda");
    }
    if (matches_any(name, kLayout)) labels.emplace_back("ranks");
    if (matches_any(name, kBatch)) labels.emplace_back("batch");
    if (matches_any(name, kThreads)) labels.emplace_back("threads");
    if (name.starts_with("bucket[")) labels.emplace_back(name.substr(0, name.find(']') + 1));
    return labels;
}

double prior_of(Factor const& factor, Suspect suspect) {
    std::string_view const name = variable_of(factor.name);
    bool is_suspect = false;
    switch (suspect) {
        case Suspect::none:
            break;
        case Suspect::comm:
            is_suspect = matches_any(name, kComm) || factor.kind == FactorKind::node_set;
            break;
        case Suspect::loader:
            is_suspect = matches_any(name, kLoader) || factor.kind == FactorKind::data;
            break;
        case Suspect::compute:
            is_suspect = matches_any(name, kCompute) || factor.kind == FactorKind::commit;
            break;
        case Suspect::memory:
            is_suspect = matches_any(name, kMemory);
            break;
    }
    return is_suspect ? kSuspectPrior : 1;
}

}  // namespace osora::db::analysis
