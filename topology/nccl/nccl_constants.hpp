// The constants of NCCL's cost model, by version. Values and sources: docs/rfc/006. Pure.
#pragma once

#include "base/result.hpp"

#include <array>
#include <string>
#include <string_view>

namespace osora::topology {

/// With NCCL's own numbers.
enum class NcclAlgo { tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat };
enum class NcclProto { ll, ll128, simple };
constexpr std::size_t kNcclAlgos = 7, kNcclProtos = 3;
[[nodiscard]] std::string_view algo_name(NcclAlgo algo);     // "Tree", "Ring", "CollNetDirect", ...
[[nodiscard]] std::string_view proto_name(NcclProto proto);  // "LL", "LL128", "Simple"

/// The kind of a link, for latencies.
enum class NcclHardware { nvlink, pci, net };

using ByProto = std::array<double, kNcclProtos>;
using ByAlgo = std::array<ByProto, kNcclAlgos>;
/// [Volta, Ampere, Hopper, Blackwell][1, 2, 4 and more nodes], GB/s.
using BandwidthTable = std::array<std::array<double, 3>, 4>;

/// Laid out like the constants that the tuner plug-in's init gets in v5 and v6.
struct NcclConstants {
    ByAlgo base_latency_us;
    std::array<ByAlgo, 3> hardware_latency_us;  // by NcclHardware
    /// LL in total; the row is the generation on one node, else 1 with AMD's CPUs, else 0.
    BandwidthTable ll_max_gbps;
    // Per channel.
    BandwidthTable ring_ll128_max_gbps, tree_ll128_max_gbps, tree_max_gbps, nvls_tree_max_gbps;
};

struct NcclVersion {
    int major = 2, minor = 30, patch = 7;
    friend auto operator<=>(NcclVersion const&, NcclVersion const&) = default;
};

/// "2.30.7", "v2.27.5-1", "2.28" (patch 0); not before 2.18 or of another major version.
[[nodiscard]] Result<NcclVersion> parse_nccl_version(std::string_view text);
[[nodiscard]] std::string describe(NcclVersion const& version);  // "2.30.7"

/// Differences between versions: Tree's latency with Simple, NVLSTree's over the network. All
/// versions use the Blackwell rows of 2.30.7.
[[nodiscard]] NcclConstants nccl_constants(NcclVersion version = {});

}  // namespace osora::topology
