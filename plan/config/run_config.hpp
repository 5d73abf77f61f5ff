// A run file as a struct: one member per key (docs/contract.md section 3), with its default. Read
// from TOML by run_file.hpp, passed to controller and workers as JSON, never changed after that.
#pragma once

#include "base/auto_or.hpp"
#include "plan/config/sections/bucket_section.hpp"
#include "plan/config/sections/cache_sections.hpp"
#include "plan/config/sections/memory_section.hpp"
#include "plan/config/sections/model_section.hpp"
#include "plan/config/sections/optim_section.hpp"
#include "plan/config/sections/probe_section.hpp"
#include "plan/config/sections/recovery_sections.hpp"
#include "plan/config/sections/rehearse_section.hpp"
#include "plan/config/sections/slurm_section.hpp"
#include "plan/config/sections/ssh_section.hpp"
#include "plan/config/sections/train_section.hpp"
#include "plan/config/sections/tune_section.hpp"
#include "plan/config/sections/vae_loss_section.hpp"
#include "plan/config/sections/vae_section.hpp"
#include "plan/config/sections/vqvae_section.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace osora::plan {

struct RunSection {
    std::string name = "run";
    std::string job = "train";
};
struct ResourcesSection {
    std::string backend = "local";
    int nodes = 1, spares = 0;
    int gpus_per_node = 1;           // workers per node; on a machine without GPUs: CPU ranks
    int cpus_per_worker = 0;         // threads of a CPU rank; 0 = cores / workers
    std::string bind_cpus = "auto";  // bind each worker to separate cores
    std::string time_limit;          // "HH:MM:SS", "D-HH:MM:SS" or ""
};
struct DataSection {
    std::string manifest;
    std::map<std::string, std::string> columns;  // osora's name -> the list's (clip_columns.hpp)
    double bad_samples_max = 0.10;               // share; above it the run ends
    std::string latents;
    bool sample_latents = true;  // samples of the cached posterior; false: its mean
    std::string eval_manifest;
    AutoOr<int> num_workers;      // decoding threads per rank; 0 = in the trainer's thread
    AutoOr<int> prefetch_factor;  // batches decoded ahead
    double host_memory_gib = 64;  // for the loaders of a node
};
struct ParallelSection {
    AutoOr<int> tp_size;
    AutoOr<int> pp_size{1};
    int virtual_stages = 1;
    AutoOr<std::string> pp_schedule;  // order of a pipeline's passes
    AutoOr<int> sp_size;
    AutoOr<std::string> sp_kind;  // how ranks that share tokens compute attention
    AutoOr<int> zero_stage;
    AutoOr<int> shard_size;  // ranks that share one copy of what zero_stage divides
    AutoOr<int> grad_bucket_mib;
    AutoOr<std::string> reduce_dtype;
    bool overlap = true;
};
struct BatchSection {
    AutoOr<int> global_batch_size;  // samples per step of the first bucket; others at equal cost
    int min = 1, max = 4096;
    double exposed_comm_target = 0.10;  // share of the step
};
struct CheckpointSection {
    int every = 500;  // steps; 0 = only at the end
    int keep = 3;
    bool async = true;
    std::string resume = "auto";  // auto | none | a checkpoint folder
};
struct WorkerSection {
    std::vector<std::string> command;
    std::map<std::string, std::string> env;
    std::string step_pattern = "auto";  // auto | none | a regular expression (step_pattern.hpp)
};

struct RunConfig {
    RunSection run;
    ResourcesSection resources;
    SlurmSection slurm;
    SshSection ssh;
    ModelSection model;
    VaeSection vae;
    VaeLossSection vae_loss;
    VqvaeSection vqvae;
    TextSection text;
    EncodeSection encode;
    ScoreSection score;
    DataSection data;
    EvalSection eval;
    std::vector<BucketSection> bucket;
    ParallelSection parallel;
    BatchSection batch;
    MemorySection memory;
    OptimSection optim;
    TrainSection train;
    TuneSection tune;
    RehearseSection rehearse;
    CheckpointSection checkpoint;
    std::map<std::string, std::string> nccl;
    WorkerSection worker;
    FaultsSection faults;
    ProbeSection probe;
    BisectSection bisect;
    NotifySection notify;
    DaemonSection daemon;
    DebugSection debug;
};

BOOST_DESCRIBE_STRUCT(RunSection, (), (name, job))
BOOST_DESCRIBE_STRUCT(ResourcesSection, (),
                      (backend, nodes, gpus_per_node, cpus_per_worker, bind_cpus, spares,
                       time_limit))
BOOST_DESCRIBE_STRUCT(DataSection, (),
                      (manifest, columns, bad_samples_max, latents, sample_latents, eval_manifest,
                       num_workers, prefetch_factor, host_memory_gib))
BOOST_DESCRIBE_STRUCT(ParallelSection, (),
                      (tp_size, pp_size, virtual_stages, pp_schedule, sp_size, sp_kind, zero_stage,
                       shard_size, grad_bucket_mib, reduce_dtype, overlap))
BOOST_DESCRIBE_STRUCT(BatchSection, (), (global_batch_size, min, max, exposed_comm_target))
BOOST_DESCRIBE_STRUCT(CheckpointSection, (), (every, keep, async, resume))
BOOST_DESCRIBE_STRUCT(WorkerSection, (), (command, env, step_pattern))
BOOST_DESCRIBE_STRUCT(RunConfig, (),
                      (run, resources, slurm, ssh, model, vae, vae_loss, vqvae, text, encode, score,
                       data, eval, bucket, parallel, batch, memory, optim, train, tune, rehearse,
                       checkpoint, nccl, worker, faults, probe, bisect, notify, daemon, debug))

}  // namespace osora::plan
