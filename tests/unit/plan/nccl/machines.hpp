// Machines and probes for tests of advice, a few words each.
#pragma once

#include "topology/machine.hpp"
#include "topology/probe_result.hpp"

#include <string>
#include <utility>
#include <vector>

namespace osora::plan {

inline topology::Nic ethernet(std::string name, double gbit, std::string address = {}) {
    topology::Nic nic;
    nic.interface = std::move(name);
    nic.rate_gbit = gbit;
    nic.up = true;
    nic.driver = "mlx5_core";
    if (!address.empty()) nic.addresses.push_back(std::move(address));
    return nic;
}

inline topology::Nic rdma(std::string device, topology::NicKind kind, double gbit) {
    topology::Nic nic;
    nic.device = std::move(device);
    nic.kind = kind;
    nic.rate_gbit = gbit;
    nic.up = true;
    return nic;
}

inline topology::Machine machine(std::string name, std::vector<topology::Nic> nics) {
    topology::Machine made;
    made.name = std::move(name);
    made.nics = std::move(nics);
    return made;
}

/// A sample of 1 GiB from node `from` over `interface`, at `gbit` Gbit/s.
inline topology::PairSample over(int from, std::string interface, double gbit) {
    topology::PairSample sample;
    sample.stage = topology::ProbeStage::interface_one;
    sample.from = from;
    sample.transport = "tcp";
    sample.interface = std::move(interface);
    sample.size_bytes = std::int64_t{1} << 30;
    sample.seconds = 8e-9 * static_cast<double>(sample.size_bytes) / gbit;
    return sample;
}

inline topology::ProbeResult probe_of(std::vector<std::string> nodes,
                                      std::vector<topology::PairSample> pairs) {
    topology::ProbeResult probe;
    probe.nodes = std::move(nodes);
    probe.pairs = std::move(pairs);
    return probe;
}

}  // namespace osora::plan
