// Finds the line of a failed program's output that says why it failed. Pure.
#pragma once

#include <string>
#include <string_view>

namespace osora::daemon {

/// Of the end of a log: the last line that names an error ("RuntimeError: ...", "... error: ...",
/// what follows NCCL's "Last error:"), else what a launcher, a thread or a finalizer says about a
/// failure, else the last line that is neither empty nor a report of a step. Frames, source lines,
/// warnings and hints do not count. At most 300 bytes of it.
[[nodiscard]] std::string last_line_of(std::string_view tail);

/// Whether `line` says that SIGKILL ended a process of the program: a loader's worker, or one that
/// torchrun, accelerate, DeepSpeed or a script started.
[[nodiscard]] bool tells_of_kill(std::string_view line);

/// Whether SIGKILL ended a rank, or a process of it by which the rank ended.
[[nodiscard]] bool ended_by_kill(int exit_code, int signal, std::string_view last_line);

/// The last lines of `tail` that fit into `bytes`, as valid text without control characters.
[[nodiscard]] std::string last_part(std::string_view tail, std::size_t bytes);

}  // namespace osora::daemon
