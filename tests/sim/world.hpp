// Virtual time, one source of chance, one trace: everything in a simulation comes from the seed.
#pragma once

#include "daemon/clock.hpp"

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace osora::sim {

using Time = daemon::MonotonicTime;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""us;

class World {
public:
    World(std::uint64_t seed, bool print) : print_(print), random_(seed) {}

    [[nodiscard]] Time now() const { return now_; }
    void at(Time when, std::function<void()> what);
    void after(Time delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
    /// Runs the next event; false when there is none.
    bool step();

    [[nodiscard]] std::uint64_t pick(std::uint64_t count) {
        return random_() % count;
    }  // [0, count)
    [[nodiscard]] Time between(Time low, Time high) {
        return low + Time(pick(static_cast<std::uint64_t>((high - low).count()) + 1));
    }
    [[nodiscard]] bool chance(int percent) { return pick(100) < static_cast<unsigned>(percent); }

    /// One line of the trace; always in the hash, printed with --trace.
    void trace(std::string_view what, std::int64_t a = 0, std::int64_t b = 0, std::int64_t c = 0);
    [[nodiscard]] std::uint64_t trace_hash() const { return hash_; }

    void violated(std::string what);
    [[nodiscard]] std::vector<std::string> const& violations() const { return violations_; }

private:
    struct Event {
        Time when;
        std::uint64_t number;
        std::function<void()> what;
        bool operator<(Event const& other) const {
            return when != other.when ? when > other.when : number > other.number;
        }
    };
    void mix(std::uint64_t value);

    bool print_;
    std::mt19937_64 random_;
    Time now_{};
    std::uint64_t events_ = 0;
    std::uint64_t hash_ = 1469598103934665603ull;
    std::vector<Event> queue_;  // a heap, the next event first
    std::vector<std::string> violations_;
};

}  // namespace osora::sim
