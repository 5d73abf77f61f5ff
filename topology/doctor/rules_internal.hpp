// Private to topology/doctor: helpers of the rules, and the rules by topic.
#pragma once

#include "topology/doctor/rule.hpp"
#include "topology/doctor/versions.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::topology::doctor {

[[nodiscard]] inline Outcome skip(std::string reason) {
    return {{}, std::move(reason)};
}

/// The setting that takes effect; nullptr: not set, or empty.
[[nodiscard]] InheritedSetting const* setting(NodeEvidence const& node, std::string_view name);
/// Its value as a number.
[[nodiscard]] std::optional<long> number_of(NodeEvidence const& node, std::string_view name);
/// "" when it is not known.
[[nodiscard]] std::string version_of(NodeEvidence const& node, std::string const& name);

[[nodiscard]] bool has_gpus(NodeEvidence const& node);
[[nodiscard]] bool is_rdma(Nic const& nic);
/// RDMA ports of a node that are up.
[[nodiscard]] std::vector<Nic const*> rdma_up(NodeEvidence const& node);
/// The ports among these that ranks should use: with InfiniBand present, Ethernet is for storage
/// and control; then those within a tenth of the fastest rate.
[[nodiscard]] std::vector<Nic const*> compute_nics(NodeEvidence const& node);
/// GPUs whose memory a NIC can access: not GeForce, not those that share the host's memory.
[[nodiscard]] bool can_do_gdr(NodeEvidence const& node);
[[nodiscard]] bool any_machine(Evidence const& evidence);
[[nodiscard]] bool any_log(Evidence const& evidence);
/// Whether more than one node takes part: in the evidence, the run or the probe.
[[nodiscard]] bool many_nodes(Evidence const& evidence);

/// The probe's score of a node; nullptr: it was not probed.
[[nodiscard]] NodeScore const* score_of(Evidence const& evidence, std::string const& node);
/// "; pair bandwidth 0.31 of the median" for a node that is slower than most, else "".
[[nodiscard]] std::string bandwidth_note(Evidence const& evidence, std::string const& node);

/// Gbit/s of a PCIe link, after encoding.
[[nodiscard]] double pcie_gbit(double gt_s, int width);
/// "gen3 x8"
[[nodiscard]] std::string pcie_text(double gt_s, int width);
/// A pattern in NCCL's syntax for interfaces and HCAs: "^" all but, "=" exact names, commas.
struct NameFilter {
    bool exclude = false, exact = false;
    std::vector<std::string> names;  // without the part after ':'
    [[nodiscard]] bool matches(std::string_view name) const;
};
[[nodiscard]] NameFilter parse_filter(std::string_view text);

/// The most common value; nullopt unless it has more than half of at least three, or all of two.
template <class T>
[[nodiscard]] std::optional<T> majority(std::vector<T> const& values) {
    for (T const& each : values) {
        auto const count = static_cast<std::size_t>(std::count(values.begin(), values.end(), each));
        if (count * 2 > values.size() && count > 1) return each;
    }
    return {};
}

/// Whether some node has this problem in its log.
[[nodiscard]] bool any_trouble(Evidence const& evidence, LogTrouble trouble);
/// Adds a finding for every node with this problem in its log.
void find_trouble(Outcome& outcome, Evidence const& evidence, LogTrouble trouble,
                  Finding const& finding);

// rules_fabric.cpp
Outcome check_network(Evidence const& evidence);
Outcome check_cross_rail(Evidence const& evidence);
Outcome check_efa(Evidence const& evidence);
Outcome check_gid(Evidence const& evidence);
Outcome check_queue_pairs(Evidence const& evidence);
// rules_interface.cpp
Outcome check_interface(Evidence const& evidence);
Outcome check_mtu(Evidence const& evidence);
// rules_counters.cpp
Outcome check_roce_loss(Evidence const& evidence);
Outcome check_traffic_class(Evidence const& evidence);
Outcome check_link_errors(Evidence const& evidence);
// rules_nics.cpp
Outcome check_nic_use(Evidence const& evidence);
Outcome check_hca_setting(Evidence const& evidence);
Outcome check_missing_nic(Evidence const& evidence);
Outcome check_missing_gpu(Evidence const& evidence);
Outcome check_downgrade(Evidence const& evidence);  // rules_links.cpp
// rules_gpu.cpp, rules_peer.cpp
Outcome check_gdr(Evidence const& evidence);
Outcome check_gdr_distance(Evidence const& evidence);
Outcome check_acs(Evidence const& evidence);
Outcome check_topology(Evidence const& evidence);
Outcome check_peer_access(Evidence const& evidence);
Outcome check_iommu(Evidence const& evidence);
Outcome check_nvls(Evidence const& evidence);
Outcome check_mnnvl(Evidence const& evidence);
Outcome check_gpu_health(Evidence const& evidence);
Outcome check_clocks(Evidence const& evidence);
// rules_host.cpp
Outcome check_cpus(Evidence const& evidence);
Outcome check_rank_cpus(Evidence const& evidence);
Outcome check_shm(Evidence const& evidence);
Outcome check_memlock(Evidence const& evidence);
Outcome check_open_files(Evidence const& evidence);
// rules_settings.cpp
Outcome check_inherited(Evidence const& evidence);
Outcome check_settings_differ(Evidence const& evidence);
Outcome check_named_files(Evidence const& evidence);
Outcome check_forced_choice(Evidence const& evidence);
Outcome check_sockets(Evidence const& evidence);
// rules_versions.cpp
Outcome check_mixed_versions(Evidence const& evidence);
Outcome check_known_troubles(Evidence const& evidence);
Outcome check_driver(Evidence const& evidence);
Outcome check_combination(Evidence const& evidence);
// rules_probe.cpp
Outcome check_pairs(Evidence const& evidence);
Outcome check_oversubscribed(Evidence const& evidence);
Outcome check_two_modes(Evidence const& evidence);
Outcome check_nccl_against_wire(Evidence const& evidence);
Outcome check_storage(Evidence const& evidence);
// rules_collectives.cpp
Outcome check_size_dip(Evidence const& evidence);
Outcome check_busbw(Evidence const& evidence);
// rules_run.cpp
Outcome check_small_collectives(Evidence const& evidence);
Outcome check_straggler(Evidence const& evidence);
Outcome check_requeue(Evidence const& evidence);
// rules_log.cpp, rules_watchdog.cpp
Outcome check_gpu_use(Evidence const& evidence);
Outcome check_warnings(Evidence const& evidence);
Outcome check_collective_timeout(Evidence const& evidence);

}  // namespace osora::topology::doctor
