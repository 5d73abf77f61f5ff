// Every name below the state folder, in one place; those of a run are in run_directory.hpp.
//
//   STATE/ (mode 0700)      $OSORA_STATE_DIR, else $XDG_STATE_HOME/osora, else ~/.local/state/osora
//     history.db            mode 0600
//     secret.key            protocol/secret_key.hpp, mode 0600
//     calibration.json      measured constants of this machine (osora plan calibrate)
// node_memory.json      NodeMemory: faults of nodes, across jobs
//     daemon.json           runs that the daemon serves; daemon.lock: held by it; daemon.log
//     queue queue-CLUSTER   squeue's last answer, shared by all osora processes
//     daemon.sock           protocol/messages/daemon_messages.hpp (or the path in daemon.path)
//     probes/HASH.json      newest topology::ProbeResult of a set of hosts
//     tuned/HASH.json       settings that osora tune found for runs of a shape
//     tunes/ID.json         trials of osora tune
//     bisects/ID.json ID.toml   trials of an osora bisect so far; the run file of its newest trial
//     worktrees/HASH/       builds of commits that a bisect compares
// runs/                 run directories; runs/.lock: a flock held while a number is assigned
#pragma once

#include <filesystem>
#include <string_view>

namespace osora::protocol {

struct StatePaths {
    using Path = std::filesystem::path;
    Path dir;

    [[nodiscard]] Path history() const { return dir / "history.db"; }
    [[nodiscard]] Path secret_key() const { return dir / "secret.key"; }
    [[nodiscard]] Path calibration() const { return dir / "calibration.json"; }
    [[nodiscard]] Path node_memory() const { return dir / "node_memory.json"; }
    [[nodiscard]] Path daemon_file() const { return dir / "daemon.json"; }
    [[nodiscard]] Path daemon_lock() const { return dir / "daemon.lock"; }
    [[nodiscard]] Path daemon_log() const { return dir / "daemon.log"; }
    [[nodiscard]] Path probes() const { return dir / "probes"; }
    [[nodiscard]] Path tuned() const { return dir / "tuned"; }
    [[nodiscard]] Path tunes() const { return dir / "tunes"; }
    [[nodiscard]] Path bisects() const { return dir / "bisects"; }
    [[nodiscard]] Path worktrees() const { return dir / "worktrees"; }
    [[nodiscard]] Path runs() const { return dir / "runs"; }
    [[nodiscard]] Path run(std::string_view folder) const { return runs() / folder; }
};

}  // namespace osora::protocol
