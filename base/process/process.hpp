// Starts and ends other programs. Arguments and environment are data: exact bytes, no shell. Spawn
// from the main thread only: the death signal follows the thread that forked.
#pragma once

#include "base/files/descriptor.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"

#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace osora {

struct SpawnOptions {
    std::filesystem::path program;                 // with a slash in it; PATH is not searched
    std::vector<std::string> arguments = {};       // argv[1...]
    std::vector<std::string> environment = {};     // "NAME=value", complete
    std::filesystem::path working_directory = {};  // empty: the parent's
    /// {descriptor here, its number in the child}. Without an entry 0 is /dev/null, 1 and 2 are
    /// shared with the parent; every other descriptor is closed in the child.
    std::vector<std::pair<int, int>> descriptors = {};
    int death_signal = SIGKILL;  // sent to the child when the spawning thread ends; 0: none
    bool new_session = false;    // else a new process group of the same session
    std::vector<int> cpus = {};  // to run on, if the kernel allows it; empty: the parent's
};

/// A child of this process: leader of its own process group. Its destructor neither reaps nor kills
/// it.
struct Child {
    ProcessId id;
    Descriptor pidfd;  // readable when the child has ended
};

/// How a process ended.
struct ExitStatus {
    int exit_code = 0;  // meaningful when signal is 0
    int signal = 0;
    std::int64_t peak_rss_bytes = 0;  // of the child itself
};

/// Starts `options.program`; when its exec failed the error names the step and the path, and no
/// child is left.
[[nodiscard]] Result<Child> spawn(SpawnOptions const& options);

/// Waits without a limit until `child` has ended, and reaps it.
[[nodiscard]] ExitStatus reap(Child const& child);
/// Whether it has ended and waits to be reaped.
[[nodiscard]] bool has_ended(Child const& child);

/// Signals every process of the group that `child` leads. Safe until the child is reaped: its
/// number is not reused before.
void signal_group(Child const& child, int signal);

/// A handle of exactly this process, readable when it has ended, whoever its parent is; not open
/// when the process has already ended.
[[nodiscard]] Descriptor open_process(ProcessId const& process);

/// Signals exactly this process; false when it has ended, even if another process has its number.
bool signal_process(ProcessId const& process, int signal);

/// "exited with 3", "was killed by signal 9 (Killed)".
[[nodiscard]] std::string describe(ExitStatus const& status);

}  // namespace osora
