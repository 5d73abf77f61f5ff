// What a seed does to a run: its size, its length and the faults, all drawn from the seed.
#pragma once

#include "tests/sim/world.hpp"

#include <string>
#include <vector>

namespace osora::sim {

enum class FaultKind {
    kill_worker,        // SIGKILL
    crash_worker,       // SIGSEGV
    fail_worker,        // exits with `code`
    vanish_worker,      // exits with 0 before it has finished
    hang_worker,        // never sends anything again
    kill_agent,         // SIGKILL
    freeze_agent,       // SIGSTOP for `length`
    kill_controller,    // SIGKILL, and a torn journal; restarted after `length`
    lose_controller,    // the same, without a restart
    freeze_controller,  // does not run for `length`
    reset_connection,
    partition,        // nothing gets through for `length`
    slow_disk,        // for `length`
    full_disk,        // every later write fails
    jump_clock,       // wall clock
    no_port,          // the store's port cannot be bound, once
    late_agent,       // the first agent of the node takes `length` to start
    stop_gracefully,  // Ctrl-C
    stop_twice,       // again after `length`
    stop_now,         // osora cancel --now
    break_lifeline,   // the attached osora goes away
    ask_relaunch,     // osora relaunch, with an even code --now
    count
};

struct Fault {
    FaultKind kind = FaultKind::kill_worker;
    Time when{};
    Time length{};
    int node = 0;
    int code = 0;
    // The outcome.
    bool fired = false;
    std::string cause;  // the cause that the journal must name, if this ends the attempt
};

struct Scenario {
    int nodes = 16;
    int ranks_per_node = 1;
    int steps = 20;
    int restarts_max = 3;
    int checkpoint_every = 5;
    Time step_time = std::chrono::milliseconds(500);
    Time network_delay_max = std::chrono::milliseconds(20);
    Time linger{};                         // of agents without a controller
    Time lease = std::chrono::seconds(5);  // long: agents wait for the next controller
    bool exec = false;
    std::vector<Fault> faults;

    [[nodiscard]] bool long_lease() const { return lease > std::chrono::seconds(30); }
};

[[nodiscard]] Scenario make_scenario(World& world, int agents);
[[nodiscard]] std::string_view name_of(FaultKind kind);

}  // namespace osora::sim
