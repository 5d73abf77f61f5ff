// What osora bisect searches next, without files, processes or clocks: among the items or among the
// commits, at which level, with what budget, what is measured already, and what the answer is.
// Driven by bisect_search.cpp.
#pragma once

#include "cli/bisect/bisect_text.hpp"
#include "db/derived/investigation.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace osora::cli {

struct SearchRules {
    std::string good, bad;                // uuids of the runs
    bool trains = false;                  // the bad run does; a rehearsal may then not show the gap
    db::analysis::BisectOptions options;  // of all searches together
};

/// One search: what its trials switch, and within which limits.
struct SearchStep {
    db::InvestigationQuestion question = {};  // names its log
    db::analysis::BisectOptions options = {};
    bool is_path = false;           // the search is over commits in sequence, not over items
    bool may_be_too_low = false;    // a higher level may show the gap
    std::vector<bool> around = {};  // is_path: values of the items, true = the bad run's
    /// Trials that the earlier search measured, by what this one flips: not measured again.
    std::map<std::string, std::vector<db::InvestigatedTrial>> measured = {};
    std::string notice = {};  // what osora says before it

    /// "rehearsal" or "run".
    [[nodiscard]] std::string const& level() const { return question.rung; }
};

/// A search that has ended.
struct SearchEnd {
    db::analysis::BisectResult result = {};
    std::vector<db::InvestigatedTrial> trials = {};
    std::string log_id = {};
    bool interrupted = false;
    bool too_low = false;      // its level does not show the gap
    std::string failure = {};  // why its last trial failed to run
};

struct BisectOutcome {
    BisectAnswer answer = {};
    bool interrupted = false;
    std::string failure = {};  // why the last trial failed to run
};

class SearchCore {
public:
    /// `plan` must outlive it; it has items.
    SearchCore(BisectPlan const& plan, SearchRules rules);

    /// The search to run now; nullopt: the outcome is complete.
    [[nodiscard]] std::optional<SearchStep> const& next() const { return next_; }
    /// The search of next() has ended.
    void ended(SearchEnd end);

    [[nodiscard]] BisectOutcome const& outcome() const { return outcome_; }

private:
    [[nodiscard]] bool is_low(std::string const& level) const;
    [[nodiscard]] SearchStep first_search(std::string level) const;
    [[nodiscard]] SearchStep among_items(std::string level) const;
    [[nodiscard]] SearchStep among_commits(std::string level, std::vector<bool> around) const;
    [[nodiscard]] SearchStep commits_after_items(
        std::string level, std::vector<db::InvestigatedTrial> const& trials) const;
    [[nodiscard]] bool names_the_commits() const;
    [[nodiscard]] bool is_spent() const;
    void take_items(std::string level, SearchEnd end);
    void take_commits(SearchEnd end);

    BisectPlan const& plan_;
    SearchRules rules_;
    std::optional<SearchStep> next_;
    BisectOutcome outcome_;
};

/// Values of the other items while commits are compared: the other culprits as in the bad run if
/// they are slow only together, else everything else as in the good run.
[[nodiscard]] std::vector<bool> surroundings_of_commits(BisectPlan const& plan,
                                                        BisectAnswer const& answer);

/// "0110" for {false, true, true, false}.
[[nodiscard]] std::string bits_of(std::vector<bool> const& flipped);

/// What a trial of the search takes from the bad run, by what is flipped, and the names of that.
[[nodiscard]] TrialChoice trial_choice(BisectPlan const& plan, SearchStep const& step,
                                       std::vector<bool> const& flipped);
[[nodiscard]] std::vector<std::string> changed_names(BisectPlan const& plan, SearchStep const& step,
                                                     std::vector<bool> const& flipped);

/// Record of the result of one search, for the history.
[[nodiscard]] db::InvestigationEnd investigation_end(BisectPlan const& plan, SearchStep const& step,
                                                     db::analysis::BisectResult const& result);

}  // namespace osora::cli
