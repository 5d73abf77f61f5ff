// Names in a run directory, agreed between CLI, controller, workers and tests; those above it are
// in state_paths.hpp.
//
//   RUN_DIR = STATE/runs/NAME-NNNN/ (mode 0700); NNNN counts over all runs of the state folder.
// STATE/runs/NAME.UUID8/ is an imported run: the part of another run that osora history export
// saved.
//     run.toml                as the user wrote it
//     submission.json         RunSubmitted, written by the CLI before the controller starts
//     plan.json job.json      plan::PlanDecision, plan::WorkerJob
//     journal                 protocol/journal/journal.hpp; its appender holds controller.lock
//     controller.json         protocol/controller_file.hpp, mode 0600: it holds the run's token
//     controller.pem          key and certificate of the controller, mode 0600 (TLS only)
//     control.sock            protocol/messages/control_messages.hpp (or the path in control.path,
//                             when RUN_DIR is too long for a socket)
//     controller.log agent-NODE.log
// controller.stderr       stderr of the controller
//     job.sh environment      Slurm: the batch script; the submitter's variables (Slurm, daemon),
//                             removed when the run has ended
//     slurm.json job-ID.log   slurm::JobRecord, the newest job of the run; what it printed
//     stop.json               ControlStop for a controller on another machine (docs/rfc/001)
//     relaunch.json           ControlRelaunch, likewise
//     logs/ATTEMPT/RANK.log   stdout and stderr of a rank
//     stacks/ATTEMPT/         what the processes of a run that hangs were doing
//     flight/rank-R.json      the last collectives of a rank, when one failed
//     passes/stage-N.json     settings that [tune] progressive found, for the next attempt
//     memory/                 reports of passes that did not fit into memory
//     probe-request.json      job = "probe": topology::ProbeRequest, 0600: it holds a token
//     probe/                  the probe before the start: a run directory inside this one
//     probe.json              topology::ProbeResult, from rank 0 of a probe
//     checkpoints/step-NNNNNNNN/   model.safetensors ema.safetensors state.json optimizer...
//     score/ATTEMPT-RANK.rows     job = "score": rows of that rank
//     samples/                clips and contact sheets of osora sample
#pragma once

#include "protocol/state_paths.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace osora::protocol {

/// Whether a folder of this name in STATE/runs is a run: NAME-NNNN, where NAME is valid for
/// run.name.
[[nodiscard]] bool is_run_folder(std::string_view name);

/// The folder name of an imported run: the run's name and the first eight digits of its uuid. Runs
/// of this state folder end in -NNNN instead, so that the name alone tells the two apart.
[[nodiscard]] std::string imported_folder_name(std::string_view run, std::string_view uuid);

/// "stage1-0042.abe00411" -> "stage1-0042"; empty when the folder is no imported run.
[[nodiscard]] std::string_view run_of_imported_folder(std::string_view folder_name);

struct RunPaths {
    std::filesystem::path dir;

    /// The state folder that contains the run.
    [[nodiscard]] StatePaths state() const { return {dir.parent_path().parent_path()}; }
    [[nodiscard]] std::filesystem::path run_file() const { return dir / "run.toml"; }
    [[nodiscard]] std::filesystem::path submission() const { return dir / "submission.json"; }
    [[nodiscard]] std::filesystem::path plan() const { return dir / "plan.json"; }
    [[nodiscard]] std::filesystem::path job() const { return dir / "job.json"; }
    [[nodiscard]] std::filesystem::path journal() const { return dir / "journal"; }
    [[nodiscard]] std::filesystem::path lock() const { return dir / "controller.lock"; }
    [[nodiscard]] std::filesystem::path control_socket() const { return dir / "control.sock"; }
    [[nodiscard]] std::filesystem::path control_path() const { return dir / "control.path"; }
    [[nodiscard]] std::filesystem::path environment() const { return dir / "environment"; }
    [[nodiscard]] std::filesystem::path job_script() const { return dir / "job.sh"; }
    [[nodiscard]] std::filesystem::path slurm_job() const { return dir / "slurm.json"; }
    [[nodiscard]] std::filesystem::path stop_request() const { return dir / "stop.json"; }
    [[nodiscard]] std::filesystem::path relaunch_request() const { return dir / "relaunch.json"; }
    [[nodiscard]] std::filesystem::path controller_log() const { return dir / "controller.log"; }
    [[nodiscard]] std::filesystem::path controller_file() const { return dir / "controller.json"; }
    [[nodiscard]] std::filesystem::path controller_key() const { return dir / "controller.pem"; }
    [[nodiscard]] std::filesystem::path checkpoints() const { return dir / "checkpoints"; }
    [[nodiscard]] std::filesystem::path probe_request() const { return dir / "probe-request.json"; }
    [[nodiscard]] std::filesystem::path samples() const { return dir / "samples"; }
    [[nodiscard]] RunPaths probe_run() const { return {dir / "probe"}; }
    [[nodiscard]] std::filesystem::path probe() const { return dir / "probe.json"; }
    [[nodiscard]] std::filesystem::path rank_log(int attempt, int rank) const {
        return dir / "logs" / std::to_string(attempt) / (std::to_string(rank) + ".log");
    }
};

}  // namespace osora::protocol
