// A signal on which each thread writes down its stack: for workers, so that an agent can see what a
// hanging rank is doing. Only async-signal-safe calls; costs nothing without a signal.
#pragma once

#include <filesystem>

namespace osora {

/// A real-time signal: libraries use SIGUSR1 and SIGUSR2. Its default action kills a process, so it
/// is sent only to processes that catch it.
[[nodiscard]] int stack_signal();

/// The same for the collectives that a rank recorded (worker/parallel/flight/flight_signal.hpp).
[[nodiscard]] int flight_signal();

/// From now on a thread that gets the signal appends "thread TID", its frames, and "end" to `file`.
/// Call it once in a process, from main. Paths of more than 4095 bytes are ignored.
void write_stacks_to(std::filesystem::path const& file);

}  // namespace osora
