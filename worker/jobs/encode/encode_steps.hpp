// The steps of an encode run as reported to its agent: one batch of clips or captions each. Also
// decides when to stop, and which shards are this rank's.
#pragma once

#include "worker/jobs/agent_link.hpp"
#include "worker/jobs/encode/encode_plan.hpp"
#include "worker/parallel/device.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::worker {

class EncodeSteps {
public:
    EncodeSteps(AgentLink& agent, Device device) : agent_(agent), device_(device) {}

    /// Number of steps in shards from an earlier launch.
    void skip(int steps) { next_ += steps; }
    void begin();
    /// `work_s`: time of the encoder; the rest of the step is waiting for clips.
    void end(std::string const& bucket, std::int64_t samples, double work_s);
    void notice(std::string const& kind, std::string const& detail);
    /// That it works where no step ends, at most every kSignEvery.
    void sign();

    /// Whether the agent asked to stop: the current batch is the last.
    [[nodiscard]] bool stopped() const { return agent_.stop_order().has_value(); }
    /// False: the agent asked to stop, and the wait ended then.
    [[nodiscard]] bool wait(double seconds) const { return agent_.pause(seconds); }
    [[nodiscard]] int next_step() const { return next_; }
    [[nodiscard]] Device const& device() const { return device_; }
    [[nodiscard]] AgentLink& agent() { return agent_; }

private:
    AgentLink& agent_;
    Device device_;
    int next_ = 0;
    bool first_ = true;
    std::chrono::steady_clock::time_point start_, signed_;
};

/// One rank's incomplete shards, ascending; `done` counts the entries of the others.
struct OpenWork {
    std::vector<std::size_t> latents, captions;
    std::int64_t done_clips = 0, done_captions = 0;
};
/// invalid_input if the folder has shards of other settings. A shard that cannot be read back is
/// made again.
[[nodiscard]] Result<OpenWork> open_work(EncodePlan const& plan, int rank, int world_size);

}  // namespace osora::worker
