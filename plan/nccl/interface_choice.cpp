// A network is a subnet that every node has; if addresses are unknown, a common interface name.
#include "plan/nccl/interface_choice.hpp"

#include "base/robust.hpp"
#include "plan/few_names.hpp"
#include "topology/ip_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace osora::plan {
namespace {

using topology::Machine;
using topology::Nic;
using topology::ProbeResult;

constexpr double kFarFaster = 1.5;  // above this another card of the node is used
constexpr double kAsFast = 0.9;     // share of the best: worth trying together
constexpr double kSlow = 0.7;       // share of the median: below it a warning names the node

struct Option {
    std::string name;
    double rate_gbit = 0;
    std::optional<double> measured_gbit;
    std::vector<std::string> networks;
    bool doubtful = false;  // IP over InfiniBand may not be set up: no addresses are known

    [[nodiscard]] double gbit() const { return measured_gbit.value_or(rate_gbit); }
};
using Options = std::vector<Option>;  // of one node, by name

bool is_virtual(Nic const& nic) {
    constexpr std::array<std::string_view, 13> kNames{
        "lo",   "docker", "virbr",     "br-", "veth", "cni", "flannel",
        "cali", "kube",   "tailscale", "wg",  "tun",  "tap"};
    constexpr std::array<std::string_view, 5> kDrivers{"bridge", "tun", "dummy", "ifb",
                                                       "wireguard"};
    auto const starts = [&](std::string_view prefix) {
        return prefix == "lo" ? nic.interface == prefix : nic.interface.starts_with(prefix);
    };
    // A veth is real inside a container or a test bed, if it is the only kind there.
    return std::ranges::any_of(kNames, starts) ||
           std::ranges::find(kDrivers, nic.driver) != kDrivers.end();
}

bool is_positive(double value) {
    return std::isfinite(value) && value > 0;
}

Options options_of(Machine const& machine) {
    Options options;
    bool const addresses =
        std::ranges::any_of(machine.nics, [](Nic const& each) { return !each.addresses.empty(); });
    for (Nic const& nic : machine.nics) {
        if (nic.interface.empty() || !nic.up || is_virtual(nic)) continue;
        if (!nic.master.empty()) continue;  // the bond or bridge represents it
        Option option{nic.interface, is_positive(nic.rate_gbit) ? nic.rate_gbit : 0, {}, {}};
        option.doubtful = !addresses && nic.kind == topology::NicKind::infiniband;
        for (std::string const& address : nic.addresses) {
            if (auto network = topology::network_of(address); !network.empty()) {
                option.networks.push_back(std::move(network));
            }
        }
        if (addresses && option.networks.empty()) continue;
        bool const known = std::ranges::any_of(
            options, [&](Option const& each) { return each.name == option.name; });
        if (!known) options.push_back(std::move(option));
    }
    std::ranges::sort(options, {}, &Option::name);
    return options;
}

/// Gbit/s by node name and interface: medians over the samples of the largest size.
using Measured = std::map<std::pair<std::string, std::string>, double>;

Measured measured_by(ProbeResult const& probe) {
    struct Samples {
        std::int64_t size_bytes = 0;
        std::vector<double> gbit;
    };
    std::map<std::pair<std::string, std::string>, Samples> samples;
    for (auto const& each : probe.pairs) {
        bool const inside =
            each.from >= 0 && static_cast<std::size_t>(each.from) < probe.nodes.size();
        if (!inside || each.interface.empty() || each.size_bytes <= 0) continue;
        if (!is_positive(each.seconds)) continue;
        auto& of = samples[{probe.nodes[static_cast<std::size_t>(each.from)], each.interface}];
        if (each.size_bytes < of.size_bytes) continue;
        if (each.size_bytes > of.size_bytes) of = {each.size_bytes, {}};
        of.gbit.push_back(8e-9 * static_cast<double>(each.size_bytes) / each.seconds);
    }
    Measured found;
    for (auto& [key, each] : samples) found[key] = median(std::move(each.gbit));
    for (std::size_t i = 0; i < std::min(probe.scores.size(), probe.nodes.size()); ++i) {
        auto const& score = probe.scores[i];
        if (score.interface.empty() || !is_positive(score.gbit_s)) continue;
        found.emplace(std::pair{probe.nodes[i], score.interface}, score.gbit_s);
    }
    return found;
}

/// A network, with the index of each node's best option in it.
struct Network {
    std::vector<std::size_t> options;
    double measured_gbit = 0;  // median over the nodes with a rate; 0: too few
    double rate_gbit = 0;
    std::string name;  // of the first node's interface
};

std::vector<Network> networks_of_all(std::vector<Options> const& nodes, bool by_address) {
    struct Found {
        std::vector<std::size_t> options;
        std::size_t seen = 0;
    };
    std::unordered_map<std::string, Found> found;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
        for (std::size_t i = 0; i < nodes[node].size(); ++i) {
            Option const& option = nodes[node][i];
            auto const keys = by_address ? option.networks : std::vector<std::string>{option.name};
            for (std::string const& key : keys) {
                Found& each = found[key];
                if (each.seen == node) {
                    each.options.push_back(i);
                    ++each.seen;
                } else if (each.seen == node + 1) {
                    Option const& known = nodes[node][each.options.back()];
                    if (option.gbit() > known.gbit()) each.options.back() = i;
                }
            }
        }
    }
    std::vector<Network> networks;
    for (auto& [key, each] : found) {
        if (each.seen != nodes.size()) continue;
        Network network;
        network.options = std::move(each.options);
        std::vector<double> measured, rates;
        for (std::size_t node = 0; node < nodes.size(); ++node) {
            Option const& option = nodes[node][network.options[node]];
            rates.push_back(option.rate_gbit);
            if (option.measured_gbit) measured.push_back(*option.measured_gbit);
        }
        network.rate_gbit = median(rates);
        if (!measured.empty() && 2 * measured.size() >= nodes.size())
            network.measured_gbit = median(measured);
        network.name = nodes.front()[network.options.front()].name;
        networks.push_back(std::move(network));
    }
    return networks;
}

/// Best first: measured before unmeasured, then speed, then name.
void rank_networks(std::vector<Network>& networks) {
    bool const measured =
        std::ranges::any_of(networks, [](Network const& each) { return each.measured_gbit > 0; });
    auto const key = [measured](Network const& each) {
        double const speed = measured ? each.measured_gbit : each.rate_gbit;
        return std::tuple<double, double, std::string const&>(-speed, -each.rate_gbit, each.name);
    };
    std::ranges::sort(networks, {}, key);
}

std::size_t fastest(Options const& options) {
    bool const measured = std::ranges::any_of(
        options, [](Option const& each) { return each.measured_gbit.has_value(); });
    auto const speed = [measured](Option const& each) {
        return measured ? each.measured_gbit.value_or(0) : each.rate_gbit;
    };
    return static_cast<std::size_t>(std::ranges::max_element(options, {}, speed) - options.begin());
}

std::string others_of(Options const& options, std::size_t chosen) {
    constexpr int kShown = 3;
    std::string text;
    int left = 0;
    for (std::size_t i = 0; i < options.size(); ++i) {
        if (i == chosen || ++left > kShown) continue;
        Option const& each = options[i];
        text += text.empty() ? "" : ", ";
        text += each.gbit() > 0 ? fmt::format("{} {:.3g} Gbit/s", each.name, each.gbit())
                                : each.name + " not known";
    }
    if (left > kShown) text += fmt::format(" and {} more", left - kShown);
    return text;
}

void warn_of_slow(InterfaceChoice& choice) {
    std::vector<double> speeds;
    for (auto const& each : choice.nodes) {
        if (each.measured) speeds.push_back(each.gbit_s);
    }
    if (speeds.empty()) return;
    double const middle = median(std::move(speeds));
    std::vector<std::string> slow;
    for (auto const& each : choice.nodes) {
        if (!each.measured || each.gbit_s >= kSlow * middle) continue;
        slow.push_back(
            fmt::format("{} ({} {:.3g} Gbit/s)", each.node, each.interface, each.gbit_s));
    }
    if (slow.empty()) return;
    choice.warnings.push_back(
        fmt::format("slow on the best interface too, the others reach {:.3g} Gbit/s: {}", middle,
                    few_names(slow)));
}

}  // namespace

InterfaceChoice choose_interfaces(std::span<Machine const> machines, ProbeResult const* probe) {
    InterfaceChoice choice;
    Measured const measured = probe == nullptr ? Measured{} : measured_by(*probe);
    std::vector<Options> nodes;
    std::vector<std::string> names, without;
    for (Machine const& machine : machines) {
        Options options = options_of(machine);
        if (options.empty()) {
            without.push_back(machine.name);
            continue;
        }
        for (Option& each : options) {
            auto const found = measured.find({machine.name, each.name});
            if (found != measured.end()) each.measured_gbit = found->second;
        }
        auto const sure = [](Option const& o) { return !o.doubtful || o.measured_gbit; };
        if (std::ranges::any_of(options, sure)) std::erase_if(options, std::not_fn(sure));
        nodes.push_back(std::move(options));
        names.push_back(machine.name);
    }
    if (!without.empty())
        choice.warnings.push_back("no interface that is up: " + few_names(without));
    if (nodes.empty()) return choice;
    bool const by_address = std::ranges::all_of(nodes, [](Options const& options) {
        return std::ranges::any_of(options, [](Option const& o) { return !o.networks.empty(); });
    });
    auto networks = networks_of_all(nodes, by_address);
    if (networks.empty()) {
        choice.warnings.push_back(
            "no network is common to all nodes: each gets its fastest interface; check that they "
            "reach each other");
    }
    rank_networks(networks);
    for (std::size_t node = 0; node < nodes.size(); ++node) {
        Options const& options = nodes[node];
        std::size_t const best = fastest(options);
        std::size_t chosen = networks.empty() ? best : networks.front().options[node];
        bool const far = options[chosen].measured_gbit && options[best].measured_gbit &&
                         *options[best].measured_gbit > kFarFaster * *options[chosen].measured_gbit;
        if (far) chosen = best;
        choice.nodes.push_back({names[node], options[chosen].name, options[chosen].gbit(),
                                options[chosen].measured_gbit.has_value(),
                                others_of(options, chosen)});
    }
    for (std::size_t i = 1; i < networks.size(); ++i) {
        Network const& first = networks.front();
        bool const fast =
            first.measured_gbit > 0
                ? networks[i].measured_gbit >= kAsFast * first.measured_gbit
                : first.rate_gbit > 0 && networks[i].rate_gbit >= kAsFast * first.rate_gbit;
        if (fast && networks[i].name != first.name) choice.equals.push_back(networks[i].name);
    }
    warn_of_slow(choice);
    return choice;
}

}  // namespace osora::plan
