// The differing items of a good and a bad run, and the groups of them that can only change
// together. Value types of the search (bisect.hpp) and of the comparison before it (factors.hpp).
#pragma once

#include <boost/describe/enum.hpp>

#include <string>
#include <vector>

namespace osora::db::analysis {

enum class FactorKind { commit, software, env, config, hardware, node_set, node_count, data };
BOOST_DESCRIBE_ENUM(FactorKind, commit, software, env, config, hardware, node_set, node_count, data)

/// One differing item, with its value in each run; "" = the run does not have it.
struct Factor {
    std::string name;
    FactorKind kind = FactorKind::config;
    std::string good, bad;
    friend bool operator==(Factor const&, Factor const&) = default;
};

/// Factors that can only change together: one switch of the search.
struct FactorGroup {
    std::string name;
    std::vector<int> factors;  // indices into the list of factors
    double prior = 1;          // how suspicious it is relative to the others; > 0, finite
    friend bool operator==(FactorGroup const&, FactorGroup const&) = default;
};

}  // namespace osora::db::analysis
