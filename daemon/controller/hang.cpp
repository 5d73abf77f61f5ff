#include "daemon/controller/hang.hpp"

#include <algorithm>
#include <tuple>

namespace osora::daemon {
namespace {

using protocol::Phase;

double default_limit_s(Phase phase, HangLimits const& limits) {
    switch (phase) {
        case Phase::starting:
            return 120;
        case Phase::loading:  // gives signs while it reads a checkpoint
            return 900;
        case Phase::first_step:
            return 300;
        case Phase::step:
            return std::max(60.0, 5 * limits.median_step_s);
        case Phase::checkpoint:  // while nothing is written
        case Phase::evaluation:
            return 600;
        case Phase::finishing:
            return 120;
    }
    return 600;
}

}  // namespace

double hang_limit_s(Phase phase, double asked_s, HangLimits const& limits) {
    if (phase == Phase::step && limits.step_timeout_s > 0) return limits.step_timeout_s;
    if (asked_s > 0) return asked_s;
    return default_limit_s(phase, limits);
}

bool is_waiting(protocol::RankHeartbeat const& rank) {
    return rank.arrived > rank.step;
}

std::optional<ObservedRank> find_hang(std::vector<ObservedRank> const& ranks,
                                      HangLimits const& limits) {
    auto const limit_of = [&](ObservedRank const& each) {
        return hang_limit_s(each.rank.phase, each.rank.limit_s, limits);
    };
    // Ranks may wait for a busy rank for as long as that rank may be silent.
    bool const excused = std::ranges::any_of(ranks, [&](ObservedRank const& each) {
        return !is_waiting(each.rank) && each.rank.silent_s < limit_of(each);
    });
    std::vector<ObservedRank> silent;
    bool over = false;
    for (ObservedRank const& each : ranks) {
        double const limit = limit_of(each);
        bool const counts = !is_waiting(each.rank) || !excused;
        over = over || (counts && each.rank.silent_s >= limit);
        if (each.rank.silent_s >= limit / 2) silent.push_back(each);
    }
    if (!over) return std::nullopt;
    return *std::ranges::min_element(silent, {}, [](ObservedRank const& each) {
        return std::tuple(!each.stopped, each.rank.step, each.rank.arrived, -each.rank.silent_s,
                          each.rank.rank);
    });
}

}  // namespace osora::daemon
