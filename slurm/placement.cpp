#include "slurm/placement.hpp"

#include "base/check.hpp"
#include "base/host_name.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::slurm {

Placement::Placement(PlacementOptions options)
    : hosts_(std::move(options.hosts)), of_node_(static_cast<std::size_t>(options.nodes)) {
    for (std::string const& host : hosts_) {
        if (names_host(options.excluded, host)) faults_[host] = kBad;
    }
    for (std::size_t node = 0; node < of_node_.size() && node < options.last.size(); ++node) {
        auto const found = std::ranges::find_if(hosts_, [&](std::string const& host) {
            return is_same_host(host, options.last[node]);
        });
        if (found != hosts_.end()) of_node_[node] = *found;
    }
}

Result<std::string> Placement::place(int node) {
    OSORA_CHECK(node >= 0 && node < static_cast<int>(of_node_.size()), "node of another run");
    std::string& mine = of_node_[static_cast<std::size_t>(node)];
    bool const is_usable = !mine.empty() && !is_bad(mine);
    if (is_usable && !doubtful_.contains(mine)) return mine;
    std::string const* found = free_host(false);
    if (found == nullptr && is_usable) return mine;
    if (found == nullptr) found = free_host(true);
    if (found == nullptr) {
        return Error{Errc::not_found,
                     fmt::format("node {}: no usable host is left of {} in the allocation{}", node,
                                 hosts_.size(), mine.empty() ? "" : "; " + mine + " has failed")};
    }
    mine = *found;
    return mine;
}

/// The first one that no node has.
std::string const* Placement::free_host(bool also_doubtful) const {
    auto const found = std::ranges::find_if(hosts_, [&](std::string const& host) {
        bool const is_good = !is_bad(host) && (also_doubtful || !doubtful_.contains(host));
        return is_good && std::ranges::find(of_node_, host) == of_node_.end();
    });
    return found == hosts_.end() ? nullptr : &*found;
}

std::string Placement::host_of(int node) const {
    auto const at = static_cast<std::size_t>(node);
    return at < of_node_.size() ? of_node_[at] : "";
}

void Placement::fault(std::string const& host, int weight) {
    if (!host.empty()) faults_[host] += weight;
}

bool Placement::is_bad(std::string const& host) const {
    auto const found = faults_.find(host);
    return found != faults_.end() && found->second >= kBad;
}

bool Placement::is_in_order() const {
    auto from = hosts_.begin();
    for (std::string const& host : of_node_) {
        from = std::find(from, hosts_.end(), host);
        if (from == hosts_.end()) return false;
        ++from;
    }
    return true;
}

int Placement::usable() const {
    return static_cast<int>(
        std::ranges::count_if(hosts_, [this](std::string const& host) { return !is_bad(host); }));
}

}  // namespace osora::slurm
