// How long a fuzz test goes on: as many rounds as it says, OSORA_FUZZ_ROUNDS, or until
// OSORA_FUZZ_SECONDS are over (scripts/fuzz). The rounds of a seed are the same each time.
#pragma once

#include "tests/kit/size.hpp"

#include <chrono>
#include <cstdlib>

namespace osora::fuzz {

/// for (Rounds rounds(3000); rounds.next();)
class Rounds {
public:
    explicit Rounds(int count)
        : count_(tests::test_size("OSORA_FUZZ_ROUNDS", count)),
          end_(Clock::now() + std::chrono::seconds(tests::test_size("OSORA_FUZZ_SECONDS", 1))),
          by_time_(std::getenv("OSORA_FUZZ_SECONDS") != nullptr) {}

    [[nodiscard]] bool next() {
        bool const more = by_time_ ? Clock::now() < end_ : done_ < count_;
        if (more) ++done_;
        return more;
    }
    [[nodiscard]] int done() const { return done_; }

private:
    using Clock = std::chrono::steady_clock;
    int count_, done_ = 0;
    Clock::time_point end_;
    bool by_time_;
};

}  // namespace osora::fuzz
