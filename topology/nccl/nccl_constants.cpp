#include "topology/nccl/nccl_constants.hpp"

#include "topology/nccl/nccl_catalogue.hpp"

#include <fmt/format.h>

namespace osora::topology {
namespace {

constexpr std::array<std::string_view, kNcclAlgos> kAlgos{
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
constexpr std::array<std::string_view, kNcclProtos> kProtos{"LL", "LL128", "Simple"};

// Rows by algorithm in the order of kAlgos, columns LL, LL128, Simple; 0: not used.
constexpr ByAlgo kBase{{{6.8, 14.0, 8.4},
                        {6.6, 14.0, 8.4},
                        {0, 0, 0},
                        {0, 0, 0},
                        {0, 0, 0},
                        {0, 0, 0},
                        {8.0, 8.0, 8.0}}};
constexpr ByAlgo kNvlink{{{0.6, 1.25, 4.0},
                          {0.6, 1.9, 3.4},
                          {0, 0, 3.7},
                          {0, 0, 2.8},
                          {0, 0, 25},
                          {0, 0, 25},
                          {0, 0, 4.0}}};
constexpr ByAlgo kPci{{{1.0, 1.9, 4.0},
                       {1.0, 2.5, 5.7},
                       {0, 0, 3.7},
                       {0, 0, 2.8},
                       {0, 0, 0},
                       {0, 0, 0},
                       {0, 0, 4.0}}};
constexpr ByAlgo kNet{
    {{5.0, 8.5, 14}, {2.7, 4.0, 14}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}}};
constexpr BandwidthTable kLlMax{{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
constexpr BandwidthTable kRingLl128{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}};
constexpr BandwidthTable kTreeLl128{
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
constexpr BandwidthTable kTree{
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
constexpr BandwidthTable kNvlsTree{
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}};

constexpr std::size_t kSimple = 2;
double& tree_simple(ByAlgo& table) {
    return table[static_cast<std::size_t>(NcclAlgo::tree)][kSimple];
}

}  // namespace

std::string_view algo_name(NcclAlgo algo) {
    return kAlgos[static_cast<std::size_t>(algo)];
}
std::string_view proto_name(NcclProto proto) {
    return kProtos[static_cast<std::size_t>(proto)];
}

Result<NcclVersion> parse_nccl_version(std::string_view text) {
    auto const bad = [&](std::string_view why) {
        return Error{
            Errc::invalid_input,
            fmt::format("NCCL version '{:.40}': {}; valid: 2.18 to 2.x, as 2.30.7", text, why)};
    };
    auto const code = nccl_version_code(text.starts_with('v') ? text.substr(1) : text);
    if (!code) return bad("not MAJOR.MINOR.PATCH");
    NcclVersion const version{*code / 10'000, *code / 100 % 100, *code % 100};
    if (version.major != 2 || version.minor < 18) return bad("no constants are known");
    return version;
}

std::string describe(NcclVersion const& version) {
    return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

NcclConstants nccl_constants(NcclVersion version) {
    NcclConstants constants{kBase,    {kNvlink, kPci, kNet}, kLlMax, kRingLl128, kTreeLl128, kTree,
                            kNvlsTree};
    auto& [nvlink, pci, net] = constants.hardware_latency_us;
    if (version < NcclVersion{2, 20, 0}) {
        tree_simple(pci) = 6;
    } else if (version < NcclVersion{2, 23, 0}) {
        tree_simple(nvlink) = tree_simple(pci) = tree_simple(net) = 28;
    }
    double& nvls_tree = net[static_cast<std::size_t>(NcclAlgo::nvls_tree)][kSimple];
    if (version < NcclVersion{2, 19, 0}) {
        nvls_tree = 19;
    } else if (version < NcclVersion{2, 28, 9}) {
        nvls_tree = 14;
    }
    return constants;
}

}  // namespace osora::topology
