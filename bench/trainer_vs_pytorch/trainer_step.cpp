// osora's side of the comparison with PyTorch: runs training steps of an STDiT3 on demand.
// compare.py drives it over stdin; pytorch_step.py speaks the same protocol:
//   "loss BUCKET"    -> {"loss":, "grad_norm":} of the stored inputs with the stored weights
//   "step BUCKET N"  -> {"wall_s":, "cpu_s":, "exposed_s":, "loss":} of N whole training steps;
//                       here also {"forward_s":, "backward_s":, "others_cpu_s":}: without waiting,
//                       and of all threads but the one that computes: with one thread Gloo's
//   "memory -"       -> {"peak_bytes":} of this process so far
// trainer_step --model tiny|288x2|... --dump FILE writes weights and inputs; then
// --model M --case FILE [--rank R --world W --host H --port P] [--zero STAGE] [--bucket-mib N]
// [--reduce-dtype fp32|bf16] [--overlap 0|1] [--tp N] [--pp N] [--virtual N] [--eager 0|1]
// [--samples N] [--micro N].
#include "plan/layout/stage_cut.hpp"
#include "worker/model/stdit/stdit3.hpp"
#include "worker/model/weights/safetensors.hpp"
#include "worker/parallel/own_address.hpp"
#include "worker/parallel/sharding/gradient_norm.hpp"
#include "worker/train/objective/rectified_flow.hpp"
#include "worker/train/objective/stdit3_objective.hpp"
#include "worker/train/trainer.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

namespace osora::worker {
namespace {

constexpr double kLr = 1e-3, kDecay = 0.99, kMaxNorm = 1.0, kFps = 24;

using Buckets = std::map<std::string, std::vector<std::int64_t>>;  // (B, C, T, H, W)

struct Setup {
    Stdit3Config config;
    Buckets buckets;
};

/// "tiny": stdit3-tiny with the buckets of examples/demo.toml, and larger images. "WIDTHxPAIRS":
/// latents, and heads and captions as STDiT3-XL/2 has them; "WIDTHxPAIRScN": captions of N
/// channels.
Setup setup_of(std::string const& model) {
    if (model == "tiny") {
        return {stdit3_config("stdit3-tiny").value(),
                {{"48x48x4", {8, 3, 4, 48, 48}},
                 {"32x32x8", {8, 3, 8, 32, 32}},
                 {"64x64x1", {16, 3, 1, 64, 64}}}};
    }
    Setup setup;
    auto const x = model.find('x');
    setup.config.hidden_size = std::stoll(model.substr(0, x));
    setup.config.depth = std::stoll(model.substr(x + 1));
    if (auto const c = model.find('c'); c != model.npos)
        setup.config.caption_channels = std::stoll(model.substr(c + 1));
    setup.config.num_heads = setup.config.hidden_size / 72;
    setup.config.pred_sigma = false;
    setup.buckets = {{"16x16x8", {2, 4, 8, 16, 16}}, {"32x32x1", {2, 4, 1, 32, 32}}};
    return setup;
}

struct Options {
    std::string model = "tiny", dump, input;
    int rank = 0, world_size = 1, port = 0, zero_stage = 0, bucket_mib = 1;
    int tp_size = 1, pp_size = 1, virtual_stages = 1;
    bool overlap = true, eager = false;
    std::int64_t samples = 0, micro_batch_size = 0;  // of a step, of a pass; 0: the stored ones
    std::string reduce_dtype;
    std::string host = "127.0.0.1";  // of rank 0
};

void dump(Setup const& setup, std::string const& path) {
    Stdit3 model(setup.config);
    model.initialise(1);
    auto const generator = at::make_generator<at::CPUGeneratorImpl>(1);
    at::NoGradGuard const no_grad;
    std::vector<NamedTensor> tensors;
    for (auto const& entry : model.parameters().all()) {
        // Weights that start at 0 would hide differences behind them.
        if (entry.kind == TensorKind::trainable && entry.tensor.count_nonzero().item<int>() == 0)
            entry.tensor.normal_(0, 0.05, generator);
        tensors.push_back({"weights/" + entry.name, entry.tensor});
    }
    for (auto const& [name, shape] : setup.buckets) {
        tensors.push_back({"in/" + name + "/x_start", at::randn(shape, generator).mul(0.5)});
        tensors.push_back({"in/" + name + "/noise", at::randn(shape, generator)});
        tensors.push_back({"in/" + name + "/t", at::rand({shape[0]}, generator).mul(1000)});
    }
    save_safetensors(path, tensors).value();
}

plan::WorkerJob job_of(Options const& options) {
    plan::WorkerJob job;
    job.config.optim.lr = kLr;
    job.config.optim.warmup_steps = 0;
    job.config.optim.ema_decay = kDecay;
    job.config.optim.grad_clip.value = kMaxNorm;
    job.config.train.steps = 1 << 20;
    job.plan.chosen.zero_stage = options.zero_stage;
    job.plan.chosen.reduce_dtype = options.reduce_dtype;
    job.plan.chosen.grad_bucket_mib = options.bucket_mib;
    job.config.parallel.overlap = options.overlap;
    return job;
}

/// CPU time of a clock of this process or thread, s.
double cpu_time(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// As the planner cuts it for the first bucket.
std::vector<std::int64_t> run_ends(Setup const& setup, int runs) {
    plan::ModelShape shape;
    std::ranges::copy(setup.config.patch_size, shape.patch_size.begin());
    shape.in_channels = static_cast<int>(setup.config.in_channels);
    shape.text_tokens = static_cast<int>(setup.config.model_max_length);
    shape.hidden = static_cast<int>(setup.config.hidden_size);
    shape.depth = static_cast<int>(setup.config.depth);
    shape.heads = static_cast<int>(setup.config.num_heads);
    shape.caption_channels = static_cast<int>(setup.config.caption_channels);
    shape.pred_sigma = setup.config.pred_sigma;
    auto const& x = setup.buckets.begin()->second;
    plan::BucketKey const key{static_cast<int>(x[3]), static_cast<int>(x[4]),
                              static_cast<int>(x[2])};
    return plan::run_ends(plan::model_work(shape, {&key, 1}), runs);
}

/// Training steps as the train job does them, on stored samples.
class Bench {
public:
    Bench(Options const& options, SafetensorsContent const& content,
          std::optional<Group> const& group)
        : setup_(setup_of(options.model)),
          ranks_((group ? group->world_size() : 1) / (options.tp_size * options.pp_size)),
          rank_(group ? group->rank() % (ranks_ * options.tp_size) / options.tp_size : 0),
          own_samples_(options.samples),
          micro_batch_size_(options.micro_batch_size) {
        for (auto const& [name, tensor, kind] : content.tensors) {
            if (name.starts_with("weights/")) {
                weights_.push_back({name.substr(8), tensor});
            } else {
                inputs_[name] = tensor.clone();  // the mapped file goes
            }
        }
        auto const groups = split_ranks(group, {.tp_size = options.tp_size,
                                                .pp_size = options.pp_size,
                                                .virtual_stages = options.virtual_stages,
                                                .eager = options.eager})
                                .value();
        LayerRanks layers = groups.layers();
        if (layers.stages)
            layers.run_ends = run_ends(setup_, options.pp_size * options.virtual_stages);
        Stdit3 model(setup_.config, {}, layers);
        model.parameters().load(weights_).value();
        Stdit3Training training;
        training.caption_drop_prob = 0;
        trainer_.emplace(job_of(options),
                         std::make_unique<Stdit3Objective>(std::move(model), training), groups);
    }

    /// Of the stored noise and times with the stored weights, without an update.
    std::string loss(std::string const& bucket) {
        Stdit3 model(setup_.config);
        model.parameters().load(weights_).value();
        auto const& x_start = inputs_.at("in/" + bucket + "/x_start");
        auto const& noise = inputs_.at("in/" + bucket + "/noise");
        Stdit3Input input;
        input.timestep = inputs_.at("in/" + bucket + "/t");
        input.x = add_noise({}, x_start, noise, input.timestep);
        input.fps = at::full({1}, kFps);
        input.height_px = static_cast<double>(x_start.size(3));
        input.width_px = static_cast<double>(x_start.size(4));
        auto const loss = flow_losses(model.forward(input), x_start, noise).mean();
        loss.backward();
        auto const norm = global_norm(gradients_of(model.parameters().trainable()));
        return fmt::format(R"({{"loss": {:.9g}, "grad_norm": {:.9g}}})", loss.item<double>(),
                           norm.item<double>());
    }

    std::string steps(std::string const& bucket, int count) {
        auto const wall = std::chrono::steady_clock::now();
        double const cpu = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
        double const own = cpu_time(CLOCK_THREAD_CPUTIME_ID);
        StepOutput sum;
        for (int i = 0; i < count; ++i) {
            auto const output = trainer_->step(input_of(bucket)).value();
            sum.loss = output.loss;
            sum.exposed_comm_s += output.exposed_comm_s;
            sum.forward_s += output.forward_s;
            sum.backward_s += output.backward_s;
        }
        std::chrono::duration<double> const wall_s = std::chrono::steady_clock::now() - wall;
        double const cpu_s = cpu_time(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        double const others_s = cpu_s - (cpu_time(CLOCK_THREAD_CPUTIME_ID) - own);
        return fmt::format(
            R"({{"wall_s": {:.6f}, "cpu_s": {:.6f}, "exposed_s": {:.6f}, "loss": {:.6f}, )"
            R"("forward_s": {:.6f}, "backward_s": {:.6f}, "others_cpu_s": {:.6f}}})",
            wall_s.count(), cpu_s, sum.exposed_comm_s, sum.loss, sum.forward_s, sum.backward_s,
            others_s);
    }

private:
    StepInput input_of(std::string const& bucket) {
        auto const& shape = setup_.buckets.at(bucket);
        StepInput input;
        input.step = step_++;
        auto const& stored = inputs_.at("in/" + bucket + "/x_start");
        input.samples = own_samples_ > 0 ? own_samples_ : shape[0];
        input.latents =
            stored.index_select(0, at::arange(input.samples, at::kLong).remainder(shape[0]));
        input.micro_batch_size = micro_batch_size_ > 0 ? micro_batch_size_ : input.samples;
        input.frames = shape[2];
        input.height = shape[3];
        input.width = shape[4];
        input.global_samples = input.samples * ranks_;
        for (std::int64_t i = 0; i < input.samples; ++i) {
            SampleIdentity sample;
            sample.id = static_cast<std::uint64_t>(++samples_ * 64 + rank_);
            sample.fps = kFps;
            input.identities.push_back(sample);
        }
        return input;
    }

    Setup setup_;
    std::vector<NamedTensor> weights_;
    std::map<std::string, at::Tensor> inputs_;
    std::int64_t ranks_, rank_, own_samples_, micro_batch_size_, samples_ = 0;
    int step_ = 0;
    std::optional<Trainer> trainer_;
};

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        std::string const key = argv[i];
        if (key == "--model") options.model = argv[i + 1];
        if (key == "--dump") options.dump = argv[i + 1];
        if (key == "--case") options.input = argv[i + 1];
        if (key == "--rank") options.rank = std::stoi(argv[i + 1]);
        if (key == "--world") options.world_size = std::stoi(argv[i + 1]);
        if (key == "--port") options.port = std::stoi(argv[i + 1]);
        if (key == "--host") options.host = argv[i + 1];
        if (key == "--reduce-dtype") options.reduce_dtype = argv[i + 1];
        if (key == "--zero") options.zero_stage = std::stoi(argv[i + 1]);
        if (key == "--overlap") options.overlap = std::stoi(argv[i + 1]) != 0;
        if (key == "--tp") options.tp_size = std::stoi(argv[i + 1]);
        if (key == "--pp") options.pp_size = std::stoi(argv[i + 1]);
        if (key == "--virtual") options.virtual_stages = std::stoi(argv[i + 1]);
        if (key == "--eager") options.eager = std::stoi(argv[i + 1]) != 0;
        if (key == "--samples") options.samples = std::stoll(argv[i + 1]);
        if (key == "--micro") options.micro_batch_size = std::stoll(argv[i + 1]);
        if (key == "--bucket-mib") options.bucket_mib = std::stoi(argv[i + 1]);
    }
    return options;
}

/// The most memory that this process has had resident.
std::int64_t peak_bytes() {
    std::ifstream file("/proc/self/status");
    for (std::string word; file >> word;) {
        std::int64_t kib = 0;
        if (word == "VmHWM:" && file >> kib) return kib * 1024;
    }
    return 0;
}

void serve(Options const& options) {
    at::set_num_threads(1);
    std::optional<Group> group;
    if (options.world_size > 1) {
        GroupConfig config;
        config.rank = options.rank;
        config.world_size = options.world_size;
        config.store_host = options.host;
        config.my_address = address_towards(options.host).value();
        config.store_port = static_cast<std::uint16_t>(options.port);
        group = join_gloo_group(config).value();
    }
    Bench bench(options, load_safetensors(options.input).value(), group);
    std::ofstream("/proc/self/clear_refs") << '5';  // the peak so far is that of loading
    std::cout << "ready" << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string command, bucket;
        int count = 1;
        words >> command >> bucket >> count;
        if (command == "memory") {
            std::cout << fmt::format(R"({{"peak_bytes": {}}})", peak_bytes()) << std::endl;
            continue;
        }
        std::cout << (command == "loss" ? bench.loss(bucket) : bench.steps(bucket, count))
                  << std::endl;
    }
}

}  // namespace
}  // namespace osora::worker

int main(int argc, char** argv) {
    auto const options = osora::worker::parse(argc, argv);
    if (!options.dump.empty())
        osora::worker::dump(osora::worker::setup_of(options.model), options.dump);
    else
        osora::worker::serve(options);
    return 0;
}
