// Signals that ask for the recorder: the agent's request, an end by the agent, a crash. Handlers
// only wake the watch's thread through an eventfd; those of an end wait for it, half a second at
// most.
#pragma once

namespace osora::worker {

/// Signals from now on wake the reader of `asked_fd` (an eventfd) with a number: 1 for a request,
/// more for a process that ends. It answers by writing to `answered_fd`. Call it once the thread
/// that reads is there; -1 switches it off.
void flight_signals_wake(int asked_fd, int answered_fd);

/// Catches the request (base/process/stack_signal.hpp: flight_signal()) and SIGABRT.
void catch_flight_signals();

/// From a handler of a signal that ends this process: asks, and waits for the answer.
void write_flight_before_the_end();

}  // namespace osora::worker
