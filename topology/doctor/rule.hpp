// The doctor's rules: a table of pure functions over evidence.
#pragma once

#include "topology/doctor/evidence.hpp"
#include "topology/doctor/finding.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace osora::topology::doctor {

/// Result of one rule: findings of one node each (similar ones are merged later), or why it could
/// not be checked.
struct Outcome {
    std::vector<Finding> findings;
    std::string skipped;
};

struct Rule {
    std::string_view id;
    int row;                    // of the catalogue in docs/rfc/007; 0: not in it
    std::string_view question;  // the question that it answers
    std::string_view threads;   // threads with such cases: "nccl#1580 nccl#1581"
    Outcome (*check)(Evidence const& evidence);
};

/// Every rule, in the order of the catalogue.
[[nodiscard]] std::span<Rule const> rule_table();

/// Runs every rule, merges similar findings over nodes, sorts the worst first.
[[nodiscard]] Diagnosis diagnose(Evidence const& evidence);
[[nodiscard]] Diagnosis diagnose(Evidence const& evidence, std::span<Rule const> rules);

}  // namespace osora::topology::doctor
