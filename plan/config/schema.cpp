// The rows. A test checks that they and the members of RunConfig are the same set.
#include "plan/config/schema.hpp"

#include "plan/config/rows/clip_rows.hpp"
#include "plan/config/rows/fault_rows.hpp"
#include "plan/config/rows/model_rows.hpp"

#include <algorithm>
#include <array>

namespace osora::plan {
namespace {

// clang-format off
constexpr std::array kSections{
    SectionRow{"run", "What to run.", true},
    SectionRow{"resources", "Where to run it.", true},
    SectionRow{"slurm", "How to ask Slurm; used with resources.backend = \"slurm\"."},
    SectionRow{"ssh", "Hosts; used with resources.backend = \"ssh\"."},
    SectionRow{"model", "The network that is trained.", true},
    SectionRow{"vae", "The video autoencoder in front of the model."},
    SectionRow{"vae_loss", "The loss of job = \"train_vae\"."},
    SectionRow{"vqvae", "The network of job = \"train_vqvae\"."},
    SectionRow{"text", "Captions."},
    SectionRow{"encode", "A cache of latents and captions; used with run.job = \"encode\"."},
    SectionRow{"score", "Scores of the clips of data.manifest; used with run.job = \"score\"."},
    SectionRow{"data", "Clips and how they are read.", true},
    SectionRow{"eval", "Loss on clips that are not trained on; with data.eval_manifest."},
    SectionRow{"bucket", "One [[bucket]] for each size of sample; clips go to the largest fit.",
               true},
    SectionRow{"parallel", "How the model is divided among ranks; the planner decides auto.",
               true},
    SectionRow{"batch", "Samples a step; auto is the smallest batch that amortises communication.",
               true},
    SectionRow{"memory", "What may be traded for memory."},
    SectionRow{"optim", "Optimizer.", true},
    SectionRow{"train", "Length and seed.", true},
    SectionRow{"tune", "What a run tries while it trains."},
    SectionRow{"rehearse", "A rehearsal: the run's collectives without its model."},
    SectionRow{"checkpoint", "Checkpoints to continue from.", true},
    SectionRow{"nccl", "NCCL_* variables for every rank; a value given here always wins."},
    SectionRow{"worker", "The program of a rank, and its environment."},
    SectionRow{"faults", "What happens when a rank or a node fails."},
    SectionRow{"probe", "Links are measured before a run on several nodes."},
    SectionRow{"bisect", "Search for the cause of a regression."},
    SectionRow{"notify", "Who is notified, and when."},
    SectionRow{"daemon", "The controller of the run."},
    SectionRow{"debug", "Known-bad variants, to reproduce problems."},
};

constexpr std::string_view kResolutions = "144p|240p|360p|480p|720p|1080p|2k|4k";

constexpr std::array kRunRows{
    SchemaRow{.section = "run", .key = "name",
              .doc = "Run directories are called NAME-NUMBER; runs of one name form a series.",
              .in_template = true, .shape = Shape::name},
    SchemaRow{.section = "run", .key = "job", .doc = "What the workers do.",
              .choices = "train|train_vae|train_vqvae|encode|sample|score|probe|rehearse|exec"},

    SchemaRow{.section = "resources", .key = "backend", .doc = "How nodes are found.",
              .choices = "local|ssh|slurm", .in_template = true},
    SchemaRow{.section = "resources", .key = "nodes", .doc = "Machines.", .min = 1, .max = 65536},
    SchemaRow{.section = "resources", .key = "gpus_per_node",
              .doc = "Workers on each node; CPU workers where no GPU is.", .min = 1, .max = 64,
              .in_template = true},
    SchemaRow{.section = "resources", .key = "cpus_per_worker",
              .doc = "Threads of a CPU worker; 0 shares the cores evenly.", .min = 0, .max = 1024,
              .in_template = true},
    SchemaRow{.section = "resources", .key = "bind_cpus",
              .doc = "Bind each worker to separate cores, near its GPU; auto: workers with GPUs.",
              .choices = "auto|always|never"},
    SchemaRow{.section = "resources", .key = "spares", .doc = "Extra nodes kept warm for a swap.",
              .min = 0, .max = 65536, .support = Support::none_harmless},
    SchemaRow{.section = "resources", .key = "time_limit",
              .doc = "Wall time, HH:MM:SS or D-HH:MM:SS; empty: none.", .example = "\"24:00:00\"",
              .shape = Shape::duration, .support = Support::none},

    SchemaRow{.section = "slurm", .key = "partition", .doc = "Partition.", .example = "\"gpu\""},
    SchemaRow{.section = "slurm", .key = "account", .doc = "Account."},
    SchemaRow{.section = "slurm", .key = "qos", .doc = "Quality of service."},
    SchemaRow{.section = "slurm", .key = "constraint", .doc = "Node features."},
    SchemaRow{.section = "slurm", .key = "reservation", .doc = "Reservation."},
    SchemaRow{.section = "slurm", .key = "container", .doc = "pyxis or apptainer image."},
    SchemaRow{.section = "slurm", .key = "prolog",
              .doc = "Commands of the job script before osora, each a list of arguments.",
              .example = "[[\"module\", \"load\", \"cuda\"]]"},
    SchemaRow{.section = "slurm", .key = "extra", .doc = "Raw sbatch arguments.",
              .example = "[\"--mail-type=END\"]"},
    SchemaRow{.section = "slurm", .key = "gpus",
              .doc = "GPUs of a node; \"auto\": resources.gpus_per_node, \"none\": CPUs only.",
              .example = "\"h100:8\""},
    SchemaRow{.section = "slurm", .key = "chain",
              .doc = "Jobs that may follow by themselves when time, nodes or priority run out.",
              .min = 0, .max = 1000},

    SchemaRow{.section = "ssh", .key = "hosts",
              .doc = "Hosts, node 0 first, each as a line of hostfile.",
              .example = "[\"n1\", \"n2 slots=8 user=x\"]"},
    SchemaRow{.section = "ssh", .key = "hostfile",
              .doc = "Lines \"[user@]host[:port] slots=8 port=22 user=x\", or with Open MPI's cpu, "
                     "count, username.",
              .shape = Shape::path},
    SchemaRow{.section = "ssh", .key = "identity",
              .doc = "Private key without a passphrase; empty: the ssh agent's, ~/.ssh.",
              .example = "\"/home/eva/.ssh/id_cluster\"", .shape = Shape::path},
    SchemaRow{.section = "ssh", .key = "known_hosts",
              .doc = "File of the hosts' keys; empty: ~/.ssh/known_hosts.",
              .example = "\"known_hosts\"", .shape = Shape::path},
};

constexpr std::array kDataRows{
    SchemaRow{.section = "data", .key = "manifest",
              .doc = "CSV: path,text,num_frames,height,width,aspect_ratio,resolution,fps.",
              .in_template = true, .example = "\"clips.csv\"", .shape = Shape::path},
    SchemaRow{.section = "data", .key = "columns",
              .doc = "What the list calls path, text, num_frames, height, width, fps; \"\": none.",
              .example = "{ path = \"video\", text = \"caption\" }"},
    SchemaRow{.section = "data", .key = "bad_samples_max",
              .doc = "Share of samples whose clip cannot be decoded, over which the run ends.",
              .min = 0, .max = 1},
    SchemaRow{.section = "data", .key = "latents",
              .doc = "Cached latents (a folder) in place of data.manifest.",
              .example = "\"cache\"", .shape = Shape::path},
    SchemaRow{.section = "data", .key = "sample_latents",
              .doc = "Train on samples of the cached posterior; false: on its mean."},
    SchemaRow{.section = "data", .key = "eval_manifest",
              .doc = "Clips to evaluate on: a CSV, or with data.latents a cache.",
              .shape = Shape::path},
    SchemaRow{.section = "data", .key = "num_workers",
              .doc = "Decoding threads of a rank; 0 decodes in the trainer's thread.",
              .unit = "threads", .min = 0, .max = 512},
    SchemaRow{.section = "data", .key = "prefetch_factor", .doc = "Batches decoded ahead.",
              .unit = "batches", .min = 1, .max = 1024},
    SchemaRow{.section = "data", .key = "host_memory_gib",
              .doc = "Most memory the loaders of a node may use.", .unit = "GiB", .min = 0,
              .max = 1e6, .above_min = true},

    SchemaRow{.section = "eval", .key = "every",
              .doc = "Steps between evaluations; the last step has one, too.", .unit = "steps",
              .min = 1, .max = kInt},
    SchemaRow{.section = "eval", .key = "samples",
              .doc = "Samples of an evaluation, the same each time.", .min = 1, .max = kInt},

    SchemaRow{.section = "bucket", .key = "resolution",
              .doc = "A named size, or N for N x N pixels.", .min = 8, .max = 8192,
              .choices = kResolutions, .or_integer = true, .in_template = true,
              .example = "\"64\""},
    SchemaRow{.section = "bucket", .key = "num_frames", .doc = "Frames of a sample; 1: images.",
              .unit = "frames", .min = 1, .max = 65536, .in_template = true},
    SchemaRow{.section = "bucket", .key = "keep_prob",
              .doc = "Share of the clips that fit and stay in this bucket.", .min = 0, .max = 1},
    SchemaRow{.section = "bucket", .key = "micro_batch_size",
              .doc = "Samples of a rank in a forward.", .unit = "samples", .min = 1, .max = kInt},
    SchemaRow{.section = "bucket", .key = "compute_s",
              .doc = "As rehearse.compute_s, of this bucket.", .unit = "s", .min = 0, .max = 1e6},

    SchemaRow{.section = "parallel", .key = "tp_size",
              .doc = "Ranks that share each layer (tensor parallel).", .min = 1, .max = 65536},
    SchemaRow{.section = "parallel", .key = "pp_size", .doc = "Pipeline stages.", .min = 1,
              .max = 65536},
    SchemaRow{.section = "parallel", .key = "virtual_stages",
              .doc = "Runs of blocks of each stage (interleaved 1F1B).", .min = 1, .max = 65536},
    SchemaRow{.section = "parallel", .key = "pp_schedule",
              .doc = "Order of a pipeline's passes; eager_1f1b hides messages, keeps more.",
              .choices = "1f1b|eager_1f1b"},
    SchemaRow{.section = "parallel", .key = "sp_size", .doc = "Ranks that share a sample's tokens.",
              .min = 1, .max = 65536},
    SchemaRow{.section = "parallel", .key = "sp_kind",
              .doc = "Attention over shared tokens; auto: ulysses where heads divide, else ring.",
              .choices = "ulysses|ring"},
    SchemaRow{.section = "parallel", .key = "zero_stage",
              .doc = "What dp ranks share: 0 nothing, 1 optimizer, 2 and gradients, 3 and weights.",
              .min = 0, .max = 3},
    SchemaRow{.section = "parallel", .key = "shard_size",
              .doc = "Ranks that share one copy of what zero_stage divides; auto: all or a node's.",
              .min = 2, .max = 65536},
    SchemaRow{.section = "parallel", .key = "grad_bucket_mib",
              .doc = "Gradients are reduced in pieces of this size.", .unit = "MiB", .min = 1,
              .max = 4096},
    SchemaRow{.section = "parallel", .key = "reduce_dtype",
              .doc = "In which gradients travel between ranks; auto: as optim.precision.",
              .choices = "fp32|bf16"},
    SchemaRow{.section = "parallel", .key = "overlap",
              .doc = "Exchange gradients and weights while forward and backward run."},

    SchemaRow{.section = "batch", .key = "global_batch_size",
              .doc = "Samples a step of the first bucket; others get the same cost.",
              .unit = "samples", .min = 1, .max = kInt, .in_template = true},
    SchemaRow{.section = "batch", .key = "min", .doc = "Smallest global batch for auto.",
              .unit = "samples", .min = 1, .max = kInt},
    SchemaRow{.section = "batch", .key = "max", .doc = "Largest global batch for auto.",
              .unit = "samples", .min = 1, .max = kInt},
    SchemaRow{.section = "batch", .key = "exposed_comm_target",
              .doc = "Share of a step that communication may take before the batch grows.",
              .min = 0, .max = 1},

    SchemaRow{.section = "memory", .key = "recompute",
              .doc = "Activations computed again in backward, or of how many blocks.", .min = 1,
              .max = 65536, .choices = "none|selective|full", .or_integer = true},
    SchemaRow{.section = "memory", .key = "activation_store",
              .doc = "How activations are stored until backward.",
              .choices = "none|bf16|int8|offload"},
    SchemaRow{.section = "memory", .key = "allow_lossy",
              .doc = "Whether activations may be rounded (int8, or bf16 of fp32)."},
    SchemaRow{.section = "memory", .key = "store_rounding",
              .doc = "How int8 activations are rounded.", .choices = "nearest|stochastic"},
    SchemaRow{.section = "memory", .key = "offload_frozen",
              .doc = "Frozen weights of blocks in host memory, two blocks' on the device."},
    SchemaRow{.section = "memory", .key = "gpu_memory_gib",
              .doc = "Memory of one GPU; not set: of its driver or data sheet.",
              .unit = "GiB", .min = 0, .max = 1e5, .above_min = true},
    SchemaRow{.section = "memory", .key = "rank_memory_gib",
              .doc = "Most that tensors of a rank (a GPU: and its context) take; auto: its share.",
              .unit = "GiB", .min = 0, .max = 1e5, .above_min = true},

    SchemaRow{.section = "optim", .key = "name", .doc = "Optimizer.", .choices = "adamw"},
    SchemaRow{.section = "optim", .key = "lr", .doc = "Learning rate after the warm-up.", .min = 0,
              .max = 1e3, .above_min = true, .in_template = true},
    SchemaRow{.section = "optim", .key = "warmup_steps",
              .doc = "Steps over which the rate rises from 0.", .unit = "steps", .min = 0,
              .max = kInt, .in_template = true},
    SchemaRow{.section = "optim", .key = "lr_schedule",
              .doc = "How the rate continues after the warm-up, to train.steps.",
              .choices = "constant|cosine|linear"},
    SchemaRow{.section = "optim", .key = "lr_min", .doc = "Final rate of cosine and linear.",
              .min = 0, .max = 1e3},
    SchemaRow{.section = "optim", .key = "beta1", .doc = "AdamW's decay of the mean gradient.",
              .min = 0, .max = 1},
    SchemaRow{.section = "optim", .key = "beta2", .doc = "AdamW's decay of the mean square.",
              .min = 0, .max = 1},
    SchemaRow{.section = "optim", .key = "eps", .doc = "AdamW's epsilon; Open-Sora has 1e-15.",
              .min = 0, .max = 1, .above_min = true},
    SchemaRow{.section = "optim", .key = "weight_decay",
              .doc = "AdamW's decay of the weights, times the rate.", .min = 0, .max = 10},
    SchemaRow{.section = "optim", .key = "grad_clip",
              .doc = "Largest gradient norm, or \"adaptive\": mean + 3 deviations of recent norms.",
              .min = 0, .max = 1e9, .above_min = true, .auto_word = "adaptive"},
    SchemaRow{.section = "optim", .key = "ema_decay",
              .doc = "Decay of the moving average of weights; 0: none.", .min = 0, .max = 1},
    SchemaRow{.section = "optim", .key = "precision", .doc = "Arithmetic of forward and backward.",
              .choices = "bf16|fp16|fp32", .in_template = true},
    SchemaRow{.section = "optim", .key = "freeze", .doc = "Name prefixes of weights that stay.",
              .example = "[\"spatial_blocks.0.\"]"},
    SchemaRow{.section = "optim", .key = "lora_rank",
              .doc = "Rank of LoRA adapters; 0 trains all weights.", .min = 0, .max = 65536},
    SchemaRow{.section = "optim", .key = "lora_alpha",
              .doc = "Adapters count lora_alpha / lora_rank times; auto: once.", .min = 0,
              .max = 1e6, .above_min = true},
    SchemaRow{.section = "optim", .key = "lora_targets",
              .doc = "Name endings of linears that get one; empty: attention and MLP.",
              .example = "[\"qkv\", \"proj\"]"},

    SchemaRow{.section = "train", .key = "steps", .doc = "Training ends after this many.",
              .unit = "steps", .min = 1, .max = kInt, .in_template = true},
    SchemaRow{.section = "train", .key = "seed", .doc = "Seed of all randomness.", .min = 0},
    SchemaRow{.section = "train", .key = "log_every",
              .doc = "Steps between lines in worker logs.", .unit = "steps", .min = 1,
              .max = kInt},
    SchemaRow{.section = "train", .key = "deterministic",
              .doc = "Only kernels that give the same bits every time."},
    SchemaRow{.section = "train", .key = "self_check",
              .doc = "First compares a step of the layout, with few blocks, with one rank's."},
    SchemaRow{.section = "train", .key = "timesteps",
              .doc = "How times are drawn; auto: uniform, mmdit: logit_normal.",
              .choices = "uniform|logit_normal"},
    SchemaRow{.section = "train", .key = "timestep_shift",
              .doc = "More noise for larger and longer videos; auto: false, mmdit: true."},
    SchemaRow{.section = "train", .key = "frame_masks",
              .doc = "stdit: share of samples that each strategy gives frames as a condition.",
              .min = 0, .max = 1, .example = "{ image_head = 0.05, random = 0.05 }"},

    SchemaRow{.section = "tune", .key = "progressive",
              .doc = "Tries other micro-batches and less recomputing; keeps what is faster."},

    SchemaRow{.section = "rehearse", .key = "compute_s",
              .doc = "A rank's own work in a step; auto: as an earlier run, else as planned.",
              .unit = "s", .min = 0, .max = 1e6},
    SchemaRow{.section = "rehearse", .key = "own_work",
              .doc = "How a rank passes that time: busy or asleep; auto: asleep on GPUs.",
              .choices = "auto|spin|sleep"},
    SchemaRow{.section = "rehearse", .key = "data_wait_s",
              .doc = "Time that each step waits for its batch.", .unit = "s", .min = 0,
              .max = 1e6},
    SchemaRow{.section = "rehearse", .key = "data_wait_rank",
              .doc = "The one rank that waits for data; -1: all.", .min = -1, .max = kInt},

    SchemaRow{.section = "checkpoint", .key = "every",
              .doc = "Steps between checkpoints; 0: only at the end.", .unit = "steps", .min = 0,
              .max = kInt, .in_template = true},
    SchemaRow{.section = "checkpoint", .key = "keep", .doc = "Newest checkpoints that are kept.",
              .min = 1, .max = 100000},
    SchemaRow{.section = "checkpoint", .key = "async",
              .doc = "Write in the background while training continues."},
    SchemaRow{.section = "checkpoint", .key = "resume",
              .doc = "Where to start: \"auto\" (newest of this run), \"none\", or a folder.",
              .shape = Shape::path},

    SchemaRow{.section = "worker", .key = "command",
              .doc = "Program and arguments of each rank, with run.job = \"exec\".",
              .example = "[\"./train.py\", \"--fast\"]"},
    SchemaRow{.section = "worker", .key = "env", .doc = "Variables for every rank.",
              .example = "{ OMP_NUM_THREADS = \"4\" }"},
    SchemaRow{.section = "worker", .key = "step_pattern",
              .doc = "Steps in its output: \"auto\", \"none\" or an expression with named groups.",
              .example = R"('iter (?<step>\d+) took (?<time_ms>[\d.]+) ms, loss (?<loss>\S+)')"},
};

// clang-format on

constexpr auto kRows =
    joined(joined(kRunRows, kModelRows), joined(joined(kClipRows, kDataRows), kFaultRows));

}  // namespace

std::span<SectionRow const> schema_sections() {
    return kSections;
}
std::span<SchemaRow const> schema_rows() {
    return kRows;
}

SchemaRow const* find_row(std::string_view section, std::string_view key) {
    auto const* found = std::ranges::find_if(
        kRows, [&](SchemaRow const& row) { return row.section == section && row.key == key; });
    return found == kRows.end() ? nullptr : found;
}

SectionRow const* find_section(std::string_view section) {
    auto const* found = std::ranges::find(kSections, section, &SectionRow::name);
    return found == kSections.end() ? nullptr : found;
}

}  // namespace osora::plan
