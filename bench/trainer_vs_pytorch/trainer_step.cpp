// osora's side of the comparison with PyTorch: runs training steps of an STDiT3 on demand.
// compare.py drives it over stdin; pytorch_step.py speaks the same protocol:
//   "loss BUCKET"    -> {"loss":, "grad_norm":} of the stored inputs with the stored weights
//   "step BUCKET N"  -> {"wall_s":, "cpu_s":, "loss":} of N whole training steps
//   "memory -"       -> {"peak_bytes":} of this process so far
// trainer_step --model tiny|288x2|... --dump FILE writes weights and inputs; then
// --model M --case FILE [--rank R --world W --port P].
#include "base/check.hpp"
#include "worker/model/safetensors.hpp"
#include "worker/model/stdit3.hpp"
#include "worker/parallel/grad_reducer.hpp"
#include "worker/train/optimizer.hpp"
#include "worker/train/rectified_flow.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

namespace osora::worker {
namespace {

constexpr double kLr = 1e-3, kDecay = 0.99, kMaxNorm = 1.0, kBucketMib = 1.0;

using Buckets = std::map<std::string, std::vector<std::int64_t>>;  // (B, C, T, H, W)

struct Setup {
    Stdit3Config config;
    Buckets buckets;
};

/// "tiny": stdit3-tiny with the buckets of examples/demo.toml, and larger images. "WIDTHxPAIRS":
/// latents, and heads and captions as STDiT3-XL/2 has them.
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
    setup.config.num_heads = setup.config.hidden_size / 72;
    setup.config.pred_sigma = false;
    setup.buckets = {{"16x16x8", {2, 4, 8, 16, 16}}, {"32x32x1", {2, 4, 1, 32, 32}}};
    return setup;
}

struct Options {
    std::string model = "tiny", dump, input;
    int rank = 0, world_size = 1, port = 0;
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

class Trainer {
public:
    Trainer(Setup const& setup, SafetensorsContent const& content, std::optional<Group> group)
        : buckets_(setup.buckets),
          rank_(group ? group->rank() : 0),
          share_(group ? 1.0 / group->world_size() : 1.0),
          model_(setup.config) {
        std::vector<NamedTensor> weights;
        for (auto const& [name, tensor, kind] : content.tensors) {
            if (name.starts_with("weights/")) {
                weights.push_back({name.substr(8), tensor});
            } else {
                inputs_[name] = tensor.clone();  // the mapped file goes
            }
        }
        model_.parameters().load(weights).value();
        auto const parameters = model_.parameters().trainable();
        optimizer_.emplace(parameters, AdamWConfig{.lr = kLr});
        ema_.emplace(parameters, kDecay);
        reducer_.emplace(parameters, std::move(group), ReduceOptions{.bucket_mib = kBucketMib});
    }

    std::string loss(std::string const& bucket) {
        auto const& noise = inputs_.at("in/" + bucket + "/noise");
        auto const value = backward(bucket, noise, inputs_.at("in/" + bucket + "/t"));
        auto const norm = global_norm(gradients_of(model_.parameters().trainable()));
        model_.parameters().clear_gradients();
        return fmt::format(R"({{"loss": {:.9g}, "grad_norm": {:.9g}}})", value.item<double>(),
                           norm.item<double>());
    }

    std::string steps(std::string const& bucket, int count) {
        auto const wall = std::chrono::steady_clock::now();
        std::clock_t const cpu = std::clock();
        at::Tensor value;
        for (int i = 0; i < count; ++i) value = step(bucket);
        double const loss = value.item<double>();
        std::chrono::duration<double> const wall_s = std::chrono::steady_clock::now() - wall;
        double const cpu_s = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
        return fmt::format(R"({{"wall_s": {:.6f}, "cpu_s": {:.6f}, "loss": {:.6f}}})",
                           wall_s.count(), cpu_s, loss);
    }

private:
    at::Tensor backward(std::string const& bucket, at::Tensor const& noise, at::Tensor const& t) {
        auto const& x_start = inputs_.at("in/" + bucket + "/x_start");
        Stdit3Input input;
        input.x = add_noise({}, x_start, noise, t);
        input.timestep = t;
        input.fps = at::full({1}, 24.0);
        input.height_px = static_cast<double>(x_start.size(3));
        input.width_px = static_cast<double>(x_start.size(4));
        auto const loss = flow_losses(model_.forward(input), x_start, noise).mean();
        reducer_->begin(share_);
        loss.backward();
        reducer_->finish().value();
        return loss.detach();
    }

    at::Tensor step(std::string const& bucket) {
        auto const& shape = buckets_.at(bucket);
        std::vector<std::uint64_t> keys;
        std::vector<float> times;
        RectifiedFlowConfig const flow;
        for (std::int64_t i = 0; i < shape[0]; ++i) {
            auto const id = static_cast<std::uint64_t>(++samples_ * 64 + rank_);
            keys.push_back(sample_key(1, 0, id, RngPurpose::noise));
            SampleRng const rng(sample_key(1, 0, id, RngPurpose::timestep));
            VideoSize const size{static_cast<double>(shape[3]), static_cast<double>(shape[4]),
                                 shape[2]};
            times.push_back(static_cast<float>(sample_timestep(flow, size, rng)));
        }
        auto const noise = sample_noise(keys, at::IntArrayRef(shape).slice(1));
        auto const value = backward(bucket, noise, at::tensor(times));
        auto const parameters = model_.parameters().trainable();
        auto const& flat = reducer_->buckets();
        auto const norm = global_norm(flat.empty() ? gradients_of(parameters) : flat);
        optimizer_->step(kLr, clip_scale(norm, kMaxNorm));
        ema_->update();
        model_.parameters().clear_gradients();
        return value;
    }

    Buckets buckets_;
    std::map<std::string, at::Tensor> inputs_;
    std::int64_t rank_, samples_ = 0;
    double share_;
    Stdit3 model_;
    std::optional<AdamW> optimizer_;
    std::optional<Ema> ema_;
    std::optional<GradReducer> reducer_;
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
        config.store_port = static_cast<std::uint16_t>(options.port);
        group = join_gloo_group(config).value();
    }
    Trainer trainer(setup_of(options.model), load_safetensors(options.input).value(),
                    std::move(group));
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
        std::cout << (command == "loss" ? trainer.loss(bucket) : trainer.steps(bucket, count))
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
