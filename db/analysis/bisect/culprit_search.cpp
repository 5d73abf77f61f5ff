#include "db/analysis/bisect/culprit_search.hpp"

#include <algorithm>

namespace osora::db::analysis {
namespace {

// Minimum number of trials for measuring what remains of the gap.
constexpr int kTopTrials = 3;
// Number of trials needed to believe what a single odd run would also explain.
constexpr int kDoubtTrials = 2;
constexpr int kAgainMax = 3;

bool is_in(Hybrid const& hybrid, int atom) {
    return hybrid[static_cast<std::size_t>(atom)];
}

/// Atoms that are in `top` but not in `here`, most suspicious first.
std::vector<int> between(Suspects const& suspects, Hybrid const& here, Hybrid const& top) {
    std::vector<int> atoms;
    for (int const atom : suspects.order) {
        if (is_in(top, atom) && !is_in(here, atom)) atoms.push_back(atom);
    }
    return atoms;
}

/// A search on the way from a hybrid to a slower one.
struct Climb {
    Hybrid here;
    Level level;                  // of here
    std::vector<int> candidates;  // atoms flipped one by one from here
    Level high;                   // with all of them flipped
    bool is_whole = true;         // candidates are all atoms of top, not only those before a rise
};

Path path_of(Suspects const& suspects, Climb const& now) {
    Path path{now.here, {}, {}};
    for (int const atom : now.candidates) {
        path.steps.push_back({atom});
        path.weights.push_back(suspects.weights[static_cast<std::size_t>(atom)]);
    }
    return path;
}

enum class Step { up, again, done };

/// The rise was one odd run, or partners must be searched among the atoms before it.
Result<Step> without_effect(Search const& search, LevelJump const& jump, Climb& now,
                            Groups& found) {
    Hybrid const faster = flip(now.here, {jump.earlier}, true);
    OSORA_TRY(bool const is_real,
              is_apart(search, faster, flip(faster, {jump.group}, true), kDoubtTrials));
    if (!is_real) return Step::again;
    found.push_back(jump.group);
    now.here = flip(now.here, {jump.group}, true);
    now.candidates = jump.earlier;
    now.high = jump.after;
    now.is_whole = false;
    return Step::up;
}

/// The level of the found atoms without those before them on the path.
Result<Step> step_up(Search search, LevelJump const& jump, Hybrid const& top, Climb& now,
                     Groups& found) {
    search.phase = TrialPhase::sufficiency;
    Hybrid const next = flip(now.here, {jump.group}, true);
    OSORA_TRY(auto const place, place_of(search, next, now.level, now.high));
    if (place == Place::low || place == Place::does_not_start) {
        return without_effect(search, jump, now, found);
    }
    found.push_back(jump.group);
    now.here = next;
    OSORA_TRY(auto const in_whole, place_of(search, next, now.level, search.trials.level(top)));
    if (in_whole == Place::high) return Step::done;
    OSORA_TRY(bool const is_part, is_apart(search, next, top, kTopTrials));
    now.level = search.trials.level(next);
    now.is_whole = true;
    return is_part ? Step::up : Step::done;
}

/// Finds the atoms that raise `base` to `top`, both with a known level, and adds them to `found`.
Result<void> climb(Search const& search, Suspects const& suspects, Hybrid const& top, Climb now,
                   Groups& found) {
    auto& trials = search.trials;
    int again = 0;
    while (true) {
        if (now.is_whole) {
            now.candidates = between(suspects, now.here, top);
            now.high = trials.level(top);
        }
        OSORA_TRY(auto const jump, find_jump(search, path_of(suspects, now), now.level, now.high));
        if (!jump) {
            if (now.is_whole) break;
            now.is_whole = true;  // no partner before it: search all atoms
            continue;
        }
        OSORA_TRY(auto const step, step_up(search, *jump, top, now, found));
        if (step == Step::done || (step == Step::again && ++again > kAgainMax)) break;
    }
    return boost::system::in_place_value;
}

/// Levels of good + found and bad - found that differ from the other baseline.
struct Ends {
    Level with, without;
};

Ends ends_of(Search const& search, Level const& low, Level const& high, Groups const& found) {
    auto& trials = search.trials;
    std::size_t const atoms = trials.records().front().trial.flipped.size();
    Ends ends{high, low};
    Hybrid const with = flip(Hybrid(atoms, false), found, true);
    Hybrid const without = flip(Hybrid(atoms, true), found, false);
    double const middle = (low.value_s + high.value_s) / 2;
    if (trials.count(with) > 0 && trials.level(with).value_s > middle)
        ends.with = trials.level(with);
    if (trials.count(without) > 0 && trials.level(without).value_s < middle) {
        ends.without = trials.level(without);
    }
    return ends;
}

}  // namespace

Hybrid flip(Hybrid hybrid, Groups const& groups, bool value) {
    for (auto const& group : groups) {
        for (int const atom : group) hybrid[static_cast<std::size_t>(atom)] = value;
    }
    return hybrid;
}

Result<void> find_sufficient(Search const& search, Suspects const& suspects, Groups& found) {
    auto& trials = search.trials;
    Hybrid const good(suspects.order.size(), false), bad(suspects.order.size(), true);
    Climb start;
    start.here = flip(good, found, true);
    if (!found.empty()) {
        Search again = search;
        again.phase = TrialPhase::sufficiency;
        OSORA_TRY(auto const place,
                  place_of(again, start.here, trials.level(good), trials.level(bad)));
        if (place == Place::high || place == Place::does_not_start) {
            return boost::system::in_place_value;
        }
    }
    start.level = trials.level(start.here);
    return climb(search, suspects, bad, start, found);
}

Result<void> find_redundant(Search const& search, Suspects const& suspects, Groups& found) {
    auto& trials = search.trials;
    Hybrid const good(suspects.order.size(), false), bad(suspects.order.size(), true);
    Search check = search;
    check.phase = TrialPhase::necessity;
    for (std::size_t before = 0; before < found.size();) {
        before = found.size();
        Hybrid const rest = flip(bad, found, false);
        Level const low = trials.level(good);
        OSORA_TRY(auto const place, place_of(check, rest, low, trials.level(bad)));
        if (place == Place::low || place == Place::does_not_start) break;
        if (place == Place::between) {
            // Two cases: another cause, and a machine that became slower since good's runs.
            OSORA_TRY(bool const starts, trials.run(good, check.phase));
            if (starts) trials.decide("good");
        }
        OSORA_TRY(bool const is_slow, is_apart(check, good, rest, kDoubtTrials));
        if (!is_slow) break;
        Climb start;
        start.here = good;
        start.level = trials.level(good);
        OSORA_TRY_VOID(climb(search, suspects, rest, start, found));
    }
    return boost::system::in_place_value;
}

Result<void> drop_innocent(Search search, std::size_t atoms, Groups& found) {
    auto& trials = search.trials;
    search.phase = TrialPhase::minimality;
    Hybrid const good(atoms, false), bad(atoms, true);
    for (std::size_t i = 0; i < found.size() && found.size() > 1;) {
        Groups others = found;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
        Level const low = trials.level(good), high = trials.level(bad);
        Ends const ends = ends_of(search, low, high, found);
        OSORA_TRY(auto const added, place_of(search, flip(good, others, true), low, ends.with));
        bool is_needed = added != Place::high;
        if (!is_needed) {
            OSORA_TRY(auto const left,
                      place_of(search, flip(bad, others, false), ends.without, high));
            is_needed = left != Place::low;
        }
        if (is_needed) {
            i += 1;
        } else {
            found = std::move(others);
        }
    }
    return boost::system::in_place_value;
}

}  // namespace osora::db::analysis
