// Settings that only a measurement can decide: class J, and pairs. Each row says when it applies.
#include "plan/nccl/nccl_advice_parts.hpp"

#include <algorithm>

namespace osora::plan {
namespace {

using List = std::vector<SettingCandidate>;

void socket_candidates(AdviceContext const& context, List& list) {
    std::string const when = "sockets carry the data: no node has RDMA";
    list.push_back({"NCCL_NSOCKS_PERTHREAD",
                    {"2", "4", "8"},
                    {},
                    "one TCP connection is often slower than the wire; too many are slower again "
                    "(nccl#450)",
                    when});
    list.push_back({"NCCL_SOCKET_NTHREADS",
                    {"2", "4"},
                    {{"NCCL_NSOCKS_PERTHREAD", "4"}},
                    "NVIDIA's guide names 4 x 4 for 100 Gbit/s; each thread takes a core",
                    when});
    auto const& interfaces = context.interfaces;
    if (interfaces.equals.empty() || interfaces.nodes.empty()) return;
    std::string value = "=" + interfaces.nodes.front().interface;
    for (std::string const& each : interfaces.equals) value += "," + each;
    list.push_back({"NCCL_SOCKET_IFNAME",
                    {value},
                    {},
                    "networks as fast as the chosen one, used together",
                    "every node has these interfaces, under the same names"});
}

void rdma_candidates(AdviceContext const& context, List& list) {
    auto const& nodes = context.hcas.nodes;
    bool const roce = std::ranges::any_of(
        nodes, [](NodeHcas const& each) { return each.kind == topology::NicKind::roce; });
    bool const several =
        std::ranges::all_of(nodes, [](NodeHcas const& each) { return each.devices.size() > 1; });
    if (roce) {
        list.push_back({"NCCL_IB_QPS_PER_CONNECTION",
                        {"2", "4"},
                        {},
                        "more flows for ECMP to spread (nccl#1015)",
                        "RoCE through switches with several paths, or bonded ports"});
        list.push_back({"NCCL_IB_SPLIT_DATA_ON_QPS",
                        {"1"},
                        {{"NCCL_IB_QPS_PER_CONNECTION", "4"}},
                        "each message over all queue pairs, instead of going round (nccl#1401)",
                        "with several queue pairs"});
    }
    if (several && !context.hcas.rails) {
        list.push_back({"NCCL_CROSS_NIC",
                        {"0", "1"},
                        {},
                        "0 keeps traffic on its rail, 1 uses every NIC; NCCL cannot see which the "
                        "fabric wants",
                        "several NICs a node; 1 only where every NIC reaches every other"});
    }
    if (std::ranges::any_of(nodes, &NodeHcas::far_from_gpu)) {
        list.push_back({"NCCL_NET_GDR_LEVEL",
                        {"PHB", "SYS"},
                        {},
                        "GPUDirect although no NIC is below the GPU's PCIe switch (nccl#1151)",
                        "a GPU without a NIC near it; across CPUs it can be slower"});
    }
    if (!context.virtual_nodes.empty()) {
        list.push_back({"NCCL_IB_PCI_RELAXED_ORDERING",
                        {"1"},
                        {},
                        "27 became 48 GB/s in virtual machines (nccl#949)",
                        "virtual machines with ACS and ATS"});
    }
    bool const nvlink = std::ranges::any_of(context.in.machines, [](auto const& machine) {
        return machine.nvswitch || std::ranges::any_of(machine.gpus, [](auto const& gpu) {
                   return !gpu.nvlinks.empty();
               });
    });
    if (several && nvlink) {
        list.push_back({"NCCL_PXN_DISABLE",
                        {"1"},
                        {},
                        "some versions are faster without the way over NVLink to the rail's NIC "
                        "(nccl#1876)",
                        "NVLink and several NICs a node"});
    }
}

void engine_candidates(AdviceContext const& context, List& list) {
    list.push_back({"NCCL_MAX_CTAS",
                    {"4", "8", "16"},
                    {},
                    "fewer channels leave SMs to the computation that they overlap with",
                    "communication overlaps with computing"});
    list.push_back({"NCCL_MIN_CTAS",
                    {"16", "32"},
                    {},
                    "more channels move more bytes at once",
                    "communication is exposed"});
    list.push_back({"NCCL_BUFFSIZE",
                    {"8388608"},
                    {},
                    "fewer, larger steps; takes GPU memory for each channel and peer",
                    "large messages"});
    list.push_back({"NCCL_P2P_NET_CHUNKSIZE",
                    {"262144", "524288"},
                    {},
                    "larger messages of send, receive and all_to_all over the network",
                    "pipeline stages, or sequence parallelism between nodes"});
    if (context.in.nccl_version >= 22900) {
        list.push_back({"NCCL_CHUNK_SIZE",
                        {"1048576"},
                        {},
                        "each chunk costs 10 us on some NICs (nccl#2409)",
                        "the wire is fast and NCCL is not"});
    }
    if (context.in.nccl_version >= 22400) {
        list.push_back({"NCCL_ALGO",
                        {"allreduce:^tree"},
                        {},
                        "ring against tree at medium sizes: 190 against 150 GB/s (nccl#1368)",
                        "several nodes"});
    }
}

}  // namespace

std::vector<SettingCandidate> candidates_of(AdviceContext const& context) {
    List list;
    if (!context.in.gpu || context.in.nodes < 2) return list;
    if (context.is_sockets_only()) socket_candidates(context, list);
    if (!context.hcas.nodes.empty()) rdma_candidates(context, list);
    engine_candidates(context, list);
    std::erase_if(list, [&](SettingCandidate const& each) {
        return context.in.own.contains(each.name) ||
               std::ranges::any_of(each.with, [&](auto const& pair) {
                   auto const own = context.in.own.find(pair.first);
                   return own != context.in.own.end() && own->second.value != pair.second;
               });
    });
    return list;
}

}  // namespace osora::plan
