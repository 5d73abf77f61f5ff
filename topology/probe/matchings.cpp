// The circle method on shuffled labels: pairs never repeat, and the idle node changes.
#include "topology/probe/matchings.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace osora::topology {
namespace {

/// Uniform in [0, bound); std::uniform_int_distribution differs between libraries.
std::size_t below(std::mt19937_64& random, std::size_t bound) {
    return static_cast<std::size_t>(random() % bound);
}

template <class T>
void shuffle(std::vector<T>& items, std::mt19937_64& random) {
    for (std::size_t left = items.size(); left > 1; --left) {
        std::swap(items[left - 1], items[below(random, left)]);
    }
}

}  // namespace

int circle_rounds(int count) {
    if (count < 2) return 0;
    return count % 2 == 0 ? count - 1 : count;
}

Matching circle_round(int count, int round) {
    OSORA_CHECK(round >= 0);
    OSORA_CHECK_LT(round, circle_rounds(count));
    // The last place of an even circle is fixed; with an odd count that place is empty.
    int const places = count + count % 2, turning = places - 1;
    Matching pairs;
    if (count % 2 == 0) pairs.emplace_back(round, turning);
    for (int step = 1; step < places / 2; ++step) {
        pairs.emplace_back((round + step) % turning, (round - step + turning) % turning);
    }
    return pairs;
}

std::vector<Matching> random_matchings(std::vector<int> nodes, int rounds, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    shuffle(nodes, random);
    int const count = static_cast<int>(nodes.size());
    std::vector<int> order(static_cast<std::size_t>(circle_rounds(count)));
    std::iota(order.begin(), order.end(), 0);
    shuffle(order, random);
    order.resize(std::min(order.size(), static_cast<std::size_t>(std::max(0, rounds))));
    std::vector<Matching> matchings;
    for (int const round : order) {
        Matching& pairs = matchings.emplace_back(circle_round(count, round));
        for (auto& [a, b] : pairs) {
            a = nodes[static_cast<std::size_t>(a)];
            b = nodes[static_cast<std::size_t>(b)];
        }
    }
    return matchings;
}

std::vector<Matching> grouped_matchings(std::vector<std::vector<int>> const& groups, int rounds,
                                        std::uint64_t seed) {
    std::vector<Matching> joined;
    for (std::size_t group = 0; group < groups.size(); ++group) {
        auto const own = random_matchings(groups[group], rounds, seed + group);
        joined.resize(std::max(joined.size(), own.size()));
        for (std::size_t round = 0; round < own.size(); ++round) {
            joined[round].insert(joined[round].end(), own[round].begin(), own[round].end());
        }
    }
    return joined;
}

}  // namespace osora::topology
