#include "topology/collectives/collective.hpp"

#include "base/text/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace osora::topology {
namespace {

struct Names {
    std::string_view own, plain, nccl;
};
// By number of the enum.
constexpr std::array<Names, 9> kNames{{{"broadcast", "broadcast", "Broadcast"},
                                       {"reduce", "reduce", "Reduce"},
                                       {"all_gather", "allgather", "AllGather"},
                                       {"reduce_scatter", "reducescatter", "ReduceScatter"},
                                       {"all_reduce", "allreduce", "AllReduce"},
                                       {"all_to_all", "alltoall", "AllToAll"},
                                       {"send_recv", "sendrecv", "SendRecv"},
                                       {"gather", "gather", "Gather"},
                                       {"scatter", "scatter", "Scatter"}}};
constexpr int kRanksMax = 1 << 20;

Names const& names_of(Collective collective) {
    return kNames[static_cast<std::size_t>(collective)];
}

/// Lower case without separators and without nccl-tests' "_perf".
std::string plain_name(std::string_view name) {
    std::string plain;
    for (char const c : name) {
        if (c == '_' || c == '-' || c == ' ') continue;
        plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    if (plain.size() > 4 && plain.ends_with("perf")) plain.resize(plain.size() - 4);
    return plain;
}

/// Bytes of a unit in lower case; 0: there is no such unit.
double unit_bytes(std::string_view unit) {
    if (unit.empty() || unit == "b") return 1;
    if (unit.size() > 1 && unit != "kib" && unit != "mib" && unit != "gib" && unit != "tib" &&
        !(unit.size() == 2 && unit[1] == 'b')) {
        return 0;
    }
    std::size_t const power = std::string_view("kmgt").find(unit[0]);
    if (power == std::string_view::npos) return 0;
    return std::pow(1024.0, static_cast<double>(power + 1));
}

}  // namespace

Result<Collective> parse_collective(std::string_view name) {
    std::string const plain = plain_name(name);
    std::array<std::string_view, kNames.size()> known;
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        if (plain == kNames[i].plain) return static_cast<Collective>(i);
        known[i] = kNames[i].plain;
    }
    std::string hint = "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, ...";
    if (auto const nearest = nearest_name(plain, known)) {
        hint = names_of(*parse_collective(*nearest)).own;
    }
    return Error{Errc::invalid_input,
                 fmt::format("unknown collective '{:.40}'; nearest: {}", name, hint)};
}

std::string_view collective_name(Collective collective) {
    return names_of(collective).own;
}
std::string_view nccl_name(Collective collective) {
    return names_of(collective).nccl;
}

double bus_factor(Collective collective, int ranks) {
    double const others = ranks > 1 ? (ranks - 1.0) / ranks : 1.0;
    switch (collective) {
        case Collective::all_reduce:
            return 2 * others;
        case Collective::all_gather:
        case Collective::reduce_scatter:
        case Collective::all_to_all:
        case Collective::gather:
        case Collective::scatter:
            return others;
        default:
            return 1;
    }
}

int ring_steps(Collective collective, int ranks) {
    switch (collective) {
        case Collective::all_reduce:
            return std::max(2 * (ranks - 1), 1);
        case Collective::broadcast:
        case Collective::reduce:
            return ranks;
        case Collective::send_recv:
            return 1;
        default:
            return std::max(ranks - 1, 1);
    }
}

Result<void> check_shape(GroupShape const& shape) {
    if (shape.ranks < 1 || shape.ranks > kRanksMax) {
        return Error{Errc::invalid_input,
                     fmt::format("{} ranks: not in 1 to {}", shape.ranks, kRanksMax)};
    }
    if (shape.nodes < 1 || shape.nodes > shape.ranks) {
        return Error{Errc::invalid_input, fmt::format("{} nodes for {} ranks: not in 1 to {}",
                                                      shape.nodes, shape.ranks, shape.ranks)};
    }
    return {};
}

std::string describe(GroupShape const& shape) {
    return fmt::format("{} rank{} on {} node{}", shape.ranks, shape.ranks == 1 ? "" : "s",
                       shape.nodes, shape.nodes == 1 ? "" : "s");
}

Result<std::int64_t> parse_size_bytes(std::string_view text) {
    double number = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    std::string unit(end, text.data() + text.size());
    std::erase(unit, ' ');
    std::ranges::transform(unit, unit.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    double const bytes = number * unit_bytes(unit);
    constexpr double kMost = 1e15;
    if (error != std::errc() || !(bytes >= 1) || bytes > kMost) {
        return Error{Errc::invalid_input,
                     fmt::format("'{:.40}' is no size; valid: 4096, 1M, 32MiB, 1.5GiB", text)};
    }
    return static_cast<std::int64_t>(std::llround(bytes));
}

}  // namespace osora::topology
