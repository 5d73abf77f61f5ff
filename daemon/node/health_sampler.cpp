// The thread starts with the first sample. The state that it shares with the agent outlives both.
#include "daemon/node/health_sampler.hpp"

#include "base/files/files.hpp"
#include "topology/live/nvml.hpp"
#include "topology/node_load.hpp"

#include <boost/asio/post.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace osora::daemon {
namespace {

using namespace protocol;

constexpr auto kPatience = std::chrono::milliseconds(200);  // at the end

GpuHealth health_of(topology::GpuReading const& reading) {
    GpuHealth gpu;
    gpu.gpu = reading.index;
    gpu.temperature_c = reading.temperature_c;
    gpu.power_w = reading.power_w;
    gpu.sm_mhz = reading.sm_mhz;
    gpu.throttle_reasons = static_cast<std::int64_t>(reading.throttle_reasons);
    gpu.ecc_uncorrected = static_cast<std::int64_t>(reading.ecc_uncorrected);
    gpu.memory_used_bytes = static_cast<std::int64_t>(reading.memory_used_bytes);
    gpu.xids = reading.xids;
    return gpu;
}

NodeHealth read(HealthSamplerOptions const& options, topology::Nvml* nvml) {
    NodeHealth health;
    auto const load = topology::read_node_load(options.root);
    health.load = load.load;
    health.memory_available_bytes = load.memory_available_bytes;
    health.cgroup_memory_bytes = load.cgroup_memory_bytes;
    if (auto const free = free_bytes(options.run_dir); free.has_value()) {
        health.disk_free_bytes = *free;
    }
    if (nvml == nullptr) return health;
    for (auto const& each : nvml->read()) health.gpus.push_back(health_of(each));
    return health;
}

}  // namespace

struct HealthSampler::Shared {
    HealthSamplerOptions options;
    boost::asio::any_io_executor executor;
    OnSample on_sample;

    std::mutex mutex;
    std::condition_variable changed;
    bool wanted = false, closed = false, ended = false;
    std::thread thread;

    /// Waits for the next request; false: no more.
    bool wait() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return wanted || closed; });
        return !closed;
    }
    static void run(std::shared_ptr<Shared> const& self) {
        auto const nvml = topology::open_nvml(self->options.nvml);
        while (self->wait()) {
            NodeHealth health = read(self->options, nvml.get());
            std::unique_lock const lock(self->mutex);
            self->wanted = false;
            if (self->closed) break;
            boost::asio::post(self->executor, [self, health = std::move(health)]() mutable {
                if (!self->closed) self->on_sample(std::move(health));
            });
        }
        std::unique_lock const lock(self->mutex);
        self->ended = true;
        self->changed.notify_all();
    }
};

HealthSampler::HealthSampler(HealthSamplerOptions options, boost::asio::any_io_executor executor,
                             OnSample on_sample)
    : shared_(std::make_shared<Shared>()) {
    shared_->options = std::move(options);
    shared_->executor = std::move(executor);
    shared_->on_sample = std::move(on_sample);
}

HealthSampler::~HealthSampler() {
    std::unique_lock lock(shared_->mutex);
    shared_->closed = true;
    shared_->changed.notify_all();
    if (!shared_->thread.joinable()) return;
    shared_->changed.wait_for(lock, kPatience, [this] { return shared_->ended; });
    bool const ended = shared_->ended;
    lock.unlock();
    ended ? shared_->thread.join() : shared_->thread.detach();
}

void HealthSampler::sample() {
    std::unique_lock const lock(shared_->mutex);
    shared_->wanted = true;
    if (!shared_->thread.joinable()) {
        shared_->thread = std::thread([self = shared_] { Shared::run(self); });
    }
    shared_->changed.notify_all();
}

}  // namespace osora::daemon
