// Ends a rank that waits too long, with the reason. Its thread writes the recorder to disk on
// request (a signal), checks how long collectives take, and ensures that a failed rank exits soon,
// whatever its destructors wait for. One per process, made by the job.
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
        /// Called once, on the watch's thread, for a rank that does not exit by itself: reports the
        /// error and does not return.
        std::function<void(Error const&)> end;
    };
    explicit FlightWatch(Options options);
    ~FlightWatch();
    FlightWatch(FlightWatch const&) = delete;
    FlightWatch& operator=(FlightWatch const&) = delete;

    [[nodiscard]] std::shared_ptr<FlightRecorder> const& recorder() const;

    /// The rank ends with this error. Writes the recorder to disk; if a peer was lost
    /// (unreachable), waits briefly for the peers' records and adds whom they wait for. From now on
    /// the rank has explain_limit_s() to exit by itself.
    [[nodiscard]] Error explain(Error error);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// How long a rank waits for its peers' records: a quarter of the timeout, at most 2 s.
[[nodiscard]] double explain_limit_s(double timeout_s);

}  // namespace osora::worker
