// The outside world that a decision may depend on: clocks and random numbers. Passed to the code
// that needs them; never fatal. Tests use FakeEnv, whose clocks move only on request.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace osora {

/// Time that never jumps; only differences have a meaning. Virtual in simulations.
using MonotonicTime = std::chrono::nanoseconds;

[[nodiscard]] inline double in_seconds(MonotonicTime time) {
    return std::chrono::duration<double>(time).count();
}

class Env {
public:
    virtual ~Env() = default;
    [[nodiscard]] virtual MonotonicTime now() const = 0;
    /// Microseconds since 1970, UTC; may jump both ways: for people, never for a deadline.
    [[nodiscard]] virtual std::int64_t wall_us() const = 0;
    [[nodiscard]] virtual std::uint64_t random() = 0;
};

class RealEnv final : public Env {
public:
    [[nodiscard]] MonotonicTime now() const override;
    [[nodiscard]] std::int64_t wall_us() const override;
    /// From the kernel: fit for jitter and for secrets.
    [[nodiscard]] std::uint64_t random() override;
};

class FakeEnv final : public Env {
public:
    explicit FakeEnv(std::uint64_t seed = 1) : numbers_(seed) {}

    [[nodiscard]] MonotonicTime now() const override { return now_; }
    [[nodiscard]] std::int64_t wall_us() const override { return wall_us_; }
    [[nodiscard]] std::uint64_t random() override { return numbers_(); }

    /// Advances both clocks.
    void advance(MonotonicTime by) {
        now_ += by;
        wall_us_ += std::chrono::duration_cast<std::chrono::microseconds>(by).count();
    }
    /// Sets the wall clock; the monotonic clock is unaffected.
    void jump_wall_clock(std::int64_t by_us) { wall_us_ += by_us; }

private:
    MonotonicTime now_{0};
    std::int64_t wall_us_ = 1'767'225'600'000'000;  // 2026-01-01
    std::mt19937_64 numbers_;
};

/// Microseconds since 1970.
[[nodiscard]] inline std::int64_t wall_now_us() {
    auto const now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

[[nodiscard]] inline double seconds_since(std::chrono::steady_clock::time_point start) {
    return in_seconds(std::chrono::steady_clock::now() - start);
}

}  // namespace osora
