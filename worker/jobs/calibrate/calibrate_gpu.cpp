// Every measurement takes its device, so that a test runs all of them on the CPU.
#include "worker/jobs/calibrate/calibrate_gpu.hpp"

#include "base/host_name.hpp"
#include "plan/model/model_cost.hpp"
#include "plan/step_time.hpp"
#include "worker/cuda/cuda_module.hpp"
#include "worker/jobs/job_parts.hpp"
#include "worker/memory/shortage_text.hpp"
#include "worker/model/stdit/stdit3.hpp"
#include "worker/parallel/on_any_rank.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/train/objective/rectified_flow.hpp"
#include "worker/train/step_boundary.hpp"

#include <fmt/chrono.h>
#include <torch/types.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <exception>
#include <future>
#include <initializer_list>
#include <limits>
#include <thread>
#include <utility>

namespace osora::worker {
namespace {

double steady_s() {
    std::chrono::duration<double> const now = std::chrono::steady_clock::now().time_since_epoch();
    return now.count();
}

class GpuTimer {
public:
    GpuTimer(Device const& device, GpuWork const& work) : device_(device), work_(work) {}

    /// Best time of one call of `call`, of runs with `repetitions` of them.
    [[nodiscard]] double seconds_of(int repetitions, std::function<void()> const& call) const {
        for (int i = 0; i < 2; ++i) call();  // loads kernels, fills the allocator's cache
        double best = std::numeric_limits<double>::infinity();
        for (int run = 0; run < work_.runs; ++run) {
            device_.synchronize();
            double const start_s = now_s();
            for (int i = 0; i < repetitions; ++i) call();
            device_.synchronize();
            best = std::min(best, (now_s() - start_s) / repetitions);
        }
        return best;
    }
    [[nodiscard]] at::TensorOptions options(at::ScalarType type) const {
        return at::TensorOptions(type).device(device_.torch());
    }
    [[nodiscard]] GpuWork const& work() const { return work_; }

private:
    [[nodiscard]] double now_s() const { return work_.now_s ? work_.now_s() : steady_s(); }

    Device const& device_;
    GpuWork const& work_;
};

plan::MatmulRate gpu_matmul(GpuTimer const& timer, int size) {
    std::int64_t const rows = timer.work().rows, columns = std::int64_t{4} * size;
    at::Tensor const a = at::randn({rows, size}, timer.options(at::kBFloat16));
    at::Tensor const b = at::randn({size, columns}, timer.options(at::kBFloat16));
    double const seconds = timer.seconds_of(timer.work().repetitions, [&] { at::mm(a, b); });
    double const flops = 2.0 * static_cast<double>(rows) * size * static_cast<double>(columns);
    return {.threads = 1, .size = size, .gflops = flops / seconds / 1e9};
}

double gpu_launch_us(GpuTimer const& timer) {
    at::Tensor const a = at::randn({16}, timer.options(at::kFloat));
    at::Tensor const b = at::randn({16}, timer.options(at::kFloat));
    return timer.seconds_of(timer.work().operators, [&] { at::add(a, b); }) * 1e6;
}

double gpu_memory_gbps(GpuTimer const& timer) {
    std::int64_t const bytes = timer.work().copied_bytes;
    at::Tensor const from = at::zeros({bytes / 4}, timer.options(at::kFloat));
    at::Tensor into = at::zeros_like(from);
    double const seconds = timer.seconds_of(timer.work().repetitions, [&] { into.copy_(from); });
    return 2.0 * static_cast<double>(bytes) / seconds / 1e9;  // read and written
}

/// Forward and backward of one micro-batch of noise, as the trainer runs it in bf16.
Result<plan::ModelStep> gpu_step(GpuTimer const& timer, plan::ModelStep step) {
    OSORA_TRY(auto const query, plan::measured_query(step, true));
    plan::ModelShape const& shape = query.shape;
    OSORA_TRY(auto const config, stdit3_config(shape));
    Stdit3 model(config, timer.options(at::kBFloat16));
    model.initialise(1);
    std::int64_t const frames = plan::sample_cost(shape, query.bucket).frames * shape.patch_size[0];
    at::Tensor const x =
        at::randn({step.micro_batch_size, config.in_channels, frames,
                   query.bucket.height / shape.vae.spatial, query.bucket.width / shape.vae.spatial},
                  timer.options(at::kFloat));
    at::Tensor const noise = at::randn_like(x);
    Stdit3Input input;
    input.x = noise;
    input.timestep = at::full({step.micro_batch_size}, 500.0, timer.options(at::kFloat));
    input.fps = at::full({1}, 24.0, timer.options(at::kFloat));
    input.height_px = query.bucket.height;
    input.width_px = query.bucket.width;
    constexpr int kPasses = 3;
    step.forward_backward_s = timer.seconds_of(kPasses, [&] {
        model.parameters().clear_gradients();
        flow_losses(model.forward(input), x, noise).mean().backward();
    });
    return step;
}

/// On the device of a rank of `group`, for each of `bytes`. Ranks that could not allocate theirs
/// would leave the others in an all_reduce, and NCCL has no limit: all agree before the first one.
Result<std::vector<at::Tensor>> pair_buffers(GpuTimer const& timer, Group const& group,
                                             std::initializer_list<std::int64_t> bytes) {
    std::vector<at::Tensor> buffers;
    auto const lacked = lacked_memory([&] {
        for (std::int64_t const each : bytes)
            buffers.push_back(at::zeros({each / 4}, timer.options(at::kFloat)));
    });
    OSORA_TRY(bool const lacks, on_any_rank(group, lacked.has_value()));
    if (!lacks) return buffers;
    return Error{
        Errc::out_of_memory,
        "calibrate: all_reduce: " + in_brief(lacked.value_or("the other GPU ran out of memory"))};
}

/// Times of two all_reduces over two ranks, threads of this process: NCCL on GPUs, else Gloo.
Result<std::pair<double, double>> pair_times(std::vector<Device> const& devices,
                                             GpuWork const& work, std::int64_t small,
                                             std::int64_t large) {
    allow_ranks_as_threads();
    auto const store = c10::make_intrusive<c10d::HashStore>();
    auto rank_main = [&](int rank) -> Result<std::pair<double, double>> {
        Device const& device = devices[static_cast<std::size_t>(rank)];
        if (device.is_gpu()) device.module()->use_device(device.index());
        GroupConfig config;
        config.rank = rank;
        config.world_size = 2;
        OSORA_TRY(auto group, join_gloo_group(store, config));
        if (device.is_gpu()) OSORA_TRY_VOID(group.use_nccl(device));
        GpuTimer const timer(device, work);
        OSORA_TRY(auto const buffers, pair_buffers(timer, group, {small, large}));
        auto const time_of = [&](at::Tensor const& buffer) {
            std::vector<at::Tensor> tensors{buffer};
            return timer.seconds_of(work.repetitions,
                                    [&] { group.device_backend().allreduce(tensors)->wait(); });
        };
        double const small_s = time_of(buffers[0]);
        return std::pair(small_s, time_of(buffers[1]));
    };
    auto other = std::async(std::launch::async, rank_main, 1);
    auto mine = rank_main(0);
    auto const theirs = other.get();
    if (mine.has_error()) return mine.error();
    if (theirs.has_error()) return theirs.error();
    return mine;
}

Result<plan::AllReduceFit> pair_fit(std::vector<Device> const& devices, GpuWork const& work) {
    constexpr std::int64_t kSmall = 1024;
    OSORA_TRY(auto const times, pair_times(devices, work, kSmall, work.reduced_bytes));
    double const more = static_cast<double>(work.reduced_bytes - kSmall);
    double const slope = std::max(0.0, times.second - times.first) / more;
    return plan::AllReduceFit{.ranks = 2, .a_s = times.first, .b_s_per_byte = slope};
}

Result<plan::Calibration> measure_gpu(std::vector<Device> const& devices, GpuWork const& work) {
    Device const& device = devices.front();
    use_kernels_of(device);
    GpuTimer const timer(device, work);
    plan::Calibration found = plan::nominal_gpu();
    found.measured = true;
    found.machine = host_name();
    found.processor = device.is_gpu() ? device.module()->device_name(device.index()) : "GPU";
    found.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    found.cores = static_cast<int>(std::thread::hardware_concurrency());
    found.decode_ms_per_megapixel = 0;
    found.matmul.clear();
    for (int const size : work.inner_sizes) found.matmul.push_back(gpu_matmul(timer, size));
    found.launch_floor_us = gpu_launch_us(timer);
    found.memory_bandwidth_gbps = gpu_memory_gbps(timer);
    if (devices.size() > 1) {
        OSORA_TRY(found.all_reduce, pair_fit(devices, work));
    }
    for (plan::ModelStep const& wanted : work.steps) {
        device.empty_cache();
        OSORA_TRY(auto step, gpu_step(timer, wanted));
        found.model_steps.push_back(std::move(step));
    }
    return found;
}

}  // namespace

GpuWork usual_gpu_work() {
    GpuWork work;
    for (auto const& [resolution, batch] :
         {std::pair("144p", 4), std::pair("240p", 2), std::pair("360p", 1)}) {
        work.steps.push_back({.arch = "stdit3-xl/2",
                              .resolution = resolution,
                              .num_frames = 51,
                              .micro_batch_size = batch,
                              .depth = 4});
    }
    return work;
}

Result<plan::Calibration> calibrate_gpu(std::vector<Device> const& devices, GpuWork const& work) {
    try {
        return measure_gpu(devices, work);
    } catch (std::exception const& error) {
        return Error{Errc::io, std::string("calibrate: ") + error.what()};
    }
}

Result<std::vector<Device>> gpus_to_calibrate(std::filesystem::path const& module) {
    std::vector<Device> devices;
    OSORA_TRY(auto const first, Device::choose(module, 0));
    if (!first.is_gpu()) return devices;
    devices.push_back(first);
    if (first.module()->device_count() > 1) devices.emplace_back(*first.module(), 1);
    return devices;
}

}  // namespace osora::worker
