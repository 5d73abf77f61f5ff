// The transfers of a probe, round by round, depending on earlier rounds: random disjoint pairs,
// pairs of leaves with one and with all their nodes, suspects again with known good nodes, further
// networks. Pure; driven by the prober of rank 0 and by simulations. Source of the figures:
// docs/rfc/008.
#pragma once

#include "topology/probe_result.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace osora::topology {

struct ProbeSetup {
    std::vector<std::string> leaves;  // by node; "" = not known
    /// Further networks ("10.1.0.0/16") with the nodes that have an address in them.
    struct Network {
        std::string name;
        std::vector<int> nodes;
    };
    std::vector<Network> networks = {};
    int matchings = 5;
    bool all_pairs = false;  // every pair of nodes, not `matchings` rounds
    std::uint64_t seed = 1;
};

struct PairTask {
    int from = 0, to = 0;
    std::string network = {};  // "": the one that ranks meet on
};
struct ProbeRound {
    ProbeStage stage = ProbeStage::matching;
    int number = 0;
    std::vector<PairTask> pairs;  // disjoint
};

class ProbeSchedule {
public:
    explicit ProbeSchedule(ProbeSetup setup);

    /// The next round; nullopt: everything is measured. Excludes lost nodes.
    [[nodiscard]] std::optional<ProbeRound> next();
    /// Samples of the rounds so far, in any order; several of one pair and round are its
    /// directions, of which the slower one counts.
    void add(std::vector<PairSample> const& samples);
    /// The node is gone, or does not answer.
    void lose(int node);

    [[nodiscard]] std::vector<PairSample> const& samples() const { return samples_; }
    [[nodiscard]] std::set<int> const& lost() const { return lost_; }

private:
    void plan_matchings();
    void plan_leaves();
    void plan_networks();
    [[nodiscard]] std::optional<ProbeRound> retest();
    [[nodiscard]] std::optional<ProbeRound> usable(ProbeRound round) const;

    ProbeSetup setup_;
    std::vector<ProbeRound> planned_;  // in the order they run; retests go before the networks
    std::size_t at_ = 0, networks_at_ = 0;
    int retests_ = 0, number_ = 0;
    std::vector<PairSample> samples_;
    std::set<int> lost_;
};

}  // namespace osora::topology
