#include "tests/sim/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace osora::sim {

void World::at(Time when, std::function<void()> what) {
    queue_.push_back({std::max(when, now_), events_++, std::move(what)});
    std::ranges::push_heap(queue_, std::less<>());
}

bool World::step() {
    if (queue_.empty()) return false;
    std::ranges::pop_heap(queue_, std::less<>());
    Event const next = std::move(queue_.back());
    queue_.pop_back();
    now_ = next.when;
    next.what();
    return true;
}

void World::mix(std::uint64_t value) {
    hash_ = (hash_ ^ value) * 1099511628211ull;
}

void World::trace(std::string_view what, std::int64_t a, std::int64_t b, std::int64_t c) {
    for (char each : what) mix(static_cast<unsigned char>(each));
    for (std::int64_t each : {now_.count(), a, b, c}) mix(static_cast<std::uint64_t>(each));
    if (print_)
        fmt::print("{:11.6f} {} {} {} {}\n", static_cast<double>(now_.count()) / 1e9, what, a, b,
                   c);
}

void World::violated(std::string what) {
    violations_.push_back(
        fmt::format("at {:.6f} s: {}", static_cast<double>(now_.count()) / 1e9, what));
    if (print_) fmt::print("VIOLATED {}\n", violations_.back());
}

}  // namespace osora::sim
