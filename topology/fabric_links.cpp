#include "topology/fabric_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace osora::topology {
namespace {

constexpr std::size_t kWarningsMax = 20;

/// Collects warnings of one kind, up to a limit.
class Warnings {
public:
    explicit Warnings(Fabric& fabric) : fabric_(fabric) {}
    ~Warnings() {
        if (count_ > kWarningsMax) {
            fabric_.warnings.push_back(
                fmt::format("{} more warnings of this kind", count_ - kWarningsMax));
        }
    }
    Warnings(Warnings const&) = delete;
    Warnings& operator=(Warnings const&) = delete;

    void add(std::string text) {
        if (++count_ <= kWarningsMax) fabric_.warnings.push_back(std::move(text));
    }

private:
    Fabric& fabric_;
    std::size_t count_ = 0;
};

void keep_first_of_each(std::vector<std::string>& names) {
    std::set<std::string> seen;
    std::erase_if(names, [&](std::string const& name) { return !seen.insert(name).second; });
}

void join_same_names(Fabric& fabric) {
    Warnings warnings(fabric);
    std::map<std::string, std::size_t> index;
    std::vector<Switch> joined;
    for (Switch& each : fabric.switches) {
        auto const [at, is_new] = index.try_emplace(each.name, joined.size());
        if (is_new) {
            joined.push_back(std::move(each));
            continue;
        }
        warnings.add(fmt::format("switch {} is defined twice: joined", each.name));
        Switch& first = joined[at->second];
        first.children.insert(first.children.end(), each.children.begin(), each.children.end());
        first.nodes.insert(first.nodes.end(), each.nodes.begin(), each.nodes.end());
        first.up_gbit += each.up_gbit;
    }
    for (Switch& each : joined) {
        keep_first_of_each(each.children);
        keep_first_of_each(each.nodes);
        each.parents.clear();
        each.level = 0;
    }
    fabric.switches = std::move(joined);
}

using Index = std::map<std::string, std::size_t, std::less<>>;

void drop_unknown_children(Fabric& fabric, Index const& index) {
    Warnings warnings(fabric);
    for (Switch& each : fabric.switches) {
        std::erase_if(each.children, [&](std::string const& child) {
            if (index.contains(child)) return false;
            warnings.add(
                fmt::format("switch {} below {} is not described: left out", child, each.name));
            return true;
        });
    }
}

/// Depth first from every switch, without recursion, because a chain may be long. Removes links to
/// a switch that is still open, which would close a loop. Levels are set when a switch is left.
void drop_loops_and_set_levels(Fabric& fabric, Index const& index) {
    enum class State { unseen, open, done };
    struct Frame {
        std::size_t at, child;
    };
    Warnings warnings(fabric);
    auto& switches = fabric.switches;
    std::vector<State> state(switches.size(), State::unseen);
    for (std::size_t first = 0; first < switches.size(); ++first) {
        if (state[first] != State::unseen) continue;
        std::vector<Frame> open{{first, 0}};
        state[first] = State::open;
        while (!open.empty()) {
            auto& [at, child] = open.back();
            Switch& parent = switches[at];
            if (child == parent.children.size()) {
                for (std::string const& name : parent.children) {
                    parent.level = std::max(parent.level, switches[index.at(name)].level + 1);
                }
                state[at] = State::done;
                open.pop_back();
                continue;
            }
            std::size_t const below = index.at(parent.children[child]);
            if (state[below] == State::open) {
                warnings.add(fmt::format("the link from {} to {} closes a loop: left out",
                                         parent.name, switches[below].name));
                parent.children.erase(parent.children.begin() + static_cast<std::ptrdiff_t>(child));
                continue;
            }
            ++child;
            if (state[below] == State::unseen) {
                state[below] = State::open;
                open.push_back({below, 0});
            }
        }
    }
}

/// All switches above `at`.
std::set<std::size_t> above(Fabric const& fabric, Index const& index, std::size_t at) {
    std::set<std::size_t> found;
    std::vector<std::size_t> left{at};
    while (!left.empty()) {
        std::size_t const next = left.back();
        left.pop_back();
        for (std::string const& parent : fabric.switches[next].parents) {
            if (found.insert(index.at(parent)).second) left.push_back(index.at(parent));
        }
    }
    return found;
}

/// From the leaves upwards, a node stays where it was seen first. scontrol repeats the nodes of a
/// leaf in every switch above it, so that needs no warning.
void keep_one_leaf(Fabric& fabric, Index const& index) {
    Warnings warnings(fabric);
    std::vector<std::size_t> order(fabric.switches.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t at) { return fabric.switches[at].level; });
    std::map<std::string, std::size_t> leaf_of;
    std::map<std::size_t, std::set<std::size_t>> above_leaf;
    for (std::size_t const at : order) {
        Switch& each = fabric.switches[at];
        std::erase_if(each.nodes, [&](std::string const& node) {
            auto const [found, is_new] = leaf_of.try_emplace(node, at);
            if (is_new) return false;
            std::size_t const leaf = found->second;
            auto const [cached, unseen] = above_leaf.try_emplace(leaf);
            if (unseen) cached->second = above(fabric, index, leaf);
            if (!cached->second.contains(at)) {
                std::string const& taken = fabric.switches[leaf].name;
                warnings.add(fmt::format("node {} is below {} and {}: {} is taken", node, taken,
                                         each.name, taken));
            }
            return true;
        });
    }
}

}  // namespace

Fabric linked_fabric(Fabric fabric, FabricRules rules) {
    join_same_names(fabric);
    Index index;
    for (std::size_t i = 0; i < fabric.switches.size(); ++i) index[fabric.switches[i].name] = i;
    drop_unknown_children(fabric, index);
    drop_loops_and_set_levels(fabric, index);
    for (std::size_t i = 0; i < fabric.switches.size(); ++i) {
        for (std::string const& child : fabric.switches[i].children) {
            fabric.switches[index.at(child)].parents.push_back(fabric.switches[i].name);
        }
    }
    if (!rules.nodes_may_have_several_leaves) keep_one_leaf(fabric, index);
    return fabric;
}

}  // namespace osora::topology
