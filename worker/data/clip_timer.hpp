// Since when a decoding thread has worked on a clip, for the thread that waits for its sample. A
// read that hangs in the kernel does not see FFmpeg's deadline, and a chain of slow clips looks
// like a hang from outside. The time is the caller's.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace osora::worker {

struct SlowClip {
    std::uint32_t clip = 0;  // as the schedule numbers it
    double seconds = 0;      // in work
};

class ClipTimer {
public:
    using Time = std::chrono::steady_clock::time_point;

    void begin(std::uint32_t clip, Time now) {
        std::lock_guard const lock(mutex_);
        work_ = Work{.clip = clip, .since = now};
    }
    void end() {
        std::lock_guard const lock(mutex_);
        work_.reset();
    }
    /// The clip in work if that is for `limit_s` or longer; once for each begin().
    [[nodiscard]] std::optional<SlowClip> slow(Time now, double limit_s) {
        std::lock_guard const lock(mutex_);
        if (!work_ || work_->named) return std::nullopt;
        double const seconds = std::chrono::duration<double>(now - work_->since).count();
        if (seconds < limit_s) return std::nullopt;
        work_->named = true;
        return SlowClip{.clip = work_->clip, .seconds = seconds};
    }

private:
    struct Work {
        std::uint32_t clip = 0;
        Time since{};
        bool named = false;
    };
    std::mutex mutex_;
    std::optional<Work> work_;
};

}  // namespace osora::worker
