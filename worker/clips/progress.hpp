// The line on a terminal that says how far a long command is: twice a second on stderr, and removed
// at the end.
#pragma once

#include <chrono>
#include <cstdint>

namespace osora::worker {

class ClipProgress {
public:
    /// `shown`: stderr is a terminal.
    ClipProgress(bool shown, std::int64_t rows) : shown_(shown), rows_(rows) {}
    ~ClipProgress();
    ClipProgress(ClipProgress const&) = delete;
    ClipProgress& operator=(ClipProgress const&) = delete;

    void step(std::int64_t done);

private:
    using Clock = std::chrono::steady_clock;
    bool shown_, printed_ = false;
    std::int64_t rows_;
    Clock::time_point begin_ = Clock::now(), last_ = begin_;
};

}  // namespace osora::worker
