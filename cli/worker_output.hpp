// Commands that need tensors run osora-worker and read what it prints; osora itself has no
// LibTorch.
#pragma once

#include "base/process.hpp"
#include "base/result.hpp"
#include "cli/context.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora::cli {

struct WorkerOutput {
    std::string text;
    ExitStatus status;
};

/// Runs $OSORA_WORKER, else the osora-worker beside osora, to its end. Its stderr is ours; more
/// than 16 MiB of output is invalid_input.
[[nodiscard]] Result<WorkerOutput> run_worker(Context const& context,
                                              std::vector<std::string> arguments);

/// Runs the worker for a command and prints its JSON as it is, or what `summary` makes of it.
/// Returns the worker's exit code (CONTRACT section 4) as ours; it has said why on stderr, unless a
/// signal ended it, which is told here.
[[nodiscard]] int tell_worker_output(Context const& context, std::vector<std::string> arguments,
                                     bool as_json,
                                     Result<std::string> (*summary)(std::string_view json));

}  // namespace osora::cli
