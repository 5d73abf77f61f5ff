#include "worker/jobs/calibrate/calibrate.hpp"

#include "base/host_name.hpp"
#include "worker/model/stdit/stdit3.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/train/objective/rectified_flow.hpp"

#include <ATen/Parallel.h>
#include <fmt/chrono.h>
#include <torch/types.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <fstream>
#include <functional>
#include <future>
#include <limits>
#include <thread>

namespace osora::worker {
namespace {

/// Best wall time of `runs` calls, after one that is not counted.
double best_s(int runs, std::function<void()> const& work) {
    work();
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < runs; ++i) {
        auto const start = std::chrono::steady_clock::now();
        work();
        std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
        best = std::min(best, took.count());
    }
    return best;
}

std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        auto const colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) {
            return line.substr(colon + 2);
        }
    }
    return "unknown";
}

plan::MatmulRate matmul_rate(int threads, int size) {
    at::set_num_threads(threads);
    at::Tensor const a = at::randn({1024, size}), b = at::randn({size, 4 * size});
    double const seconds = best_s(5, [&] { at::mm(a, b); });
    return {threads, size, 2.0 * 1024 * size * 4 * size / seconds / 1e9};
}

double launch_floor_us() {
    at::set_num_threads(1);
    constexpr int kCalls = 2000;
    at::Tensor const a = at::randn({16}), b = at::randn({16});
    return best_s(5,
                  [&] {
                      for (int i = 0; i < kCalls; ++i) at::add(a, b);
                  }) /
           kCalls * 1e6;
}

double memory_bandwidth_gbps() {
    at::set_num_threads(1);
    constexpr std::int64_t kNumbers = std::int64_t{32} << 20;
    at::Tensor const from = at::zeros({kNumbers}), into = at::zeros({kNumbers});
    double const seconds = best_s(5, [&] { into.copy_(from); });
    return 2.0 * 4 * kNumbers / seconds / 1e9;  // read and written
}

/// Forward and backward of one micro-batch of noise, as the trainer runs it.
Result<plan::ModelStep> model_step(std::string const& arch, int threads, plan::ModelStep wanted) {
    OSORA_TRY(auto const config, stdit3_config(arch));
    at::set_num_threads(threads);
    Stdit3 model(config);
    model.initialise(1);
    int const side = std::stoi(wanted.resolution);
    at::Tensor const x =
        at::randn({wanted.micro_batch_size, config.in_channels, wanted.num_frames, side, side});
    at::Tensor const noise = at::randn_like(x);
    Stdit3Input input;
    input.x = noise;
    input.timestep = at::full({wanted.micro_batch_size}, 500.0);
    input.fps = at::full({1}, 24.0);
    input.height_px = input.width_px = side;
    wanted.forward_backward_s = best_s(4, [&] {
        model.parameters().clear_gradients();
        flow_losses(model.forward(input), x, noise).mean().backward();
    });
    wanted.arch = arch;
    wanted.threads = threads;
    return wanted;
}

/// Best time of an all_reduce of `bytes` bytes over 2 ranks: threads of this process, real sockets.
Result<std::pair<double, double>> all_reduce_times(std::int64_t small, std::int64_t large) {
    allow_ranks_as_threads();
    auto const store = c10::make_intrusive<c10d::HashStore>();
    auto rank_main = [store, small, large](int rank) -> Result<std::pair<double, double>> {
        GroupConfig config;
        config.rank = rank;
        config.world_size = 2;
        OSORA_TRY(auto group, join_gloo_group(store, config));
        auto time_of = [&](std::int64_t bytes) {
            std::vector<at::Tensor> tensors{at::zeros({bytes / 4})};
            return best_s(8, [&] { group.backend().allreduce(tensors)->wait(); });
        };
        double const small_s = time_of(small);
        return std::pair(small_s, time_of(large));
    };
    auto other = std::async(std::launch::async, rank_main, 1);
    auto mine = rank_main(0);
    auto const theirs = other.get();
    if (theirs.has_error()) return theirs.error();
    return mine;
}

Result<plan::AllReduceFit> all_reduce_fit() {
    constexpr std::int64_t kSmall = 1024, kLarge = std::int64_t{16} << 20;
    OSORA_TRY(auto const times, all_reduce_times(kSmall, kLarge));
    double const slope = std::max(0.0, times.second - times.first) / (kLarge - kSmall);
    return plan::AllReduceFit{.ranks = 2, .a_s = times.first, .b_s_per_byte = slope};
}

Result<plan::Calibration> measure() {
    plan::Calibration found;
    found.measured = true;
    found.machine = host_name();
    found.processor = processor_name();
    found.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    found.cores = static_cast<int>(std::thread::hardware_concurrency());
    for (int const threads : {1, found.cores}) {
        for (int const size : {128, 512}) found.matmul.push_back(matmul_rate(threads, size));
        if (found.cores == 1) break;
    }
    found.launch_floor_us = launch_floor_us();
    found.memory_bandwidth_gbps = memory_bandwidth_gbps();
    OSORA_TRY(found.all_reduce, all_reduce_fit());
    for (auto const& [resolution, frames, batch] :
         {std::tuple("64", 1, 8), std::tuple("64", 8, 2), std::tuple("32", 8, 4)}) {
        plan::ModelStep const wanted{
            .arch = {}, .resolution = resolution, .num_frames = frames, .micro_batch_size = batch};
        OSORA_TRY(auto step, model_step("stdit3-tiny", 1, wanted));
        found.model_steps.push_back(std::move(step));
    }
    return found;
}

}  // namespace

Result<plan::Calibration> calibrate_cpu() {
    try {
        return measure();
    } catch (std::exception const& error) {
        return Error{Errc::io, std::string("calibrate: ") + error.what()};
    }
}

}  // namespace osora::worker
