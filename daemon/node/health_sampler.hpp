// Samples the node's health on a separate thread: a GPU driver or a file system that hangs delays
// only the next sample. Driven by the agent.
#pragma once

#include "protocol/node_health.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace osora::daemon {

struct HealthSamplerOptions {
    std::filesystem::path root = "/";
    std::filesystem::path run_dir;  // whose file system's free space is read
    std::string nvml = "libnvidia-ml.so.1";
};

class HealthSampler {
public:
    using OnSample = std::function<void(protocol::NodeHealth)>;

    /// `on_sample` is called on `executor`, never after the destructor.
    HealthSampler(HealthSamplerOptions options, boost::asio::any_io_executor executor,
                  OnSample on_sample);
    /// A thread that hangs is abandoned.
    ~HealthSampler();
    HealthSampler(HealthSampler const&) = delete;
    HealthSampler& operator=(HealthSampler const&) = delete;

    /// Takes one sample, as soon as the machine delivers it.
    void sample();

private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
};

}  // namespace osora::daemon
