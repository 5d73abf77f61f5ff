// Each rank has a home NUMA node. A node's cores are divided into even, contiguous pieces for the
// ranks at home there; a rank that got less than its share takes what others left.
#include "topology/core_binding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace osora::topology {
namespace {

struct BindingNode {  // a NUMA node
    std::vector<std::size_t> cores;
    std::vector<int> ranks;  // at home here
    int package = 0;
};
using BindingNodes = std::map<int, BindingNode>;  // by NUMA node

struct Share {
    std::size_t due = 0;             // cores
    std::size_t wanted = 0;          // its share, on any node
    std::vector<std::size_t> cores;  // taken
    int home = 0;
};

BindingNodes places_of(std::vector<Core> const& cores) {
    BindingNodes places;
    for (std::size_t i = 0; i < cores.size(); ++i) {
        places[cores[i].numa].cores.push_back(i);
        places[cores[i].numa].package = cores[i].package;
    }
    return places;
}

bool touches(std::vector<Core> const& cores, BindingNode const& place,
             std::vector<int> const& cpus) {
    return std::ranges::any_of(place.cores, [&](std::size_t i) {
        return std::ranges::any_of(
            cores[i].cpus, [&](int cpu) { return std::ranges::find(cpus, cpu) != cpus.end(); });
    });
}

/// Of the nodes near `near`, the one with the most room. -1: none, or all NUMA nodes are near.
int home_near(std::vector<Core> const& cores, BindingNodes const& places,
              std::vector<int> const& near) {
    int home = -1;
    double most = -1;
    std::size_t touched = 0;
    for (auto const& [numa, place] : places) {
        if (!touches(cores, place, near)) continue;
        ++touched;
        double const room =
            static_cast<double>(place.cores.size()) / static_cast<double>(place.ranks.size() + 1);
        if (room <= most) continue;
        home = numa;
        most = room;
    }
    return touched < places.size() ? home : -1;
}

void settle(std::vector<Core> const& cores, BindingNodes& places, std::vector<Share>& shares,
            BindingRequest const& request) {
    for (std::size_t rank = 0; rank < shares.size(); ++rank) {
        Share& share = shares[rank];
        share.wanted = share.due;
        share.home = -1;
        if (rank < request.near.size()) {
            share.home = home_near(cores, places, request.near[rank]);
        }
        if (share.home < 0) {
            share.home = cores[rank * cores.size() / shares.size()].numa;
        } else if (request.cpus_per_rank > 0) {
            auto const per_core = cores.front().cpus.size();
            auto const needed = static_cast<std::size_t>(request.cpus_per_rank) + per_core - 1;
            share.wanted = std::min(share.due, needed / per_core);
        }
        places[share.home].ranks.push_back(static_cast<int>(rank));
    }
}

/// Divides a node's cores among the ranks at home; returns what is left.
std::vector<std::size_t> cut(BindingNode const& place, std::vector<Share>& shares, bool room) {
    std::size_t const ranks = place.ranks.size();
    std::size_t const count = place.cores.size();
    std::vector<std::size_t> left;
    std::size_t next = 0;
    for (std::size_t i = 0; i < ranks; ++i) {
        Share& share = shares[static_cast<std::size_t>(place.ranks[i])];
        std::size_t const piece = (i + 1) * count / ranks - i * count / ranks;
        std::size_t const take = std::min(piece, share.due + (room ? 1 : 0));
        for (std::size_t k = 0; k < take; ++k) share.cores.push_back(place.cores[next++]);
    }
    for (; next < count; ++next) left.push_back(place.cores[next]);
    return left;
}

/// Gives `share` the cores that it still needs, from its own package first.
void fill(Share& share, std::vector<Core> const& cores, int package,
          std::vector<std::size_t>& left) {
    std::ranges::stable_sort(left, {}, [&](std::size_t i) { return cores[i].package != package; });
    std::size_t const taken = std::min(share.wanted - share.cores.size(), left.size());
    auto const end = left.begin() + static_cast<std::ptrdiff_t>(taken);
    share.cores.insert(share.cores.end(), left.begin(), end);
    left.erase(left.begin(), end);
}

std::string reason_not_to(std::vector<Core> const& cores, BindingRequest const& request) {
    auto const ranks = static_cast<std::size_t>(std::max(request.ranks, 1));
    if (cores.empty()) return "the cores are not known";
    if (cores.size() < ranks) return fmt::format("{} ranks, {} cores", ranks, cores.size());
    std::size_t cpus = 0;
    for (Core const& core : cores) cpus += core.cpus.size();
    if (cpus / ranks < static_cast<std::size_t>(std::max(request.cpus_per_rank, 0))) {
        return fmt::format("{} CPUs for each of {} ranks, {} CPUs", request.cpus_per_rank, ranks,
                           cpus);
    }
    return "";
}

}  // namespace

CoreBinding bind_ranks(std::vector<Core> const& cores, BindingRequest const& request) {
    CoreBinding binding;
    binding.reason = reason_not_to(cores, request);
    if (!binding.reason.empty() || request.ranks < 1) return binding;
    auto const ranks = static_cast<std::size_t>(request.ranks);
    std::vector<Share> shares(ranks);
    for (Share& each : shares) each.due = cores.size() / ranks;
    BindingNodes places = places_of(cores);
    settle(cores, places, shares, request);
    bool const room = std::ranges::all_of(places, [&](auto const& each) {
        return each.second.cores.size() >= each.second.ranks.size() * (cores.size() / ranks);
    });
    std::vector<std::size_t> left;
    for (auto const& [numa, place] : places) {
        auto const more = cut(place, shares, room);
        left.insert(left.end(), more.begin(), more.end());
    }
    for (Share& each : shares) {
        if (each.cores.size() < each.wanted) fill(each, cores, places[each.home].package, left);
        auto& cpus = binding.cpus.emplace_back();
        for (std::size_t const core : each.cores) {
            cpus.insert(cpus.end(), cores[core].cpus.begin(), cores[core].cpus.end());
        }
        std::ranges::sort(cpus);
    }
    return binding;
}

}  // namespace osora::topology
