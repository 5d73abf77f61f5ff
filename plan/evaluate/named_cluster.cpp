// Takes the largest group of equal nodes in the topology, then the options beside it; the rest is
// left out.
#include "plan/evaluate/named_cluster.hpp"

#include "base/text/text.hpp"
#include "plan/layout/divisibility.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace osora::plan {
namespace {

using topology::Machine;
using topology::Nic;

constexpr int kUsualGpus = 8, kUsualGpusOfDomain = 4;  // GPUs per node; NVL72 has trays of 4
constexpr int kUsualCores = 8;                         // of a GPU

/// Equal nodes of a topology; without any, the topology has only host names.
struct NodeGroup {
    std::vector<Machine const*> members;
    int nodes = 0;  // including those that only the fabric names
    int others = 0;
    [[nodiscard]] Machine const* first() const {
        return members.empty() ? nullptr : members.front();
    }
    [[nodiscard]] int gpus() const {
        return members.empty() ? 0 : static_cast<int>(first()->gpus.size());
    }
};

int hosts_of(topology::Fabric const& fabric) {
    std::set<std::string> names;
    for (auto const& each : fabric.switches) names.insert(each.nodes.begin(), each.nodes.end());
    for (auto const& each : fabric.blocks) names.insert(each.nodes.begin(), each.nodes.end());
    return static_cast<int>(names.size());
}

NodeGroup largest_group(topology::ClusterTopology const& topology) {
    std::map<std::pair<std::size_t, std::string>, std::vector<Machine const*>> groups;
    for (Machine const& each : topology.machines) {
        if (each.gpus.empty()) continue;
        groups[{each.gpus.size(), each.gpus.front().name}].push_back(&each);
    }
    NodeGroup largest;
    for (auto const& [kind, members] : groups) {
        if (members.size() > largest.members.size()) largest.members = members;
    }
    int const known = static_cast<int>(topology.machines.size());
    int const equal = static_cast<int>(largest.members.size());
    largest.others = known - equal;
    largest.nodes = std::max(equal, hosts_of(topology.fabric) - largest.others);
    return largest;
}

Error wrong(std::string text) {
    return {Errc::invalid_input, std::move(text)};
}

/// Checks --nodes and --gpus-per-node against --gpus.
Result<void> check_product(ClusterRequest const& request) {
    if (request.nodes && request.gpus_per_node) {
        auto const product = std::int64_t{*request.nodes} * *request.gpus_per_node;
        if (product == request.gpus) return {};
        return wrong(
            fmt::format("--gpus {}: --nodes {} x --gpus-per-node {} are {}; nearest "
                        "valid: {}",
                        request.gpus, *request.nodes, *request.gpus_per_node, product, product));
    }
    for (auto const& [name, value] :
         {std::pair("--nodes", request.nodes), {"--gpus-per-node", request.gpus_per_node}}) {
        if (!value || request.gpus % *value == 0) continue;
        return wrong(fmt::format("--gpus {}: does not divide by {} {}; nearest valid: {}",
                                 request.gpus, name, *value,
                                 fmt::join(nearest_multiples(*value, request.gpus), ", ")));
    }
    return {};
}

int gpus_of_node(ClusterRequest const& request, int usual) {
    if (request.gpus_per_node) return *request.gpus_per_node;
    if (request.nodes) return request.gpus / *request.nodes;
    return std::min(usual, request.gpus);
}

/// The shape with `usual` GPUs per node.
Result<void> divide(ClusterRequest const& request, std::string const& whose, int usual,
                    GpuNodes& into) {
    into.gpus_per_node = gpus_of_node(request, usual);
    if (request.gpus % into.gpus_per_node != 0) {
        return wrong(
            fmt::format("--gpus {}: {} {} each; nearest valid: {}", request.gpus, whose,
                        counted(into.gpus_per_node, "GPU"),
                        fmt::join(nearest_multiples(into.gpus_per_node, request.gpus), ", ")));
    }
    into.nodes = request.gpus / into.gpus_per_node;
    return {};
}

/// Whether the topology has that many nodes with that many GPUs each.
Result<void> check_room(ClusterRequest const& request, NodeGroup const& group,
                        GpuNodes const& wanted) {
    if (group.gpus() > 0 && wanted.gpus_per_node > group.gpus()) {
        return wrong(
            fmt::format("--gpus {}: {} on each of {}, but those of {} have {}; nearest "
                        "valid: {} on each",
                        request.gpus, wanted.gpus_per_node, counted(wanted.nodes, "node"),
                        request.source, group.gpus(), group.gpus()));
    }
    // A single node represents as many similar ones as --nodes says.
    bool const sample = group.nodes == 1 && request.nodes.has_value();
    if (wanted.nodes <= group.nodes || sample) return {};
    std::string const more =
        group.nodes == 1
            ? fmt::format("; --nodes {} plans for so many nodes like that one", wanted.nodes)
            : "";
    return wrong(fmt::format(
        "--gpus {}: needs {} of {}, {} has {}; nearest valid: {}{}", request.gpus,
        counted(wanted.nodes, "node"), counted(wanted.gpus_per_node, "GPU"), request.source,
        counted(group.nodes, "such node"), std::int64_t{group.nodes} * wanted.gpus_per_node, more));
}

Result<void> take_gpu(ClusterRequest const& request, NodeGroup const& group,
                      HardwareTable const& hardware, NamedCluster& into) {
    std::string const known = group.first() == nullptr ? "" : group.first()->gpus.front().name;
    std::string const name = request.gpu.value_or(known);
    if (name.empty()) {
        return wrong(
            fmt::format("{}: names no model of GPU; --gpu says which, as in --gpu "
                        "h100-80g-sxm",
                        request.source.empty() ? "--gpus" : request.source));
    }
    auto found = hardware.find(name);
    if (found.has_error() || found->name == "cpu") {
        std::string const why =
            found.has_error() ? found.error().message : "is no GPU; without --gpu this machine's";
        return Error{Errc::not_found,
                     request.gpu ? "--gpu: " + why
                                 : request.source + ": its GPU " + why + "; --gpu names one"};
    }
    into.gpus.gpu = std::move(*found);
    if (into.gpus.gpu.bf16 == 0) {
        into.taken.push_back(into.gpus.gpu.name +
                             " has no units for bf16: fp16, unless optim.precision says otherwise");
    }
    auto const same = known.empty() ? Result<Hardware>(into.gpus.gpu) : hardware.find(known);
    if (same.has_value() && same->name == into.gpus.gpu.name) {
        into.memory_bytes = known.empty() ? 0 : group.first()->gpus.front().memory_bytes;
    } else {
        into.taken.push_back(fmt::format("{} in the place of the {} that {} names: --gpu",
                                         into.gpus.gpu.name, known, request.source));
    }
    return {};
}

/// The fastest cards, at most one per GPU: RDMA devices, else one network interface; Gbit/s.
double cards_gbit(Machine const& machine, std::size_t gpus) {
    std::vector<double> rdma;
    double interface = 0;
    bool const any_up = std::ranges::any_of(machine.nics, &Nic::up);
    for (Nic const& each : machine.nics) {
        if (each.rate_gbit <= 0 || (any_up && !each.up)) continue;
        if (!each.device.empty()) {
            rdma.push_back(each.rate_gbit);
        } else if (!each.address.empty()) {
            interface = std::max(interface, each.rate_gbit);
        }
    }
    std::ranges::sort(rdma, std::greater{});
    rdma.resize(std::min(rdma.size(), gpus));
    double sum = 0;
    for (double const each : rdma) sum += each;
    return rdma.empty() ? interface : sum;
}

void take_cards(ClusterRequest const& request, NodeGroup const& group, NamedCluster& into) {
    GpuNodes& gpus = into.gpus;
    if (gpus.nodes < 2) return;
    if (request.nic_gbit) {
        gpus.nic_gbit_per_gpu = *request.nic_gbit;
        return;
    }
    if (group.first() == nullptr) return;
    auto const share = static_cast<std::size_t>(gpus.gpus_per_node);
    gpus.nic_gbit_per_gpu =
        cards_gbit(*group.first(), share) / static_cast<double>(gpus.gpus_per_node);
    if (gpus.nic_gbit_per_gpu > 0) {
        into.taken.push_back(fmt::format("cards of {:g} Gbit/s a GPU, as {} has them",
                                         gpus.nic_gbit_per_gpu, request.source));
    }
}

void take_node(NodeGroup const& group, NamedCluster& into) {
    Machine const* const first = group.first();
    into.node.name = first == nullptr ? "" : first->name;
    into.node.memory_bytes = first == nullptr ? 0 : first->memory_bytes;
    into.node.cores = first == nullptr ? 0 : first->cores;
    if (into.node.cores > 0) return;
    into.node.cores = kUsualCores * into.gpus.gpus_per_node;
    into.taken.push_back(
        fmt::format("{} a GPU: cores of a node are not known", counted(kUsualCores, "core")));
}

}  // namespace

Result<NamedCluster> named_cluster(ClusterRequest const& request, HardwareTable const& hardware) {
    OSORA_TRY_VOID(check_product(request));
    NodeGroup const group = largest_group(request.topology);
    NamedCluster cluster;
    OSORA_TRY_VOID(take_gpu(request, group, hardware, cluster));
    bool const by_options = request.nodes.has_value() || request.gpus_per_node.has_value();
    if (group.gpus() > 0) {
        OSORA_TRY_VOID(
            divide(request, "nodes of " + request.source + " have", group.gpus(), cluster.gpus));
    } else {
        int const usual = cluster.gpus.gpu.domain_gpus > 0 ? kUsualGpusOfDomain : kUsualGpus;
        OSORA_TRY_VOID(divide(request, "without --gpus-per-node nodes have", usual, cluster.gpus));
        if (!by_options) {
            cluster.taken.push_back(
                fmt::format("nodes of {}: --gpus-per-node and --nodes say otherwise",
                            counted(cluster.gpus.gpus_per_node, "GPU")));
        }
    }
    if (group.nodes > 0) OSORA_TRY_VOID(check_room(request, group, cluster.gpus));
    if (!group.members.empty() && group.others > 0) {
        cluster.taken.push_back(fmt::format("the {} of {} with {} each; {} left out",
                                            counted(group.nodes, "node"), request.source,
                                            counted(group.gpus(), "GPU"), group.others));
    }
    take_cards(request, group, cluster);
    take_node(group, cluster);
    return cluster;
}

}  // namespace osora::plan
