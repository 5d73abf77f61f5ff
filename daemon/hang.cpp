#include "daemon/hang.hpp"

#include <algorithm>
#include <tuple>

namespace osora::daemon {
namespace {

using protocol::Phase;

double default_limit_s(Phase phase, HangLimits const& limits) {
    switch (phase) {
        case Phase::starting:
            return 120;
        case Phase::loading:
        case Phase::first_step:
            return 300;
        case Phase::step:
            return std::max(60.0, 5 * limits.median_step_s);
        case Phase::checkpoint:
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

std::optional<NodePulse> find_hang(std::vector<NodePulse> const& ranks, HangLimits const& limits) {
    std::vector<NodePulse> silent;
    bool over = false;
    for (NodePulse const& each : ranks) {
        double const limit = hang_limit_s(each.rank.phase, each.rank.limit_s, limits);
        over = over || each.rank.silent_s >= limit;
        if (each.rank.silent_s >= limit / 2) silent.push_back(each);
    }
    if (!over) return std::nullopt;
    return *std::ranges::min_element(silent, {}, [](NodePulse const& each) {
        return std::tuple(each.rank.step, -each.rank.silent_s, each.rank.rank);
    });
}

}  // namespace osora::daemon
