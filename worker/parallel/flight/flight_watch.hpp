// Ends a rank that waits too long, with the reason. Its thread writes the recorder down when
// somebody asks (a signal), looks at how long collectives take, and makes sure that a rank that has
// failed is gone soon, whatever its destructors wait for. One a process, made by the job.
#pragma once

#include "base/result.hpp"
#include "worker/parallel/flight/flight_recorder.hpp"

#include <filesystem>
#include <functional>
#include <memory>

namespace osora::worker {

class FlightWatch {
public:
    struct Options {
        std::filesystem::path run_dir;
        int rank = 0, world_size = 1, attempt = 0;
        double timeout_s = 600;  // of a collective
        /// Called once, on the watch's thread, for a rank that does not end by itself: tells the
        /// error and does not return.
        std::function<void(Error const&)> end;
    };
    explicit FlightWatch(Options options);
    ~FlightWatch();
    FlightWatch(FlightWatch const&) = delete;
    FlightWatch& operator=(FlightWatch const&) = delete;

    [[nodiscard]] std::shared_ptr<FlightRecorder> const& recorder() const;

    /// The rank ends with this error. Writes the recorder down; where a peer was lost
    /// (unreachable), waits a little for what the peers write down and says whom they wait for.
    /// From now on the rank has explain_limit_s() to end by itself.
    [[nodiscard]] Error explain(Error error);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// How long a rank waits for its peers' records: a quarter of the timeout, at most 2 s.
[[nodiscard]] double explain_limit_s(double timeout_s);

}  // namespace osora::worker
