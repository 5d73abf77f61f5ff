// TCP bandwidth between two nodes: several streams, both directions at once, for a fixed time, so
// that a slow pair takes no longer than a fast one and all pairs of a round load the fabric
// together. Blocking, with a limit on everything; one thread per stream while it runs.
#pragma once

#include "base/files/descriptor.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace osora::topology {

struct TransferOptions {
    int streams = 4;
    double warm_s = 0.1;           // not counted: slow start, a traffic shaper's burst
    double window_s = 0.4;         // counted
    double connect_limit_s = 3.0;  // limit until all streams are connected
};

struct TransferResult {
    std::int64_t received_bytes = 0;  // inside the window
    double seconds = 0;               // the window, shorter if the peer disconnected
    double latency_us = 0;  // median round trip of a byte before the load; 0: not measured
};

/// A token of at most 64 bytes distinguishes the streams of a round from strangers.
using StreamToken = std::string;

/// Connects the streams of one transfer to a numeric IPv4 or IPv6 address; from `bind_address` if
/// it is not empty. unreachable names the step that failed.
[[nodiscard]] Result<std::vector<Descriptor>> connect_streams(std::string const& address, int port,
                                                              std::string const& bind_address,
                                                              StreamToken const& token,
                                                              TransferOptions const& options);

/// Accepts the streams of other nodes: on every address of this machine, a free port.
class StreamListener {
public:
    [[nodiscard]] static Result<StreamListener> open();

    [[nodiscard]] int port() const { return port_; }
    /// All streams with this token; drops connections with another one. timed_out says how many
    /// came.
    [[nodiscard]] Result<std::vector<Descriptor>> accept(StreamToken const& token,
                                                         TransferOptions const& options);

private:
    Descriptor socket_;
    int port_ = 0;
};

/// Sends and receives on all streams; the side with `pings` measures the round trip first, the
/// other one answers. unreachable: the peer disconnected before the window began.
[[nodiscard]] Result<TransferResult> run_transfer(std::vector<Descriptor> streams, bool pings,
                                                  TransferOptions const& options);

}  // namespace osora::topology
