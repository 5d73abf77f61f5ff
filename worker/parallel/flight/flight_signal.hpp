// Signals that request the recorder: the agent's request, termination by the agent, a crash.
// Handlers only wake the watch's thread through an eventfd; those of a termination wait for it, at
// most half a second.
#pragma once

namespace osora::worker {

/// From now on signals wake the reader of `asked_fd` (an eventfd) with a number: 1 for a request,
/// more for a process that ends. It answers by writing to `answered_fd`. Call it when the reading
/// thread runs; -1 disables it.
void flight_signals_wake(int asked_fd, int answered_fd);

/// Catches the request (base/process/stack_signal.hpp: flight_signal()) and SIGABRT.
void catch_flight_signals();

/// For a handler of a signal that ends this process: requests a dump, and waits for the answer.
void write_flight_before_the_end();

}  // namespace osora::worker
