// The differences between two runs, as the switches of a search: drops items that cannot change a
// step's time, joins items that can only change together into one atom. Pure. Rules: docs/rfc/013.
#pragma once

#include "db/analysis/bisect/factor.hpp"
#include "db/record/run_record.hpp"

#include <boost/describe/enum.hpp>

#include <string>
#include <vector>

namespace osora::db::analysis {

/// Of one run, from the history.
struct RunFacts {
    Facts config, software, env, hardware;  // keys as db/record/facts.hpp makes them
    std::vector<std::string> nodes;         // host names, in the order of the run
    int node_count = 1, gpus_per_node = 1;
    std::string commit;  // commit of the program that trains; "" = unknown
};

/// The part of the step that grew most, according to attribution.
enum class Suspect { none, comm, loader, compute, memory };
BOOST_DESCRIBE_ENUM(Suspect, none, comm, loader, compute, memory)

struct DroppedItem {
    std::string name, good, bad, why;
};

struct DifferingFactors {
    std::vector<Factor> factors;     // by name
    std::vector<FactorGroup> atoms;  // highest prior first, then by name
    std::vector<DroppedItem> dropped;
};

/// Every differing item of `good` and `bad` is in `factors` or in `dropped`.
[[nodiscard]] DifferingFactors factors_of(RunFacts const& good, RunFacts const& bad,
                                          Suspect suspect = Suspect::none);

/// 4 for a class that `suspect` points to, else 1.
[[nodiscard]] double prior_of(Factor const& factor, Suspect suspect);

/// Why the item `name` cannot change the time of a step; "" when it can.
[[nodiscard]] std::string why_harmless(std::string_view name, FactorKind kind);

}  // namespace osora::db::analysis
