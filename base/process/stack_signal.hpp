// A signal on which each thread writes down where it is: for workers, so that an agent can see what
// a rank that hangs is doing. Only async-signal-safe calls; a rank that gets none pays nothing.
#pragma once

#include <filesystem>

namespace osora {

/// A real-time signal: libraries use SIGUSR1 and SIGUSR2. Its default action ends a process, so it
/// is sent to those only that catch it.
[[nodiscard]] int stack_signal();

/// The same for what a rank has kept of its collectives (worker/parallel/flight/flight_signal.hpp).
[[nodiscard]] int flight_signal();

/// From now on a thread that gets the signal appends "thread TID", its frames, and "end" to `file`.
/// Once a process, from main. Paths of more than 4095 bytes are ignored.
void write_stacks_to(std::filesystem::path const& file);

}  // namespace osora
