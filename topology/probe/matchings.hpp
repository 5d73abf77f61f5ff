// Which nodes communicate in a round of a probe: disjoint pairs, so that no transfer shares a node
// with another. Pure.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace osora::topology {

using NodePair = std::pair<int, int>;
using Matching = std::vector<NodePair>;  // no node twice

/// Round `round` of the circle method over `count` nodes, round in [0, circle_rounds(count)): all
/// rounds together have every pair once. With an odd count one node is idle, a different one in
/// each round.
[[nodiscard]] Matching circle_round(int count, int round);
/// count - 1 for an even count, count for an odd one; 0 below two nodes.
[[nodiscard]] int circle_rounds(int count);

/// Random rounds over these nodes without a pair twice, `rounds` of them or all there are. Equal
/// seeds give equal rounds.
[[nodiscard]] std::vector<Matching> random_matchings(std::vector<int> nodes, int rounds,
                                                     std::uint64_t seed);

/// The same inside each group in parallel: round r combines round r of every group's own matchings.
/// As many rounds as the largest group has.
[[nodiscard]] std::vector<Matching> grouped_matchings(std::vector<std::vector<int>> const& groups,
                                                      int rounds, std::uint64_t seed);

}  // namespace osora::topology
