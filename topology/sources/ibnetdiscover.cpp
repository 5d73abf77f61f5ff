// Parses the format of infiniband-diags: a section for each switch and adapter, with its ports
// below.
#include "topology/sources/ibnetdiscover.hpp"

#include "base/text/text.hpp"
#include "topology/fabric_links.hpp"
#include "topology/sources/one_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

namespace osora::topology {
namespace {

constexpr std::size_t kEntriesMax = 1 << 20;

/// One line "[3] "H-0002..."[1](...) # "n7 mlx5_0" lid 5 4xHDR" of a section.
struct Port {
    int number = 0;
    std::string peer;  // "H-0002c90300...", "S-..."
    int peer_port = 0;
    double gbit = 0;
};
struct Entry {
    bool is_switch = false;
    std::string description;
    std::vector<Port> ports;
};
using Entries = std::map<std::string, Entry>;  // by id

/// The next "..." of `text`; removes it and everything before it.
std::optional<std::string> cut_quoted(std::string_view& text) {
    auto const open = text.find('"');
    if (open == std::string_view::npos) return {};
    auto const close = text.find('"', open + 1);
    if (close == std::string_view::npos) return {};
    std::string inside(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
    return inside;
}

/// The last word of a line that is a width and speed.
double rate_of(std::string_view line) {
    while (!line.empty()) {
        auto const end = line.find_last_not_of(" \t\r");
        if (end == std::string_view::npos) return 0;
        line = line.substr(0, end + 1);
        auto const space = line.find_last_of(" \t");
        auto const word = space == std::string_view::npos ? line : line.substr(space + 1);
        if (auto const rate = infiniband_gbit(word)) return *rate;
        if (space == std::string_view::npos) return 0;
        line = line.substr(0, space);
    }
    return 0;
}

Result<Port> read_port(std::string_view line, int number) {
    Port port;
    char const* const begin = line.data() + 1;
    auto const [end, error] = std::from_chars(begin, line.data() + line.size(), port.number);
    std::string_view rest(end, line.data() + line.size());
    if (error != std::errc() || port.number < 0 || !rest.starts_with(']')) {
        return bad_line(number, "expected a port: [3] \"S-...\"[1]");
    }
    auto const peer = cut_quoted(rest);
    if (!peer || peer->size() < 3) return bad_line(number, "a port without its peer: cut off?");
    port.peer = *peer;
    if (rest.starts_with('[')) port.peer_port = leading_number<int>(rest.substr(1)).value_or(0);
    port.gbit = rate_of(rest);
    return port;
}

Result<Entries> read_entries(std::string_view text) {
    Entries entries;
    Entry* current = nullptr;
    std::size_t count = 0;
    for (int number = 1; !text.empty(); ++number) {
        std::size_t const end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        bool const is_switch = line.starts_with("Switch");
        if (is_switch || line.starts_with("Ca") || line.starts_with("Rt")) {
            auto const id = cut_quoted(line);
            if (!id || id->size() < 3) return bad_line(number, "a section without an id: cut off?");
            current = &entries[*id];
            current->is_switch = is_switch;
            current->description = cut_quoted(line).value_or("");
        } else if (line.starts_with('[')) {
            if (current == nullptr) return bad_line(number, "a port before any section");
            OSORA_TRY(auto port, read_port(line, number));
            current->ports.push_back(std::move(port));
        }
        if (++count > kEntriesMax) return bad_line(number, "too many lines");
    }
    return entries;
}

/// Descriptions of SHARP's aggregation nodes inside switches are not hosts.
bool is_host(Entry const& entry) {
    return !entry.is_switch && entry.description.find("Aggregation") == std::string::npos;
}

/// Default descriptions of adapters before an administrator names the node: their model, "MT23108
/// InfiniHost Mellanox Technologies", "ConnectX-6".
bool is_model(std::string_view word) {
    bool const part = word.size() >= 5 && word.starts_with("MT") &&
                      word.find_first_not_of("0123456789", 2) == std::string_view::npos;
    return part || word.starts_with("ConnectX") || word == "Mellanox" || word == "NVIDIA" ||
           word == "InfiniHost" || word == "(null)";
}

/// The host's name in an adapter's description: "n7" of "n7 mlx5_0", "n7" of "'n7 HCA-1'". "": the
/// description is the default.
std::string described_host(Entry const& entry) {
    std::string_view text = trimmed(entry.description);
    while (text.starts_with('\'')) text.remove_prefix(1);
    std::string_view const word = text.substr(0, text.find_first_of(" \t'"));
    bool const names_device = word.starts_with("mlx") || word.starts_with("HCA-");
    return is_model(word) || names_device ? std::string() : std::string(word);
}

/// A name for each adapter's host. Two adapters with the same description belong to two hosts,
/// distinguished by GUID ("localhost-0002c903001"); so are those without a host's name.
std::map<std::string, std::string> host_names(Entries const& entries) {
    std::map<std::string, int> alike;
    for (auto const& [id, entry] : entries) {
        if (is_host(entry)) ++alike[entry.description];
    }
    std::map<std::string, std::string> names;
    for (auto const& [id, entry] : entries) {
        if (!is_host(entry)) continue;
        std::string const name = described_host(entry);
        bool const one = alike[entry.description] == 1;
        bool const has_guid = id.starts_with("H-") || id.starts_with("R-");
        std::string const guid = has_guid ? id.substr(2) : id;
        names[id] = name.empty() ? id : one ? name : name + "-" + guid;
    }
    return names;
}

/// "MF0;leaf1:MQM8700/U1" -> "leaf1", or "leaf1/U1" when `whole`.
std::string switch_name(Entry const& entry, bool whole) {
    std::string_view text = entry.description;
    auto const semicolon = text.find(';');
    if (semicolon == std::string_view::npos) return std::string(whole ? "" : text);
    text.remove_prefix(semicolon + 1);
    auto const colon = std::min(text.find(':'), text.size());
    std::string name(text.substr(0, colon));
    auto const slash = text.find('/', colon);
    if (whole && slash != std::string_view::npos) name += text.substr(slash);
    return name;
}

/// A name for each switch, no two alike.
std::map<std::string, std::string> switch_names(Entries const& entries) {
    std::map<std::string, std::string> names;
    for (bool const whole : {false, true}) {
        std::map<std::string, int> count;
        for (auto const& [id, entry] : entries) {
            if (entry.is_switch) ++count[switch_name(entry, whole)];
        }
        for (auto const& [id, entry] : entries) {
            if (!entry.is_switch || names.contains(id)) continue;
            std::string const name = switch_name(entry, whole);
            if (!name.empty() && count[name] == 1) names[id] = name;
        }
    }
    for (auto const& [id, entry] : entries) {
        if (entry.is_switch) names.try_emplace(id, id);
    }
    return names;
}

std::size_t hosts_of(Entries const& entries, Entry const& entry) {
    return static_cast<std::size_t>(std::ranges::count_if(entry.ports, [&](Port const& port) {
        auto const peer = entries.find(port.peer);
        return peer != entries.end() && is_host(peer->second);
    }));
}

/// Steps from the leaves. A switch whose neighbours have four times its hosts is above them.
std::map<std::string, int> levels_of(Entries const& entries) {
    std::map<std::string, std::size_t> hosts;
    for (auto const& [id, entry] : entries) {
        if (entry.is_switch) hosts[id] = hosts_of(entries, entry);
    }
    std::map<std::string, int> levels;
    std::vector<std::string> reached;
    for (auto const& [id, count] : hosts) {
        std::size_t most = 0;
        for (Port const& port : entries.at(id).ports) {
            if (auto const peer = hosts.find(port.peer); peer != hosts.end()) {
                most = std::max(most, peer->second);
            }
        }
        if (count == 0 || most >= 4 * count) continue;
        levels[id] = 0;
        reached.push_back(id);
    }
    for (std::size_t i = 0; i < reached.size(); ++i) {
        for (Port const& port : entries.at(reached[i]).ports) {
            if (!hosts.contains(port.peer)) continue;
            if (levels.try_emplace(port.peer, levels[reached[i]] + 1).second) {
                reached.push_back(port.peer);
            }
        }
    }
    return levels;
}

/// The most common rate of links, above or below a switch.
double usual_rate(std::map<double, int> const& counts) {
    double usual = 0;
    int most = 0;
    for (auto const& [rate, count] : counts) {
        if (rate > 0 && count >= most) usual = rate, most = count;
    }
    return usual;
}

class Builder {
public:
    explicit Builder(Entries const& entries)
        : entries_(entries),
          names_(switch_names(entries)),
          hosts_(host_names(entries)),
          levels_(levels_of(entries)) {}

    Fabric build() {
        fabric_.source = "ibnetdiscover";
        for (auto const& [id, name] : names_) add_switch(id, name);
        warn_of_slow_links();
        return linked_fabric(std::move(fabric_), {.nodes_may_have_several_leaves = true});
    }

private:
    struct Link {
        std::string text;
        double gbit = 0;
        bool to_host = false;
    };

    void add_switch(std::string const& id, std::string const& name) {
        Switch made;
        made.name = name;
        auto const level = levels_.find(id);
        for (Port const& port : entries_.at(id).ports) {
            auto const peer = entries_.find(port.peer);
            if (peer == entries_.end()) {
                warn(fmt::format("{}[{}]: its peer {} is not described: left out", name,
                                 port.number, port.peer));
            } else if (is_host(peer->second)) {
                made.nodes.push_back(hosts_.at(peer->first));
                note(fmt::format("{}[{}] - {}", name, port.number, adapter_text(*peer)), port.gbit,
                     true);
            } else if (peer->second.is_switch && level != levels_.end()) {
                add_link({id, made}, port, level->second);
            }
        }
        if (level == levels_.end()) warn(fmt::format("switch {} has no way to a host", name));
        fabric_.switches.push_back(std::move(made));
    }

    /// "n7 mlx5_0", or the GUID if the description names no host.
    std::string adapter_text(Entries::value_type const& adapter) const {
        std::string const& name = hosts_.at(adapter.first);
        return name == described_host(adapter.second) ? adapter.second.description : name;
    }

    struct End {
        std::string const& id;
        Switch& made;
    };

    /// Each cable is in the sections of both its ends: true for the first of them.
    static bool is_first_end(std::string const& id, Port const& port) {
        return std::pair(id, port.number) < std::pair(port.peer, port.peer_port);
    }

    /// The rate of the same cable according to its other end; 0 = missing.
    [[nodiscard]] double rate_at_peer(std::string const& id, Port const& port) const {
        for (Port const& each : entries_.at(port.peer).ports) {
            bool const same =
                each.number == port.peer_port && each.peer == id && each.peer_port == port.number;
            if (same) return each.gbit;
        }
        return 0;
    }

    void compare_ends(End const& end, Port const& port) {
        double const there = rate_at_peer(end.id, port);
        if (!is_first_end(end.id, port) || !(there > 0) || !(port.gbit > 0)) return;
        if (there == port.gbit) return;
        warn(fmt::format(
            "link {}[{}] - {}[{}] runs at {:g} Gbit/s by its first end, at {:g} by the "
            "other",
            end.made.name, port.number, names_.at(port.peer), port.peer_port, port.gbit, there));
    }

    void add_link(End const& end, Port const& port, int level) {
        Switch& made = end.made;
        auto const other = levels_.find(port.peer);
        if (other == levels_.end()) return;
        std::string const& name = names_.at(port.peer);
        compare_ends(end, port);
        if (other->second == level) {
            if (!is_first_end(end.id, port)) return;
            warn(fmt::format("{}[{}] - {}[{}]: both are at level {}: the link is left out",
                             made.name, port.number, name, port.peer_port, level));
            note(fmt::format("{}[{}] - {}", made.name, port.number, name), port.gbit, false);
        } else if (other->second < level) {
            made.children.push_back(name);
        } else {
            made.up_gbit += port.gbit;
            double const there = rate_at_peer(end.id, port);
            bool const slower = there > 0 && there < port.gbit;
            note(fmt::format("{}[{}] - {}", made.name, port.number, name),
                 slower ? there : port.gbit, false);
        }
    }

    void note(std::string text, double gbit, bool to_host) {
        (to_host ? host_rates_ : switch_rates_)[gbit]++;
        links_.push_back({std::move(text), gbit, to_host});
    }

    void warn_of_slow_links() {
        double const hosts = usual_rate(host_rates_);
        double const switches = usual_rate(switch_rates_);
        for (Link const& link : links_) {
            double const usual = link.to_host ? hosts : switches;
            if (link.gbit <= 0 || link.gbit >= usual) continue;
            warn(fmt::format("link {} runs at {:g} Gbit/s, others at {:g}", link.text, link.gbit,
                             usual));
        }
    }

    void warn(std::string text) {
        if (fabric_.warnings.size() < kWarningsMax) fabric_.warnings.push_back(std::move(text));
    }

    static constexpr std::size_t kWarningsMax = 40;
    Entries const& entries_;
    std::map<std::string, std::string> names_;  // by id of a switch
    std::map<std::string, std::string> hosts_;  // by id of an adapter
    std::map<std::string, int> levels_;
    std::map<double, int> host_rates_, switch_rates_;  // links by Gbit/s
    std::vector<Link> links_;
    Fabric fabric_;
};

}  // namespace

std::optional<double> infiniband_gbit(std::string_view text) {
    // Gbit/s of one lane, by the name of the speed.
    constexpr auto kLanes = std::to_array<std::pair<std::string_view, double>>({{"SDR", 2.5},
                                                                                {"DDR", 5},
                                                                                {"QDR", 10},
                                                                                {"FDR10", 10},
                                                                                {"FDR", 14},
                                                                                {"EDR", 25},
                                                                                {"HDR", 50},
                                                                                {"NDR", 100},
                                                                                {"XDR", 200}});
    int lanes = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), lanes);
    std::string_view const rest(end, text.data() + text.size());
    if (error != std::errc() || lanes < 1 || lanes > 12 || !rest.starts_with('x')) return {};
    for (auto const& [name, gbit] : kLanes) {
        if (rest.substr(1) == name) return lanes * gbit;
    }
    return {};
}

Result<Fabric> parse_ibnetdiscover(std::string_view text) {
    OSORA_TRY(auto const entries, read_entries(text));
    bool const any =
        std::ranges::any_of(entries, [](auto const& each) { return each.second.is_switch; });
    if (!any) return Error{Errc::invalid_input, "no section 'Switch' in it"};
    return Builder(entries).build();
}

}  // namespace osora::topology
