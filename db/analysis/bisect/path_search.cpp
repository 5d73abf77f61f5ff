#include "db/analysis/bisect/path_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace osora::db::analysis {
namespace {

constexpr double kWrongHalf = 0.01;  // probability of choosing the wrong half at which sampling
                                     // ends
constexpr double kSurePlace = 0.95;
constexpr int kTrialsMax = 6;
constexpr double kApartErrors = 3;

struct SegmentEnds {
    Level low, high;
};

/// Repeats trials of `hybrid` until `is_sure` or kTrialsMax; none when it does not start.
Result<std::optional<LevelPosterior>> read_hybrid(Search const& search, Hybrid const& hybrid,
                                                  SegmentEnds const& ends,
                                                  bool (*is_sure)(LevelPosterior const&)) {
    auto& trials = search.trials;
    if (trials.does_not_start(hybrid)) return std::nullopt;
    while (true) {
        if (int const count = trials.count(hybrid); count > 0) {
            auto const& samples = trials.samples(hybrid);
            double const sigma = trials.noise().sigma_s;
            auto const odds = level_posterior(samples, ends.low, ends.high, sigma);
            bool const is_alone = count == 1 && is_odd(samples[0], ends.low, ends.high, sigma);
            bool const is_enough = count >= search.samples_min && !is_alone && is_sure(odds);
            if (is_enough || count >= kTrialsMax) return odds;
            trials.decide("repeat");
        }
        OSORA_TRY(bool const starts, trials.run(hybrid, search.phase));
        if (!starts) return std::nullopt;
    }
}

bool is_sure_of_half(LevelPosterior const& odds) {
    return std::min(odds.low, odds.high) < kWrongHalf;
}

bool is_sure_of_place(LevelPosterior const& odds) {
    return std::max({odds.low, odds.between, odds.high}) > kSurePlace;
}

bool is_between(LevelPosterior const& odds) {
    return odds.between > std::max(odds.low, odds.high);
}

double sum(std::vector<double> const& weights, int first, int last) {
    return std::accumulate(weights.begin() + first, weights.begin() + last, 0.0);
}

/// Positions inside (first, last) to try, best first: the one that halves the weight and its
/// neighbours, then those at the ends; all positions on an ordered path.
std::vector<int> middles(Path const& path, int first, int last) {
    double const half = sum(path.weights, first, last) / 2;
    int middle = first + 1;
    double nearest = 2 * half;
    for (int i = first + 1; i < last; ++i) {
        double const off = std::abs(half - sum(path.weights, first, i));
        if (off < nearest * (1 - 1e-9)) {
            nearest = off;
            middle = i;
        }
    }
    std::vector<int> order;
    for (int i = first + 1; i < last; ++i) {
        bool const is_near = std::abs(i - middle) <= 1 || i == first + 1 || i == last - 1;
        if (is_near || path.is_ordered) order.push_back(i);
    }
    std::ranges::stable_sort(order, {}, [&](int i) { return std::abs(i - middle); });
    return order;
}

/// Merges steps that do not start without each other: the first and the last of (first, last)
/// become one step at the place of the first.
void fuse_ends(Path& path, int first, int last) {
    auto& into = path.steps[static_cast<std::size_t>(first)];
    auto const from = path.steps.begin() + last - 1;
    into.insert(into.end(), from->begin(), from->end());
    path.weights[static_cast<std::size_t>(first)] +=
        path.weights[static_cast<std::size_t>(last - 1)];
    path.steps.erase(from);
    path.weights.erase(path.weights.begin() + last - 1);
}

/// A part of the path that contains a rise.
struct Segment {
    int first = 0, last = 0;
    Level before, after;
};

/// Selects one half of `segment`; false: no hybrid inside it starts.
Result<bool> halve(Search const& search, Path const& path, Segment& segment) {
    auto& trials = search.trials;
    for (int const middle : middles(path, segment.first, segment.last)) {
        Hybrid const hybrid = path.hybrid(middle);
        SegmentEnds const ends{segment.before, segment.after};
        OSORA_TRY(auto const odds, read_hybrid(search, hybrid, ends, is_sure_of_half));
        if (!odds) continue;
        // If the level is in between, both halves rise; the search follows the larger one.
        bool const is_part = is_between(*odds) && trials.count(hybrid) > 1;
        bool const is_slow = odds->low < odds->high;
        trials.decide(is_slow ? "slow half" : "fast half");
        (is_slow ? segment.last : segment.first) = middle;
        if (is_part) (is_slow ? segment.after : segment.before) = trials.level(hybrid);
        return true;
    }
    return false;
}

/// Removes from a merged group the atoms that it does not need to start and to be slow.
Result<void> narrow(Search const& search, Hybrid const& before, Segment const& segment,
                    std::vector<int>& group) {
    while (group.size() > 1) {
        std::vector<int> const later(group.begin() + static_cast<std::ptrdiff_t>(group.size() / 2),
                                     group.end());
        Path const path{before, {later}, {1}};
        OSORA_TRY(auto const place,
                  place_of(search, path.hybrid(1), segment.before, segment.after));
        if (place != Place::high) break;
        group = later;
    }
    return boost::system::in_place_value;
}

}  // namespace

Hybrid Path::hybrid(int count) const {
    Hybrid made = base;
    for (int i = 0; i < count; ++i) {
        for (int const atom : steps[static_cast<std::size_t>(i)]) {
            made[static_cast<std::size_t>(atom)] = true;
        }
    }
    return made;
}

Result<Place> place_of(Search const& search, Hybrid const& hybrid, Level const& low,
                       Level const& high) {
    OSORA_TRY(auto const odds, read_hybrid(search, hybrid, {low, high}, is_sure_of_place));
    if (!odds) return Place::does_not_start;
    if (is_between(*odds)) {
        search.trials.decide("part of the gap");
        return Place::between;
    }
    search.trials.decide(odds->high > odds->low ? "as bad" : "as good");
    return odds->high > odds->low ? Place::high : Place::low;
}

Result<bool> is_apart(Search const& search, Hybrid const& faster, Hybrid const& slower,
                      int samples_min) {
    auto& trials = search.trials;
    while (trials.count(slower) < samples_min) {
        OSORA_TRY(bool const starts, trials.run(slower, search.phase));
        if (!starts) return false;
        trials.decide("repeat");
    }
    while (true) {
        auto const low = trials.level(faster), high = trials.level(slower);
        double const gap = high.value_s - low.value_s;
        double const error = std::hypot(low.error_s, high.error_s);
        double const needed = resolution_s(search.gap_s, trials.noise().sigma_s, kTrialsMax);
        auto const& fewer = trials.count(slower) < trials.count(faster) ? slower : faster;
        double const sigma = trials.noise().sigma_s;
        bool const is_sure = std::abs(gap - needed / 2) > kApartErrors * error &&
                             is_steady(trials.samples(faster), sigma) &&
                             is_steady(trials.samples(slower), sigma);
        if (is_sure || trials.count(fewer) >= kTrialsMax) return gap >= needed;
        OSORA_TRY(bool const starts, trials.run(fewer, search.phase));
        if (!starts) return gap >= needed;
        trials.decide("repeat");
    }
}

Result<std::optional<LevelJump>> find_jump(Search const& search, Path path, Level const& low,
                                           Level const& high) {
    if (path.steps.empty()) return std::nullopt;
    Segment segment{0, static_cast<int>(path.steps.size()), low, high};
    while (true) {
        double const gap = segment.after.value_s - segment.before.value_s;
        if (gap < resolution_s(search.gap_s, search.trials.noise().sigma_s, kTrialsMax))
            return std::nullopt;
        if (segment.last - segment.first < 2) break;
        OSORA_TRY(bool const has_moved, halve(search, path, segment));
        if (has_moved) continue;
        if (path.is_ordered) break;
        fuse_ends(path, segment.first, segment.last);
        segment.last -= 1;
    }
    LevelJump jump{{}, {}, segment.before, segment.after};
    for (int i = 0; i < segment.last; ++i) {
        auto& into = i < segment.first ? jump.earlier : jump.group;
        auto const& step = path.steps[static_cast<std::size_t>(i)];
        into.insert(into.end(), step.begin(), step.end());
    }
    OSORA_TRY(bool const is_real,
              is_apart(search, path.hybrid(segment.first), path.hybrid(segment.last)));
    if (!is_real) return std::nullopt;
    if (!path.is_ordered) {
        OSORA_TRY_VOID(narrow(search, path.hybrid(segment.first), segment, jump.group));
    }
    return jump;
}

}  // namespace osora::db::analysis
