// How often and how long clips that could not be read are tried again. Pure: the caller waits.
#pragma once

#include <algorithm>
#include <optional>

namespace osora::worker {

class RetryBudget {
public:
    /// For pauses, and the tries themselves.
    explicit RetryBudget(double seconds) : left_s_(seconds) {}

    /// The pause before try `tries` (from 0) of some clips: 0.1 s, then twice the last one, up to
    /// 10 s, which is shorter than a rank may be silent. All have one try; without a pause when the
    /// time is over. nullopt: none.
    [[nodiscard]] std::optional<double> pause_s(int tries) const {
        if (left_s_ <= 0) return tries == 0 ? std::optional(0.0) : std::nullopt;
        double const wanted_s = std::min(10.0, 0.1 * (1 << std::min(tries, 10)));
        return std::min(left_s_, wanted_s);
    }
    void spend(double seconds) { left_s_ -= seconds; }

private:
    double left_s_;
};

}  // namespace osora::worker
