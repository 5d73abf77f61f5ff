// The loop of a rank. Rank 0 writes the checkpoints; the others wait for it in agree().
#include "worker/mock/trainer.hpp"

#include "base/environment.hpp"
#include "base/version.hpp"
#include "protocol/exit_codes.hpp"
#include "topology/assignment.hpp"
#include "worker/mock/checkpoint.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace osora::mock {
namespace {

using protocol::Phase;

using Clock = std::chrono::steady_clock;

constexpr std::chrono::hours kLong{24};
constexpr std::chrono::milliseconds kHoldSlice{50};
constexpr double kScriptedStep_s = 0.001;  // what a step lasts whose times are not measured

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool is_due(std::optional<Fault> const& fault, Place const& place, int step) {
    return fault && fault->is_at(place.rank, place.attempt, step);
}

}  // namespace

Trainer::Trainer(plan::WorkerJob job, Place place, Script script, protocol::AgentLink& agent,
                 Peers peers)
    : job_(std::move(job)),
      place_(place),
      script_(script),
      agent_(agent),
      peers_(std::move(peers)) {
    if (job_.config.run.job != "train") script_.own_s = 0;
}

Result<void> Trainer::enter(Phase phase) {
    phase_ = phase;
    return agent_.send(protocol::PhaseChanged{.phase = phase, .limit_s = 0});
}

Result<void> Trainer::announce(int start_step) {
    auto facts = topology::communication_variables(current_environment());
    facts.merge(std::map<std::string, std::string>{{"worker", "mock"}, {"version", kVersion}});
    return agent_.send(protocol::WorkerHello{.protocol = protocol::kWorkerProtocol,
                                             .rank = place_.rank,
                                             .pid = ::getpid(),
                                             .start_step = start_step,
                                             .facts = std::move(facts)});
}

Result<void> Trainer::hang() {
    while (true) OSORA_TRY_VOID(agent_.pass_time(kLong));
}

Result<std::optional<int>> Trainer::commit_faults(int step) {
    if (is_due(script_.kill, place_, step)) std::raise(SIGKILL);
    if (is_due(script_.hang, place_, step)) OSORA_TRY_VOID(hang());
    if (is_due(script_.garbage, place_, step)) {
        OSORA_TRY_VOID(agent_.send_bytes("\xff\xff\xff\xff this is no frame"));
    }
    if (is_due(script_.oom, place_, step)) {
        OSORA_TRY_VOID(agent_.send(
            protocol::WorkerFailed{.exit_code = protocol::kExitOutOfMemory,
                                   .message = fmt::format("step {}: out of GPU memory", step)}));
        return std::optional(protocol::kExitOutOfMemory);
    }
    if (is_due(script_.fail, place_, step)) {
        OSORA_TRY_VOID(agent_.send(
            protocol::WorkerFailed{.exit_code = script_.fail->value,
                                   .message = fmt::format("step {}: {}", step, script_.says)}));
        return std::optional(script_.fail->value);
    }
    return std::optional<int>();
}

bool Trainer::asked_to_stop() const {
    return agent_.stop_request().has_value() && !script_.ignore_stop;
}

/// The phase is repeated meanwhile: only a rank that sends nothing counts as hung.
Result<void> Trainer::hold(int step) {
    if (script_.hold != step) return {};
    auto const go = std::filesystem::path(job_.run_dir) / "go";
    std::error_code unreadable;
    while (!asked_to_stop() && !std::filesystem::exists(go, unreadable)) {
        OSORA_TRY_VOID(enter(phase_));
        OSORA_TRY_VOID(agent_.pass_time(kHoldSlice));
    }
    return {};
}

Result<bool> Trainer::do_step(int step) {
    if (script_.print) {
        std::printf("rank %d: step %d\n", place_.rank, step);
        std::fprintf(stderr, "rank %d: step %d on stderr\n", place_.rank, step);
        std::fflush(stdout);
    }
    Clock::time_point const begin = Clock::now();
    double const scripted_s = work_s(script_, place_.rank, place_.attempt, step);
    bool const scripted = script_.scripted_clock;
    double const passing_s = scripted ? std::min(scripted_s, kScriptedStep_s) : scripted_s;
    OSORA_TRY_VOID(agent_.pass_time(std::chrono::duration<double>(passing_s)));
    double const work = scripted ? scripted_s : seconds_since(begin);
    OSORA_TRY_VOID(agent_.send(protocol::Arrived{step}));
    OSORA_TRY(bool const stop, peers_.agree(asked_to_stop()));
    protocol::StepMetrics metrics;
    metrics.step = step;
    metrics.bucket = "64x64x8";
    metrics.step_time_s = scripted
                              ? slowest_work_s(script_, place_.world_size, place_.attempt, step)
                              : seconds_since(begin);
    metrics.forward_s = 0.3 * work;
    metrics.backward_s = 0.6 * work;
    metrics.exposed_comm_s = metrics.step_time_s - work;
    metrics.other_s = 0.1 * work;
    metrics.arrival_s = work;
    metrics.loss = 1.0 / (1.0 + 0.05 * step);
    metrics.grad_norm = metrics.loss;
    metrics.lr = job_.config.optim.lr;
    metrics.samples = 1;
    metrics.rss_bytes = 64 << 20;
    OSORA_TRY_VOID(agent_.send(metrics));
    return stop;
}

Result<void> Trainer::save(int next_step) {
    if (place_.rank != 0) return {};
    OSORA_TRY_VOID(enter(Phase::checkpoint));
    auto const begin = std::chrono::steady_clock::now();
    auto const saved = save_checkpoint(std::filesystem::path(job_.run_dir) / "checkpoints",
                                       next_step, job_.config.checkpoint.keep);
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
    if (saved.has_error()) {
        return agent_.send(protocol::WorkerNotice{.kind = "checkpoint_failed",
                                                  .severity = "error",
                                                  .step = next_step,
                                                  .detail = saved.error().message});
    }
    OSORA_TRY_VOID(agent_.send(protocol::CheckpointSaved{
        .step = next_step, .path = saved->string(), .seconds = took.count(), .bytes = 16}));
    return enter(Phase::step);
}

Result<int> Trainer::finish(int next_step, bool stopped) {
    OSORA_TRY_VOID(enter(Phase::finishing));
    OSORA_TRY_VOID(agent_.send(protocol::WorkerFinished{.steps = next_step, .stopped = stopped}));
    return 0;
}

Result<int> Trainer::run() {
    int const steps = job_.config.train.steps;
    int const every = job_.config.checkpoint.every;
    bool const resume = place_.attempt > 0 || job_.config.checkpoint.resume != "none";
    int const start =
        resume ? find_checkpoint(std::filesystem::path(job_.run_dir) / "checkpoints") : 0;
    OSORA_TRY_VOID(announce(start));
    OSORA_TRY_VOID(enter(Phase::loading));
    OSORA_TRY_VOID(agent_.pass_time(std::chrono::duration<double>(script_.load_s)));
    OSORA_TRY_VOID(enter(Phase::first_step));
    for (int step = start; step < steps; ++step) {
        OSORA_TRY_VOID(hold(step));
        OSORA_TRY(auto const failed, commit_faults(step));
        if (failed) return *failed;
        OSORA_TRY(bool const stop, do_step(step));
        if (step == start) OSORA_TRY_VOID(enter(Phase::step));
        bool const last = step + 1 == steps;
        if (stop && !last) {
            auto const& request = agent_.stop_request();
            if (request && request->save_checkpoint) OSORA_TRY_VOID(save(step + 1));
            return finish(step + 1, true);
        }
        if (last || (every > 0 && (step + 1) % every == 0)) OSORA_TRY_VOID(save(step + 1));
    }
    return finish(steps, false);
}

}  // namespace osora::mock
