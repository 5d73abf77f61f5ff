// The rounds that are fixed, then those that depend on results.
#include "topology/probe/probe_schedule.hpp"

#include "topology/probe/matchings.hpp"
#include "topology/probe/probe_analysis.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace osora::topology {
namespace {

constexpr int kRetestsMax = 3, kNetworkRounds = 2;
constexpr double kClearAbove = 0.94;  // of the median, after a retest

std::vector<PairTask> tasks_of(Matching const& pairs, std::string const& network = {}) {
    std::vector<PairTask> tasks;
    for (auto const& [a, b] : pairs) tasks.push_back({a, b, network});
    return tasks;
}

int nodes_of(ProbeSetup const& setup) {
    return static_cast<int>(setup.leaves.size());
}

std::vector<int> all_nodes(ProbeSetup const& setup) {
    std::vector<int> nodes;
    for (int node = 0; node < nodes_of(setup); ++node) nodes.push_back(node);
    return nodes;
}

/// Pairs of suspects with good nodes of their leaf, else of any; each node once.
class Pairing {
public:
    Pairing(Leaves const& leaves, std::set<int> taken)
        : leaves_(leaves), taken_(std::move(taken)) {}

    void offer(int node) { good_.push_back(node); }
    [[nodiscard]] std::optional<int> partner_for(int suspect) {
        int const leaf = leaves_.of_node[static_cast<std::size_t>(suspect)];
        auto const free = [&](int node) { return node != suspect && !taken_.contains(node); };
        auto const near = std::ranges::find_if(good_, [&](int node) {
            return free(node) && leaves_.of_node[static_cast<std::size_t>(node)] == leaf;
        });
        auto const found = near != good_.end() ? near : std::ranges::find_if(good_, free);
        if (found == good_.end()) return std::nullopt;
        int const partner = *found;
        take(suspect);
        take(partner);
        return partner;
    }
    [[nodiscard]] bool is_free(int node) const { return !taken_.contains(node); }
    void take(int node) { taken_.insert(node); }

private:
    Leaves const& leaves_;
    std::set<int> taken_;
    std::vector<int> good_;
};

}  // namespace

ProbeSchedule::ProbeSchedule(ProbeSetup setup) : setup_(std::move(setup)) {
    plan_matchings();
    plan_leaves();
    networks_at_ = planned_.size();
    plan_networks();
}

void ProbeSchedule::plan_matchings() {
    int const count = nodes_of(setup_);
    int const rounds = setup_.all_pairs ? std::numeric_limits<int>::max() : setup_.matchings;
    auto const across = random_matchings(all_nodes(setup_), rounds, setup_.seed);
    auto const leaves = leaves_of(setup_.leaves);
    // Also inside the leaves: there a slow uplink slows nobody.
    bool const inside = leaves.count() > 1 && !setup_.all_pairs;
    auto const within = inside
                            ? grouped_matchings(leaves.nodes(), setup_.matchings / 2, setup_.seed)
                            : std::vector<Matching>();
    std::size_t used_within = 0;
    for (std::size_t round = 0; round < across.size(); ++round) {
        // A leaf with few nodes has few rounds: the remaining ones go across leaves.
        bool const is_within = round % 2 == 1 && used_within < within.size() &&
                               static_cast<int>(within[used_within].size()) * 3 >= count;
        Matching const& pairs = is_within ? within[used_within++] : across[round];
        planned_.push_back({ProbeStage::matching, 0, tasks_of(pairs)});
    }
}

void ProbeSchedule::plan_leaves() {
    auto const leaves = leaves_of(setup_.leaves);
    auto const nodes = leaves.nodes();
    for (int round = 0; round < circle_rounds(leaves.count()); ++round) {
        ProbeRound one{ProbeStage::leaf_one, 0, {}}, all{ProbeStage::leaf_all, 0, {}};
        for (auto const& [a, b] : circle_round(leaves.count(), round)) {
            auto const& left = nodes[static_cast<std::size_t>(a)];
            auto const& right = nodes[static_cast<std::size_t>(b)];
            std::size_t const pairs = std::min(left.size(), right.size());
            // Uses another node of the leaf in each round: one bad node must not represent its
            // leaf.
            std::size_t const lone = static_cast<std::size_t>(round) % pairs;
            one.pairs.push_back({left[lone], right[lone]});
            for (std::size_t pair = 0; pair < pairs; ++pair) {
                all.pairs.push_back({left[pair], right[pair]});
            }
        }
        if (one.pairs.size() == all.pairs.size()) continue;  // a node a leaf: nothing to compare
        planned_.push_back(std::move(one));
        planned_.push_back(std::move(all));
    }
}

void ProbeSchedule::plan_networks() {
    for (auto const& network : setup_.networks) {
        for (auto const& pairs : random_matchings(network.nodes, kNetworkRounds, setup_.seed)) {
            planned_.push_back({ProbeStage::interface_one, 0, tasks_of(pairs, network.name)});
        }
    }
}

std::optional<ProbeRound> ProbeSchedule::usable(ProbeRound round) const {
    std::erase_if(round.pairs, [&](PairTask const& each) {
        return lost_.contains(each.from) || lost_.contains(each.to);
    });
    if (round.pairs.empty()) return std::nullopt;
    return round;
}

std::optional<ProbeRound> ProbeSchedule::next() {
    while (true) {
        std::optional<ProbeRound> round;
        if (at_ == networks_at_ && retests_ < kRetestsMax) {
            ++retests_;
            round = retest();
        } else if (at_ < planned_.size()) {
            round = usable(planned_[at_++]);
        } else {
            return std::nullopt;
        }
        if (!round) continue;
        round->number = number_++;
        return round;
    }
}

std::optional<ProbeRound> ProbeSchedule::retest() {
    std::vector<std::string> names(static_cast<std::size_t>(nodes_of(setup_)));
    auto const found = analyse_probe(names, setup_.leaves, samples_);
    auto const leaves = leaves_of(setup_.leaves);
    Pairing pairing(leaves, lost_);
    for (int node = 0; node < nodes_of(setup_); ++node) {
        auto const& score = found.scores[static_cast<std::size_t>(node)];
        bool const good = score.samples > 0 && !score.bad && !found.suspects.contains(node);
        if (good) pairing.offer(node);
    }
    ProbeRound round{ProbeStage::retest, 0, {}};
    for (auto const& [a, b] : found.suspect_pairs) {
        if (!pairing.is_free(a) || !pairing.is_free(b)) continue;
        pairing.take(a);
        pairing.take(b);
        round.pairs.push_back({a, b});
    }
    for (int const suspect : found.suspects) {
        auto const& score = found.scores[static_cast<std::size_t>(suspect)];
        bool const clear = retests_ > 1 && !score.bad && score.of_median > kClearAbove;
        if (clear || !pairing.is_free(suspect)) continue;
        if (auto const partner = pairing.partner_for(suspect)) {
            round.pairs.push_back({suspect, *partner});
        }
    }
    return usable(std::move(round));
}

void ProbeSchedule::add(std::vector<PairSample> const& samples) {
    samples_.insert(samples_.end(), samples.begin(), samples.end());
}

void ProbeSchedule::lose(int node) {
    lost_.insert(node);
}

}  // namespace osora::topology
