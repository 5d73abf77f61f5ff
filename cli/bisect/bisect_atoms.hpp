// Which of the differing items of two runs a trial can switch, and what switching them means. Pure.
#pragma once

#include "cli/bisect/bisect_inputs.hpp"
#include "db/analysis/bisect/factors.hpp"

#include <string>
#include <vector>

namespace osora::cli {

struct NotTried {
    std::string name, good, bad, why;
};

/// Whether trials can run other commits.
struct CommitSwitch {
    std::string factor = {};   // "osora.commit", "code.commit"
    std::string why_not = {};  // "": they can
};

struct TriableAtoms {
    std::vector<db::analysis::Factor> factors;
    std::vector<db::analysis::FactorGroup> atoms;  // indices into `factors`
    std::vector<NotTried> not_tried;               // these may matter, but no trial here can set
                                                   // them
    int commit_atom = -1;                          // the whole range of commits, as one atom; -1:
                                                   // none

    [[nodiscard]] db::analysis::Factor const& factor(int index) const {
        return factors[static_cast<std::size_t>(index)];
    }
};

[[nodiscard]] db::analysis::RunFacts facts_of(BisectSide const& side);

/// The class of factors that the gap points to: what grew most between the two runs.
[[nodiscard]] db::analysis::Suspect suspect_of(BisectSide const& good, BisectSide const& bad);

/// `available`: hosts that trials may use; empty: unknown.
[[nodiscard]] TriableAtoms triable_atoms(BisectSide const& good, BisectSide const& bad,
                                         std::vector<std::string> const& available,
                                         CommitSwitch const& commits = {});

[[nodiscard]] TrialChoice choice_of(TriableAtoms const& atoms, std::vector<bool> const& flipped);

/// `indices` without variables that follow from a run-file key that is also among them.
[[nodiscard]] std::vector<int> named_factors(std::vector<db::analysis::Factor> const& factors,
                                             std::vector<int> indices);

/// "debug.collectives, NCCL_ALGO", "all but data.num_workers", "-", "all"; at most `columns` wide.
[[nodiscard]] std::string flipped_text(TriableAtoms const& atoms, std::vector<bool> const& flipped,
                                       int columns);

}  // namespace osora::cli
