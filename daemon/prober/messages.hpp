// Messages between the prober of rank 0, which leads, and all probers: frames of JSON, on one TCP
// connection for each. A prober does one thing at a time and answers each order.
#pragma once

#include "protocol/messages/message.hpp"
#include "topology/probe_result.hpp"

#include <boost/describe.hpp>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace osora::daemon {

struct ProberAddress {
    std::string interface, address, network;
};

// To the leader.
struct ProberHello {
    static constexpr std::string_view kType = "hello";
    std::string token;  // ProbeRequest.token
    int rank = 0;
    std::string host;
    std::string leaf;  // from SLURM_TOPOLOGY_ADDR; "" = not known
    int port = 0;      // where it accepts streams
    std::vector<ProberAddress> addresses;
    double memory_copy_bytes_per_s = 0;
};
struct TransferDone {
    static constexpr std::string_view kType = "transfer";
    int round = 0;
    std::int64_t received_bytes = 0;
    double seconds = 0;
    double latency_us = 0;
    std::string error = {};  // why nothing was measured
};
struct StorageDone {
    static constexpr std::string_view kType = "storage";
    int round = 0;
    topology::StorageSample sample;
    std::string error;
};
using FromProber = std::variant<ProberHello, TransferDone, StorageDone>;

// From the leader.
struct RunTransfer {
    static constexpr std::string_view kType = "run_transfer";
    int round = 0;
    bool connects = false;     // else it accepts
    std::string address;       // of the other side; connects only
    int port = 0;              // connects only
    std::string bind_address;  // "": any
    std::string stream_token;  // of this pair and round
};
struct ReadStorage {
    static constexpr std::string_view kType = "read_storage";
    int round = 0;
    bool alone = true;
};
struct ProberBye {
    static constexpr std::string_view kType = "bye";
};
using ToProber = std::variant<RunTransfer, ReadStorage, ProberBye>;

BOOST_DESCRIBE_STRUCT(ProberAddress, (), (interface, address, network))
BOOST_DESCRIBE_STRUCT(ProberHello, (),
                      (token, rank, host, leaf, port, addresses, memory_copy_bytes_per_s))
BOOST_DESCRIBE_STRUCT(TransferDone, (), (round, received_bytes, seconds, latency_us, error))
BOOST_DESCRIBE_STRUCT(StorageDone, (), (round, sample, error))
BOOST_DESCRIBE_STRUCT(RunTransfer, (), (round, connects, address, port, bind_address, stream_token))
BOOST_DESCRIBE_STRUCT(ReadStorage, (), (round, alone))
BOOST_DESCRIBE_STRUCT(ProberBye, (), ())

}  // namespace osora::daemon
