// What a rank recorded of its collectives: RUN_DIR/flight/rank-R.json (docs/rfc/028). The rank
// writes it when a collective fails, when it is terminated, or when its agent requests it; its
// peers, the controller and osora read it.
#pragma once

#include <boost/describe.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace osora::protocol {

inline constexpr std::string_view kFlightSchema = "osora.flight/1";

enum class CollectiveState { started, finished, failed };
BOOST_DESCRIBE_ENUM(CollectiveState, started, finished, failed)

/// One collective as one rank saw it. Both ends of a send and recv count the same: `sequence` is
/// that of the pair and direction.
struct FlightRecord {
    int channel = 0;            // index into FlightDump::channels
    std::int64_t sequence = 0;  // 1, 2, ... of the channel
    std::string operation;      // all_reduce, all_gather, reduce_scatter, all_to_all, broadcast...
    std::string label;          // its purpose: "gradients"; may be empty
    std::int64_t bytes = 0;     // of this rank's input
    std::string dtype;          // "Float"; empty without tensors
    int step = -1;              // -1: before the first
    int micro_batch = -1;       // of this rank in the step; -1: outside one
    CollectiveState state = CollectiveState::started;
    std::int64_t started_us = 0, ended_us = 0;  // since the rank's recorder began; 0: not ended
    friend bool operator==(FlightRecord const&, FlightRecord const&) = default;
};

/// Ranks that call collectives in the same order: a group with one backend, or one direction of a
/// pair.
struct FlightChannel {
    std::string name;                        // "all gloo", "linears/0 nccl", "stages 2>4 gloo"
    std::vector<int> ranks;                  // of the run
    std::int64_t started = 0, finished = 0;  // highest sequence numbers; finished in any order
};

struct FlightDump {
    std::string schema = std::string(kFlightSchema);
    int rank = 0, world_size = 1, attempt = 0;
    std::string why;    // "all_reduce failed: ...", "asked for", "ended by signal 15"
    std::string phase;  // what the rank was doing, as last reported to its agent
    int step = -1;
    std::int64_t now_us = 0;  // as started_us
    std::vector<FlightChannel> channels;
    std::vector<FlightRecord> records;  // oldest first
    std::int64_t forgotten = 0;         // older ones that were overwritten
};

BOOST_DESCRIBE_STRUCT(FlightRecord, (),
                      (channel, sequence, operation, label, bytes, dtype, step, micro_batch, state,
                       started_us, ended_us))
BOOST_DESCRIBE_STRUCT(FlightChannel, (), (name, ranks, started, finished))
BOOST_DESCRIBE_STRUCT(FlightDump, (),
                      (schema, rank, world_size, attempt, why, phase, step, now_us, channels,
                       records, forgotten))

}  // namespace osora::protocol
