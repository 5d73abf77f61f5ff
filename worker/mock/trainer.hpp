// A training run without training: the messages, phases, checkpoints and exits of a worker, at the
// pace and with the faults of a Script.
#pragma once

#include "plan/worker_job.hpp"
#include "protocol/messages/agent_link.hpp"
#include "worker/mock/peers.hpp"
#include "worker/mock/script.hpp"

namespace osora::mock {

/// The identity of this rank (from its environment).
struct Place {
    int rank = 0;
    int local_rank = 0;
    int world_size = 1;
    int attempt = 0;
};

class Trainer {
public:
    Trainer(plan::WorkerJob job, Place place, Script script, protocol::AgentLink& agent,
            Peers peers);

    /// Exit code of the worker. Errors: fatal ones (exit 10 or 16).
    [[nodiscard]] Result<int> run();

private:
    [[nodiscard]] Result<void> announce(int start_step);
    [[nodiscard]] Result<void> enter(protocol::Phase phase);
    /// Computes, then waits for the other ranks. Returns whether they all stop after it.
    [[nodiscard]] Result<bool> do_step(int step);
    /// Waits at the scripted step until it is released or asked to stop.
    [[nodiscard]] Result<void> hold(int step);
    [[nodiscard]] bool asked_to_stop() const;
    [[nodiscard]] Result<void> save(int next_step);
    [[nodiscard]] Result<int> finish(int next_step, bool stopped);
    /// The exit code if this rank fails cleanly at `step`.
    [[nodiscard]] Result<std::optional<int>> commit_faults(int step);
    [[nodiscard]] Result<void> hang();

    plan::WorkerJob job_;
    Place place_;
    protocol::Phase phase_ = protocol::Phase::starting;
    Script script_;
    protocol::AgentLink& agent_;
    Peers peers_;
};

}  // namespace osora::mock
