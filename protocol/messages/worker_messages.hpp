// Messages between an agent and a worker, on a socketpair (docs/rfc/002). Frames of JSON with a
// "type". A worker sends only facts about itself; the agent adds node and time and reduces over
// ranks.
#pragma once

#include "protocol/probe_part.hpp"
#include "protocol/steps/collectives.hpp"
#include "protocol/steps/evaluation.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace osora::protocol {

constexpr int kWorkerProtocol = 1;

/// What a worker is doing; each has its own limit for "no progress" (docs/rfc/001).
enum class Phase { starting, loading, first_step, step, checkpoint, evaluation, finishing };
BOOST_DESCRIBE_ENUM(Phase, starting, loading, first_step, step, checkpoint, evaluation, finishing)

// Worker to agent.
struct WorkerHello {
    static constexpr std::string_view kType = "hello";
    int protocol = kWorkerProtocol;
    int rank = 0;
    int pid = 0;
    int start_step = 0;                        // first step this attempt will do
    std::map<std::string, std::string> facts;  // versions, threads, device, NCCL_* as seen
};
struct PhaseChanged {
    static constexpr std::string_view kType = "phase";
    Phase phase = Phase::starting;
    double limit_s = 0;  // silence longer than this is a hang; 0 = the controller's default
};
/// One training step of one rank. Seconds; the parts add up to step_time_s within rounding.
struct StepMetrics {
    static constexpr std::string_view kType = "step";
    int step = 0;        // 0-based
    std::string bucket;  // "64x64x8" height x width x frames
    double step_time_s = 0;
    double data_wait_s = 0, forward_s = 0, backward_s = 0, exposed_comm_s = 0, optimizer_s = 0;
    double other_s = 0;
    /// From the start of the step until the rank waits for the others: its own work. The wall times
    /// of phases with a collective in them are alike on all ranks; this time identifies the slow
    /// rank.
    double arrival_s = 0;
    double loss = 0;       // mean over this rank's samples of the step
    double grad_norm = 0;  // of the reduced gradient, before clipping; equal on all ranks
    double lr = 0;
    int samples = 0;  // of this rank
    std::int64_t rss_bytes = 0;
    std::int64_t peak_allocated_bytes = 0;  // of tensors on its device, in this step
    std::int64_t reserved_bytes = 0;        // by the GPU's caching allocator; 0 on the CPU
    std::int64_t alloc_retries = 0;         // in this step: the GPU had too little, cache given up
    std::int64_t micro_batch_size = 0;      // samples of its passes; 0: not known
    std::int64_t recomputed_blocks = 0;     // whose activations backward computed again
    std::vector<CollectiveCost> collectives;  // of this step, by class; empty for a single rank
};
/// The rank has done its own work of a step and is about to wait for the others.
struct Arrived {
    static constexpr std::string_view kType = "arrived";
    int step = 0;
};
struct CheckpointSaved {
    static constexpr std::string_view kType = "checkpoint";
    int step = 0;  // training resumes with this step
    std::string path;
    double seconds = 0;
    std::int64_t bytes = 0;
};
/// An event worth recording: a clip skipped, a NaN step, memory that grows.
struct WorkerNotice {
    static constexpr std::string_view kType = "notice";
    std::string kind;  // "clip_skipped", "nan", "memory_growth", "checkpoint_failed", ...
    std::string severity = "warning";  // info | warning | error
    int step = 0;
    std::string detail;
};
/// Sent just before a failing worker exits with `exit_code`.
struct WorkerFailed {
    static constexpr std::string_view kType = "failed";
    int exit_code = 0;  // docs/contract.md section 4
    std::string message;
};
struct WorkerFinished {
    static constexpr std::string_view kType = "finished";
    int steps = 0;         // done in all attempts: config.train.steps, or where it stopped
    bool stopped = false;  // stopped on request before the end
};
using FromWorker =
    std::variant<WorkerHello, PhaseChanged, Arrived, StepMetrics, CheckpointSaved, Evaluated,
                 WorkerNotice, WorkerFailed, WorkerFinished, ProbeMeasured>;

// Agent to worker.
/// End after the step in progress; every rank of an attempt gets the same `reason`.
struct StopWorker {
    static constexpr std::string_view kType = "stop";
    bool save_checkpoint = true;
    std::string reason;
};
using ToWorker = std::variant<StopWorker>;

BOOST_DESCRIBE_STRUCT(WorkerHello, (), (protocol, rank, pid, start_step, facts))
BOOST_DESCRIBE_STRUCT(PhaseChanged, (), (phase, limit_s))
BOOST_DESCRIBE_STRUCT(Arrived, (), (step))
BOOST_DESCRIBE_STRUCT(StepMetrics, (),
                      (step, bucket, step_time_s, data_wait_s, forward_s, backward_s,
                       exposed_comm_s, optimizer_s, other_s, arrival_s, loss, grad_norm, lr,
                       samples, rss_bytes, peak_allocated_bytes, reserved_bytes, alloc_retries,
                       micro_batch_size, recomputed_blocks, collectives))
BOOST_DESCRIBE_STRUCT(CheckpointSaved, (), (step, path, seconds, bytes))
BOOST_DESCRIBE_STRUCT(WorkerNotice, (), (kind, severity, step, detail))
BOOST_DESCRIBE_STRUCT(WorkerFailed, (), (exit_code, message))
BOOST_DESCRIBE_STRUCT(WorkerFinished, (), (steps, stopped))
BOOST_DESCRIBE_STRUCT(StopWorker, (), (save_checkpoint, reason))

}  // namespace osora::protocol
